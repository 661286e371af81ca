import type { Migration } from './migrate.ts'

/**
 * The migrations from the first shape of the stored documents to today's, oldest first. A change of a stored
 * shape adds a step here in the same commit; a step that has been released stays as it is.
 */
export const migrations: readonly Migration[] = []
