/** What `restore` and `store …` do when the state is in PostgreSQL. */
import process from 'node:process'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import type { MigrationReport } from '../store/migrate.ts'
import { migrations } from '../store/migrations.ts'
import { readSnapshot } from '../store/snapshot.ts'
import { State } from '../store/state.ts'
import { verifyStore, type Verification } from '../store/verify.ts'
import type { Options } from './options.ts'

/** The address of the database that the settings name; undefined while the state is embedded. */
export async function databaseOf({ site }: Options): Promise<string | undefined> {
  // Reading a site takes much that most commands never need.
  const { databaseUrl, readStoreSettings } = await import('../build/open-state.ts')
  const settings = await readStoreSettings(site)
  return settings.kind === 'postgres' ? await databaseUrl(settings) : undefined
}

/** Reads the whole state, wherever it is. */
export async function verifyState(options: Options): Promise<Verification> {
  const url = await databaseOf(options)
  if (url === undefined) return await verifyStore(options.state)
  const { verifyPostgres } = await import('../store/postgres-verify.ts')
  return await verifyPostgres(url, systemClock)
}

/** Refuses a database that holds a state or is in use. */
export async function requireEmptyDatabase(url: string): Promise<void> {
  const { requireEmptyPostgres } = await import('../store/postgres-copy.ts')
  await requireEmptyPostgres(url)
}

/** Makes a state in an empty database of a backup that was verified. */
export async function restoreIntoDatabase(file: string, url: string): Promise<void> {
  const state = new State(0)
  const header = await readSnapshot(
    file,
    (collection, document) => void state.table(collection).set(document.id, document),
    (line, message) => {
      throw new AppError('invalid', `the backup is damaged: line ${line}: ${message}`)
    },
  )
  state.schema = header!.schema
  const { writePostgres } = await import('../store/postgres-copy.ts')
  await writePostgres(state, url)
}

/** Brings the state in a database to the newest schema version, or only says what would be done. */
export async function migrateDatabase(url: string, state: string, dryRun: boolean): Promise<MigrationReport> {
  const { planPostgres } = await import('../store/postgres-verify.ts')
  const report = await planPostgres(url, migrations)
  if (!dryRun && report.steps.length > 0) {
    const { openPostgresStore } = await import('../store/postgres.ts')
    const log = createLog('error', process.stderr)
    await (await openPostgresStore({ url, clock: systemClock, log, migrations, backupFolder: state })).close()
  }
  return report
}
