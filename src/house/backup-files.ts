/** Backup files: a copy of the audit log, and restoring a state from a backup. */
import { cpSync, existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import process from 'node:process'
import {
  type AuditCopy,
  carryLog,
  copyLog,
  exportedLogs,
  importLog,
  keyName,
  openAudit,
  verifyAudit,
  verifyExported,
} from '#audit/operations.ts'
import { auditSettingsOf } from '#audit/settings.ts'
import { openState, readSettingsAlone } from './open-state.ts'
import { systemClock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { openPrivateFolder } from '#leaf/files.ts'
import { createLog, type Log } from '#leaf/log.ts'
import { type Folders, secretsIn, secretsName } from '#leaf/secret-files.ts'
import {
  restoreFrom,
  staying,
  lockHolder,
  lockState,
  schemaAfter,
  migrations,
  readSnapshot,
  State,
  verifyBackup,
  type Verification,
} from '#state/operations.ts'
import { databaseOf, giveTo, withLedger } from './offline-state.ts'

/** Brings a copy of the log up to date, with the owner that its folder has. */
export async function copyOfAudit(folders: Folders, folder: string): Promise<AuditCopy> {
  const log = createLog('error', process.stderr)
  const [from, to] = [join(folders.state, 'audit'), resolve(folder)]
  return await withLedger(await databaseOf(folders), (ledger) => copyLog(ledger, from, to, log))
}

/** The result of a restore. */
export interface Restored extends Verification {
  readonly state: string
  readonly moved_to: string | null
  readonly audit: AuditCopy | null
}

/** The arguments of `restore`. */
interface RestoreWish {
  readonly file: string
  readonly folders: Folders
  readonly audit: string | undefined
  readonly moveAside: boolean
}

/** Restores a backup, which it reads whole before it touches anything; it never replaces a state that is in use. */
export async function restore({ file, folders, audit, moveAside }: RestoreWish): Promise<Restored> {
  const { state } = folders
  const database = await databaseOf(folders)
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
  const inside = existsSync(state) ? readdirSync(state).filter((name) => !staying.includes(name)) : []
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
  if (database !== undefined) await (await import('#state/postgres.ts')).requireEmptyPostgres(database)
  if (movedTo !== null) renameSync(state, movedTo)
  // What is restored may have lain in the state that was just moved, such as the backup before an upgrade.
  const nowAt = (path: string): string => {
    const inside = relative(state, path)
    return movedTo === null || inside.startsWith('..') ? path : join(movedTo, inside)
  }
  await openPrivateFolder(state, log)
  // Secrets belong to the operator and are not part of a backup.
  if (movedTo !== null && existsSync(join(movedTo, secretsName)))
    renameSync(join(movedTo, secretsName), join(state, secretsName))
  const lock = await lockState(state, systemClock)
  try {
    const verification = database === undefined ? await restoreFrom(nowAt(file), state, log) : checked
    if (database !== undefined) await restoreIntoDatabase(nowAt(file), database)
    const copy =
      audit === undefined ? null : await restoreLog(nowAt(audit), join(state, 'audit'), database, log)
    lock.release()
    await tellRestore({ file, folders }, verification.time, log)
    return { state, moved_to: movedTo, ...verification, audit: copy }
  } catch (error) {
    if (movedTo !== null)
      log.error('the restore failed; what was there was moved aside', { moved_to: movedTo })
    throw error
  } finally {
    lock.release()
    // root restores for the service's user, who must be able to open the result.
    if (owner) giveTo(state, owner)
  }
}

/** Makes the log begin, or go on, with what the backup knew of it. */
async function tellRestore(
  { file, folders }: Pick<RestoreWish, 'file' | 'folders'>,
  made: string,
  log: Log,
): Promise<void> {
  const settings = await readSettingsAlone(folders.site)
  const secretPath = secretsIn(settings, folders)
  const { state } = folders
  const store = await openState({ settings: settings.store, secretPath, state, clock: systemClock, log })
  try {
    const opened = await openAudit({
      folder: join(state, 'audit'),
      store,
      clock: store.clock,
      log,
      settings: auditSettingsOf(settings.audit, secretPath),
      restored: { name: basename(file), made },
    })
    await opened.close()
  } finally {
    await store.close()
  }
}

/** Refuses a damaged copy of the log before anything is touched. */
async function requireWholeLog(folder: string): Promise<void> {
  const isExported = (await exportedLogs(folder)).length > 0
  const { ok, lines, faults } = await (isExported ? verifyExported(folder) : verifyAudit(folder))
  if (!ok) throw new AppError('invalid', `the copy of the audit log is damaged: ${faults.join('; ')}`)
  if (lines === 0) throw new AppError('not_found', `there is no copy of an audit log in ${folder}`)
}

/** Puts a copy of the log where the daemon looks for it. Daemons that shared a database have a folder each for their lines. */
async function restoreLog(
  from: string,
  to: string,
  database: string | undefined,
  log: Log,
): Promise<AuditCopy> {
  const logs = await exportedLogs(from)
  if (logs.length === 0) {
    const copy = await copyLog(undefined, from, to, log)
    await withLedger(database, async (ledger) => ledger && (await carryLog(to, ledger, log)))
    return copy
  }
  await openPrivateFolder(to, log)
  await withLedger(database, async (ledger) => {
    for (const one of logs) {
      if (!ledger) cpSync(one.folder, join(to, one.id), { recursive: true })
      else await importLog(one.folder, ledger, one, log)
      // The daemon whose key is in this folder continues its own log.
      const keys = readdirSync(one.folder).filter((name) => /^key.*\.pem$/.test(name))
      if (ledger && keys.includes(keyName)) {
        for (const name of keys) cpSync(join(one.folder, name), join(to, name))
        await carryLog(to, ledger, log)
      }
    }
  })
  return { folder: to, copied: logs.length, ...(await verifyExported(from)) }
}

/** Makes a state from a verified backup in an empty database. */
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
  const { writePostgres } = await import('#state/postgres.ts')
  await writePostgres(state, url)
}
