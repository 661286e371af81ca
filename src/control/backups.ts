/** Backups as files: written of a state, and made into one again. */
import { cpSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { keyName } from '../audit/checkpoint.ts'
import { copyAudit, type AuditCopy, copyLedger, verifyExported } from '../audit/copy.ts'
import { exportedLogs, importLog } from '../audit/import-log.ts'
import { carryLog } from '../audit/ledger-log.ts'
import { verifyAudit } from '../audit/verify.ts'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { openPrivateFolder } from '../core/files.ts'
import { createLog, type Log } from '../core/log.ts'
import { restoreFrom } from '../store/backup.ts'
import { lockHolder, lockState } from '../store/lock.ts'
import { schemaAfter } from '../store/migrate.ts'
import { migrations } from '../store/migrations.ts'
import { readSnapshot } from '../store/snapshot.ts'
import { State } from '../store/state.ts'
import { verifyBackup, type Verification } from '../store/verify.ts'
import { databaseOf, giveTo, withLedger } from './offline-state.ts'

/** Brings a copy of the log up to date, with the owner that its folder has. */
export async function copyOfAudit(site: string, state: string, folder: string): Promise<AuditCopy> {
  const log = createLog('error', process.stderr)
  const [from, to] = [join(state, 'audit'), resolve(folder)]
  return await withLedger(await databaseOf(site), (ledger) =>
    ledger ? copyLedger(ledger, from, to, log) : copyAudit(from, to, log),
  )
}

/** What a restore made. */
export interface Restored extends Verification {
  readonly state: string
  readonly moved_to: string | null
  readonly audit: AuditCopy | null
}

/** What `restore` is given. */
interface RestoreWish {
  readonly file: string
  readonly site: string
  readonly state: string
  readonly audit: string | undefined
  readonly moveAside: boolean
}

/** Reads the whole backup before it touches anything; a state that is in use is never replaced. */
export async function restore({ file, site, state, audit, moveAside }: RestoreWish): Promise<Restored> {
  const database = await databaseOf(site)
  if (!existsSync(file)) throw new AppError('not_found', `${file} does not exist`)
  const log = createLog('error', process.stderr)
  const { schema } = await verifyBackup(file)
  if (schema > schemaAfter(migrations))
    throw new AppError(
      'invalid',
      `the backup has schema version ${schema}, but this version of assistant-core knows versions up to ${schemaAfter(migrations)}; use a newer version`,
    )
  const holder = existsSync(state) ? await lockHolder(state) : undefined
  if (holder)
    throw new AppError(
      'conflict',
      `the state is in use by process ${holder.pid}; stop it before you restore, with: kill ${holder.pid}`,
    )
  const owner = existsSync(state) ? statSync(state) : undefined
  const inside = existsSync(state) ? readdirSync(state).filter((name) => name !== 'lock') : []
  if (inside.length > 0 && !moveAside)
    throw new AppError('conflict', `${state} is not empty; add --move-aside to rename it first`)
  const movedTo =
    inside.length > 0
      ? `${state}.before-${new Date(systemClock.now()).toISOString().replaceAll(':', '')}`
      : null
  // A damaged backup must leave everything as it was, so it is read before the rename, and again by the restore.
  const checked = await verifyBackup(file)
  if (!checked.ok)
    throw new AppError('invalid', `the backup is damaged: ${checked.faults.slice(0, 10).join('; ')}`)
  if (audit !== undefined) await requireWholeLog(audit)
  if (database !== undefined) await (await import('../store/postgres-copy.ts')).requireEmptyPostgres(database)
  if (movedTo !== null) renameSync(state, movedTo)
  await openPrivateFolder(state, log)
  const lock = await lockState(state, systemClock)
  try {
    const verification = database === undefined ? await restoreFrom(file, state, log) : checked
    if (database !== undefined) await restoreIntoDatabase(file, database)
    const copy = audit === undefined ? null : await restoreLog(audit, join(state, 'audit'), database, log)
    return { state, moved_to: movedTo, ...verification, audit: copy }
  } finally {
    lock.release()
    // root restores for the service's user, who must be able to open the result.
    if (owner) giveTo(state, owner)
  }
}

/** A damaged copy of the log is refused before anything is touched. */
async function requireWholeLog(folder: string): Promise<void> {
  const isExported = (await exportedLogs(folder)).length > 0
  const { ok, lines, faults } = await (isExported ? verifyExported(folder) : verifyAudit(folder))
  if (!ok) throw new AppError('invalid', `the copy of the audit log is damaged: ${faults.join('; ')}`)
  if (lines === 0) throw new AppError('not_found', `there is no copy of an audit log in ${folder}`)
}

/** Lays a copy of the log where the daemon looks for it. The lines of daemons that shared a database lie in a folder for each. */
async function restoreLog(
  from: string,
  to: string,
  database: string | undefined,
  log: Log,
): Promise<AuditCopy> {
  const logs = await exportedLogs(from)
  if (logs.length === 0) {
    const copy = await copyAudit(from, to, log)
    await withLedger(database, async (ledger) => ledger && (await carryLog(to, ledger, log)))
    return copy
  }
  await openPrivateFolder(to, log)
  await withLedger(database, async (ledger) => {
    for (const one of logs) {
      if (!ledger) cpSync(one.folder, join(to, one.id), { recursive: true })
      else await importLog(one.folder, ledger, one, log)
      // The daemon whose key lies there goes on with its own.
      const keys = readdirSync(one.folder).filter((name) => /^key.*\.pem$/.test(name))
      if (ledger && keys.includes(keyName)) {
        for (const name of keys) cpSync(join(one.folder, name), join(to, name))
        await carryLog(to, ledger, log)
      }
    }
  })
  return { folder: to, copied: logs.length, ...(await verifyExported(from)) }
}

/** Makes a state in an empty database of a backup that was verified. */
async function restoreIntoDatabase(file: string, url: string): Promise<void> {
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
