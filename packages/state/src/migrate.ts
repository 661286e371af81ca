/** Migrations: they bring stored documents up to date when their shapes change between versions of the program. */
import { AppError } from '#leaf/errors.ts'
import { atOnce } from '#leaf/slices.ts'
import { Overlay } from './embedded/overlay.ts'
import { select } from './embedded/select.ts'
import { loadState } from './embedded/recovery.ts'
import type { State } from './embedded/state.ts'
import type { Stored } from './store.ts'

/** One migration step. Steps are numbered from 1 without gaps and never change once released. */
export interface Migration {
  /** The schema version that the state has afterwards. */
  readonly to: number
  /** A description for people to read. */
  readonly title: string
  readonly run: (documents: MigratedDocuments) => void
}

/** The operations a migration may use. Nothing of it is kept when it throws. */
export interface MigratedDocuments {
  all(collection: string): readonly Stored[]
  put(collection: string, document: Stored): void
  remove(collection: string, id: string): void
}

/** The report of what migrations did, or would do. */
export interface MigrationReport {
  readonly from: number
  readonly to: number
  readonly steps: readonly {
    readonly to: number
    readonly title: string
    readonly written: number
    readonly removed: number
  }[]
}

/** Returns the schema version that a list of migrations leads to. */
export function schemaAfter(migrations: readonly Migration[]): number {
  for (const [index, { to, title }] of migrations.entries()) {
    if (to !== index + 1) throw new Error(`migration "${title}" should be number ${index + 1}, not ${to}`)
  }
  return migrations.length
}

/** Refuses documents whose shapes only a newer version of the program knows. */
export function requireKnownSchema(schema: number, known: number): void {
  if (schema > known) {
    throw new AppError(
      'invalid',
      `the state has schema version ${schema}, but this version of assistant-core knows versions up to ${known}; use a newer version`,
    )
  }
}

/** Runs the steps that the state in memory still lacks. AppError `invalid` when a newer version wrote it. */
export function migrate(state: State, migrations: readonly Migration[]): MigrationReport {
  const to = schemaAfter(migrations)
  const from = state.schema
  requireKnownSchema(from, to)
  const steps: MigrationReport['steps'][number][] = []
  for (const { to, title, run } of migrations.slice(from)) {
    // Expired documents are migrated like the others: a migration does not judge the time.
    const overlay = new Overlay(state, () => -Infinity)
    run({
      all: (collection) => atOnce(select(overlay.view(collection), {})),
      put: (collection, document) => void overlay.put({ name: collection }, document),
      remove: (collection, id) => overlay.remove(collection, id),
    })
    const changes = overlay.changes()
    state.apply(changes)
    state.schema = to
    const written = changes.filter(({ document }) => document).length
    steps.push({ to, title, written, removed: changes.length - written })
  }
  return { from, to, steps }
}

/**
 * Reports what migrations would do to the state in a folder, which stays as it is. The caller holds its
 * lock. AppError `invalid` when the state is damaged or too new.
 */
export async function planMigrations(
  folder: string,
  migrations: readonly Migration[],
): Promise<MigrationReport> {
  return migrate((await loadState(folder, schemaAfter(migrations))).state, migrations)
}
