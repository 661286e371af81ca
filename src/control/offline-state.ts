/** What is done to a state that no daemon has: it is verified, migrated, carried to another kind of store. */
import { chownSync, existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { carryLog, fetchLog } from '../audit/ledger-log.ts'
import { databaseUrl, readSettingsAlone } from '../build/open-state.ts'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { openPrivateFolder } from '../core/files.ts'
import { createLog } from '../core/log.ts'
import { type CopyReport, readEmbedded, writeEmbedded } from '../store/copy.ts'
import { openEmbeddedStore } from '../store/embedded.ts'
import type { Ledger } from '../store/ledger.ts'
import { lockState } from '../store/lock.ts'
import { planMigrations, requireKnownSchema, schemaAfter, type MigrationReport } from '../store/migrate.ts'
import { migrations } from '../store/migrations.ts'
import type { State } from '../store/state.ts'
import { verifyStore, type Verification } from '../store/verify.ts'

/** The address of the database that the settings name; undefined while the state is embedded. */
export async function databaseOf(site: string): Promise<string | undefined> {
  const { store: settings } = await readSettingsAlone(site)
  return settings.kind === 'postgres' ? await databaseUrl(settings) : undefined
}

/** Works with the ledger of a database, which is let go afterwards; with nothing where there is none. */
export async function withLedger<R>(
  url: string | undefined,
  work: (ledger: Ledger | undefined) => Promise<R>,
): Promise<R> {
  if (url === undefined) return await work(undefined)
  const { withLedgerAt } = await import('../store/postgres-ledger.ts')
  return await withLedgerAt(url, work)
}

/** Reads the whole state, wherever it is, and names every damaged line. */
export async function verifyWhole(site: string, state: string): Promise<Verification> {
  const url = await databaseOf(site)
  if (url === undefined) return await verifyStore(state)
  const { verifyPostgres } = await import('../store/postgres-verify.ts')
  return await verifyPostgres(url, systemClock)
}

/** Brings the state to the shapes of this release, or only says what would be done. */
export async function migrateState(
  site: string,
  state: string,
  { dryRun, tell }: { readonly dryRun: boolean; readonly tell: (text: string) => void },
): Promise<MigrationReport> {
  const url = await databaseOf(site)
  return await (url === undefined ? migrateFolder(state, dryRun, tell) : migrateDatabase(url, state, dryRun))
}

async function migrateFolder(
  state: string,
  dryRun: boolean,
  tell: (text: string) => void,
): Promise<MigrationReport> {
  if (!existsSync(state)) throw new AppError('not_found', `there is no state in ${state}`)
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

/** Brings the state in a database to the newest schema version, or only says what would be done. */
async function migrateDatabase(url: string, state: string, dryRun: boolean): Promise<MigrationReport> {
  const { planPostgres } = await import('../store/postgres-verify.ts')
  const report = await planPostgres(url, migrations)
  if (!dryRun && report.steps.length > 0) {
    const { openPostgresStore } = await import('../store/postgres.ts')
    const log = createLog('error', process.stderr)
    await (await openPostgresStore({ url, clock: systemClock, log, migrations, backupFolder: state })).close()
  }
  return report
}

/** Carries the whole state to the other kind of store, which must hold none yet. */
export async function copyState(site: string, folder: string, to: CopyReport['to']): Promise<CopyReport> {
  const { readPostgres, writePostgres } = await import('../store/postgres-copy.ts')
  const url = await databaseUrl((await readSettingsAlone(site)).store)
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
      to === 'postgres' ? await writePostgres(state, url) : await writeEmbedded(state, folder, systemClock)
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

/** What root writes for the service's user, who must be able to open it. */
export function giveTo(path: string, owner: { readonly uid: number; readonly gid: number }): void {
  if (process.getuid?.() !== 0) return
  chownSync(path, owner.uid, owner.gid)
  if (!lstatSync(path).isDirectory()) return
  for (const name of readdirSync(path)) giveTo(join(path, name), owner)
}
