import { chownSync, existsSync, lstatSync, readdirSync, renameSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import type { Command } from './command.ts'
import { copyAudit, type AuditCopy } from '../audit/copy.ts'
import { verifyAudit } from '../audit/verify.ts'
import { systemClock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { createLog } from '../core/log.ts'
import { restoreFrom, writeBackup } from '../store/backup.ts'
import { openEmbeddedStore } from '../store/embedded.ts'
import { openPrivateFolder } from '../core/files.ts'
import { lockHolder, lockState } from '../store/lock.ts'
import { planMigrations, schemaAfter, type MigrationReport } from '../store/migrate.ts'
import { migrations } from '../store/migrations.ts'
import { verifyBackup, type Verification } from '../store/verify.ts'
import { stream } from './control.ts'
import {
  databaseOf,
  migrateDatabase,
  requireEmptyDatabase,
  restoreIntoDatabase,
  verifyState,
} from './database.ts'
import { readOptions } from './options.ts'
import { megabytes, print, progress, tell, visible, write } from './output.ts'
import { addStoreCopyCommand } from './store-copy.ts'

/** `assistant-core backup`, `restore`, `store …`: keeping what the program learned. */
export function addStoreCommands(program: Command): void {
  addBackupCommand(program)
  addRestoreCommand(program)
  const store = program
    .command('store')
    .description('the state on disk: check it, bring it to the newest version')
  addVerifyCommand(store)
  addMigrateCommand(store)
  addStoreCopyCommand(store)
}

function addBackupCommand(program: Command): void {
  program
    .command('backup <file>')
    .description(
      'write one consistent, verified backup of the state; a daemon goes on meanwhile; - is standard output',
    )
    .example(
      'backup /var/backups/assistant-core/monday.backup',
      'backup - | ssh store "cat > monday.backup"',
      'backup monday.backup --audit /var/backups/assistant-core/audit',
    )
    .option(
      '--audit <folder>',
      'bring a copy of the audit log up to date as well: only what is new is copied',
    )
    .action(async (file: string, flags: { audit?: string }, command: Command) => {
      const options = readOptions(command)
      const text = stream(options, 'store.backup', {})
      if (file === '-') {
        for await (const piece of text) await write(piece)
        if (flags.audit !== undefined) tell(auditText(await copyOfAudit(options.state, flags.audit)))
        return
      }
      const path = resolve(file)
      const verification = await writeBackup(progress('backup', text), path)
      // After the state: an event that the state knows is then in the copy.
      const audit = flags.audit === undefined ? null : await copyOfAudit(options.state, flags.audit)
      print(options.json, { file: path, ...verification, audit }, (done) =>
        [`${done.file}: ${contentText(done)}`, ...(done.audit ? [auditText(done.audit)] : [])].join('\n'),
      )
    })
}

function addRestoreCommand(program: Command): void {
  program
    .command('restore <file>')
    .description(
      'make the state of a backup; refuses a damaged or newer one, and a state that is in use or not empty',
    )
    .example(
      'restore monday.backup --audit /var/backups/assistant-core/audit --state /var/lib/assistant-core --move-aside',
    )
    .option('--audit <folder>', 'the copy of the audit log; without it a new log begins')
    .option('--move-aside', 'rename a state that is there already instead of refusing')
    .action(async (file: string, flags: { audit?: string; moveAside?: boolean }, command: Command) => {
      const options = readOptions(command)
      const result = await restore({
        file: resolve(file),
        state: options.state,
        database: await databaseOf(options),
        audit: flags.audit === undefined ? undefined : resolve(flags.audit),
        moveAside: flags.moveAside ?? false,
      })
      print(options.json, result, (done) =>
        [
          `${done.state}: ${contentText(done)}${done.moved_to === null ? '' : `; what was there is now ${done.moved_to}`}`,
          done.audit ? auditText(done.audit) : 'a new audit log begins; --audit brings a copy of the old one',
        ].join('\n'),
      )
    })
}

function addVerifyCommand(store: Command): void {
  store
    .command('verify')
    .description('read the whole state, or a backup, and name every damaged line; a daemon may run')
    .example('store verify', 'store verify --file monday.backup')
    .option('--file <backup>', 'a backup instead of the state')
    .action(async (flags: { file?: string }, command: Command) => {
      const options = readOptions(command)
      const file = flags.file === undefined ? undefined : resolve(flags.file)
      const found = await (file === undefined ? verifyState(options) : verifyBackup(file))
      print(options.json, found, (result) =>
        [
          `${result.ok ? 'whole' : 'DAMAGED'}: ${contentText(result)}`,
          ...result.faults.map((fault) => `  fault: ${visible(fault)}`),
          ...result.notes.map((note) => `  note: ${visible(note)}`),
        ].join('\n'),
      )
      if (!found.ok) throw new AppError('conflict', `${file ?? 'the state'} is damaged`)
    })
}

function addMigrateCommand(store: Command): void {
  store
    .command('migrate')
    .description('bring the state to the shapes of this release; the next start does it too')
    .example('store migrate --dry-run')
    .option('--dry-run', 'only say what would be done')
    .action(async (flags: { dryRun?: boolean }, command: Command) => {
      const options = readOptions(command)
      const database = await databaseOf(options)
      const report = await (database === undefined
        ? migrateState(options.state, flags.dryRun ?? false)
        : migrateDatabase(database, options.state, flags.dryRun ?? false))
      print(options.json, { dry_run: flags.dryRun ?? false, ...report }, ({ from, to, steps }) =>
        steps.length === 0
          ? `nothing to do: the state has schema version ${from}`
          : [
              `from schema version ${from} to ${to}:`,
              ...steps.map(
                (step) => `  ${step.to}: ${step.title} (${step.written} written, ${step.removed} removed)`,
              ),
            ].join('\n'),
      )
    })
}

/** Brings a copy of the log up to date, with the owner that its folder has. */
async function copyOfAudit(state: string, folder: string): Promise<AuditCopy> {
  return copyAudit(join(state, 'audit'), resolve(folder), createLog('error', process.stderr))
}

interface Restored extends Verification {
  readonly state: string
  readonly moved_to: string | null
  readonly audit: AuditCopy | null
}

interface Wanted {
  readonly file: string
  readonly state: string
  /** Where the state goes instead of the folder; a secret. */
  readonly database: string | undefined
  readonly audit: string | undefined
  readonly moveAside: boolean
}

/** Reads the whole backup before it touches anything; a state that is in use is never replaced. */
async function restore({ file, state, database, audit, moveAside }: Wanted): Promise<Restored> {
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
    throw new AppError('conflict', `the state is in use by process ${holder.pid}; stop it before you restore`)
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
  if (database !== undefined) await requireEmptyDatabase(database)
  if (movedTo !== null) renameSync(state, movedTo)
  await openPrivateFolder(state, log)
  const lock = await lockState(state, systemClock)
  try {
    const verification = database === undefined ? await restoreFrom(file, state, log) : checked
    if (database !== undefined) await restoreIntoDatabase(file, database)
    const copy = audit === undefined ? null : await copyAudit(audit, join(state, 'audit'), log)
    return { state, moved_to: movedTo, ...verification, audit: copy }
  } finally {
    lock.release()
    // root restores for the service's user, who must be able to open the result.
    if (owner && process.getuid?.() === 0) giveTo(state, owner)
  }
}

/** A damaged copy of the log is refused before anything is touched. */
async function requireWholeLog(folder: string): Promise<void> {
  const { ok, lines, faults } = await verifyAudit(folder)
  if (!ok) throw new AppError('invalid', `the copy of the audit log is damaged: ${faults.join('; ')}`)
  if (lines === 0) throw new AppError('not_found', `there is no copy of an audit log in ${folder}`)
}

function auditText({ folder, lines, copied }: AuditCopy): string {
  return `${folder}: ${lines} lines of the audit log, ${copied} ${copied === 1 ? 'file' : 'files'} copied`
}

function giveTo(path: string, owner: { readonly uid: number; readonly gid: number }): void {
  chownSync(path, owner.uid, owner.gid)
  if (!lstatSync(path).isDirectory()) return
  for (const name of readdirSync(path)) giveTo(join(path, name), owner)
}

async function migrateState(state: string, dryRun: boolean): Promise<MigrationReport> {
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

function contentText({ documents, bytes, schema, time }: Verification): string {
  const count = Object.values(documents).reduce((sum, one) => sum + one, 0)
  return `${count} records of ${time}, ${megabytes(bytes)}, schema version ${schema}`
}
