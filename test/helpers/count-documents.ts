import { countStates } from '../../src/documents/asking/aggregating.ts'

/** Counts documents, whatever their state. */
export async function countDocuments(...asked: Parameters<typeof countStates>): Promise<number> {
  return (await countStates(...asked)).count
}
