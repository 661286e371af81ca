/** Operations on a state that no daemon has: verifying, migrating, and copying it to another kind of store. */
import { chownSync, existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { carryLog, fetchLog } from '#audit/operations.ts'
import { databaseUrl, readSettingsAlone } from './open-state.ts'
import { systemClock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { openPrivateFolder } from '#leaf/files.ts'
import { createLog } from '#leaf/log.ts'
import { type Folders, secretsIn } from '#leaf/secret-files.ts'
import {
  type CopyReport,
  readEmbedded,
  writeEmbedded,
  openEmbeddedStore,
  lockState,
  planMigrations,
  requireKnownSchema,
  schemaAfter,
  type MigrationReport,
  type Moved,
  migrations,
  type State,
  verifyStore,
  type Verification,
} from '#state/operations.ts'
import type { SharedLedger } from '#state/store.ts'

/** Returns the address of the database that the settings name; undefined while the state is embedded. */
export async function databaseOf(folders: Folders): Promise<string | undefined> {
  const settings = await readSettingsAlone(folders.site)
  if (settings.store.kind !== 'postgres') return undefined
  return await databaseUrl(settings.store, secretsIn(settings, folders))
}

/** Returns the address of the database, as `databaseOf`. AppError `not_found` where an embedded state was never made. */
export async function requireState(folders: Folders): Promise<string | undefined> {
  const url = await databaseOf(folders)
  if (url === undefined && !existsSync(folders.state))
    throw new AppError('not_found', `there is no state in ${folders.state}; --state names its folder`)
  return url
}

/** Runs work with the ledger of a database and closes it afterwards; without a database, passes undefined. */
export async function withLedger<R>(
  url: string | undefined,
  work: (ledger: SharedLedger | undefined) => Promise<R>,
): Promise<R> {
  if (url === undefined) return await work(undefined)
  const { withLedgerAt } = await import('#state/postgres.ts')
  return await withLedgerAt(url, work)
}

/** Reads the whole state, wherever it is, and names every damaged line. */
export async function verifyWhole(folders: Folders): Promise<Verification> {
  const url = await requireState(folders)
  if (url === undefined) return await verifyStore(folders.state)
  const { verifyPostgres } = await import('#state/postgres.ts')
  return await verifyPostgres(url, systemClock)
}

/** Migrates the state to the shapes of this release, or only says what would be done. */
export async function migrateState(
  folders: Folders,
  { dryRun, tell }: { readonly dryRun: boolean; readonly tell: (text: string) => void },
): Promise<MigrationReport> {
  const { state } = folders
  const url = await requireState(folders)
  return await (url === undefined ? migrateFolder(state, dryRun, tell) : migrateDatabase(url, state, dryRun))
}

async function migrateFolder(
  state: string,
  dryRun: boolean,
  tell: (text: string) => void,
): Promise<MigrationReport> {
  const log = createLog('error', process.stderr)
  const lock = await lockState(state, systemClock)
  try {
    const report = await planMigrations(state, migrations)
    if (!dryRun && report.steps.length > 0) {
      tell('the state as it was is kept beside the new one')
      await (await openEmbeddedStore({ folder: state, clock: systemClock, log, lock, migrations })).close()
    }
    return report
  } finally {
    lock.release()
  }
}

/** Migrates the state in a database to the newest schema version, or only says what would be done. */
async function migrateDatabase(url: string, state: string, dryRun: boolean): Promise<MigrationReport> {
  const { planPostgres } = await import('#state/postgres.ts')
  const report = await planPostgres(url, migrations)
  if (!dryRun && report.steps.length > 0) {
    const { openPostgresStore } = await import('#state/postgres.ts')
    const log = createLog('error', process.stderr)
    await (await openPostgresStore({ url, clock: systemClock, log, migrations, folder: state })).close()
  }
  return report
}

/** Copies the whole state to the other kind of store, which must be empty. */
export async function copyState(
  folders: Folders,
  to: CopyReport['to'],
  moved: Moved = () => undefined,
): Promise<CopyReport> {
  const { readPostgres, writePostgres } = await import('#state/postgres.ts')
  const folder = folders.state
  const settings = await readSettingsAlone(folders.site)
  const url = await databaseUrl(settings.store, secretsIn(settings, folders))
  const from = to === 'postgres' ? 'embedded' : 'postgres'
  if (from === 'embedded' && !existsSync(folder)) {
    throw new AppError('not_found', `there is no embedded state in ${folder}`)
  }
  await openPrivateFolder(folder, createLog('error', process.stderr))
  // The daemon of this folder holds the same lock.
  const lock = await lockState(folder, systemClock)
  try {
    let state: State
    if (from === 'embedded') {
      state = await readEmbedded(folder)
      requireKnownSchema(state.schema, schemaAfter(migrations))
    } else state = await readPostgres(url, schemaAfter(migrations))
    const collections =
      to === 'postgres'
        ? await writePostgres(state, url, moved)
        : await writeEmbedded(state, folder, systemClock, moved)
    const log = createLog('error', process.stderr)
    const audit = join(folder, 'audit')
    await withLedger(url, async (ledger) => {
      if (!ledger || (to === 'postgres' && !existsSync(audit))) return
      await openPrivateFolder(audit, log)
      await (to === 'postgres' ? carryLog : fetchLog)(audit, ledger, log)
    })
    giveTo(folder, statSync(folder))
    const documents = collections.reduce((sum, one) => sum + one.documents, 0)
    return { from, to, schema: state.schema, documents, collections }
  } finally {
    lock.release()
  }
}

/** Gives files that root wrote to the service's user, who must be able to open them. */
export function giveTo(path: string, owner: { readonly uid: number; readonly gid: number }): void {
  if (process.getuid?.() !== 0) return
  chownSync(path, owner.uid, owner.gid)
  if (!lstatSync(path).isDirectory()) return
  for (const name of readdirSync(path)) giveTo(join(path, name), owner)
}
