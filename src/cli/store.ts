import { resolve } from 'node:path'
import { Option } from 'commander'
import type { AuditCopy } from '../audit/copy.ts'
import { AppError } from '../core/errors.ts'
import type { CopyReport } from '../store/copy.ts'
import type { Verification } from '../store/verify.ts'
import type { Command } from './command.ts'
import { stream } from './control.ts'
import { readOptions } from './options.ts'
import { megabytes, print, progress, table, tell, visible, write } from './output.ts'

/** `assistant-core backup`, `restore`, `store …`: keeping what the program learned. */
export function addStoreCommands(program: Command): void {
  addBackupCommand(program)
  addRestoreCommand(program)
  const store = program
    .command('store')
    .description('the state on disk: check it, bring it to the newest version')
  addVerifyCommand(store)
  addMigrateCommand(store)
  addCopyCommand(store)
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
      const { copyOfAudit } = await import('../control/backups.ts')
      const text = stream(options, 'store.backup', {})
      if (file === '-') {
        for await (const piece of text) await write(piece)
        if (flags.audit !== undefined)
          tell(auditText(await copyOfAudit(options.site, options.state, flags.audit)))
        return
      }
      const { writeBackup } = await import('../store/backup.ts')
      const path = resolve(file)
      const verification = await writeBackup(progress('backup', text), path)
      // After the state: an event that the state knows is then in the copy.
      const audit =
        flags.audit === undefined ? null : await copyOfAudit(options.site, options.state, flags.audit)
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
      const { restore } = await import('../control/backups.ts')
      const result = await restore({
        file: resolve(file),
        site: options.site,
        state: options.state,
        audit: flags.audit === undefined ? undefined : resolve(flags.audit),
        moveAside: flags.moveAside ?? false,
      })
      print(options.json, result, (done) =>
        [
          `${done.state}: ${contentText(done)}${done.moved_to === null ? '' : `; what was there is now ${done.moved_to}`}`,
          done.audit ? auditText(done.audit) : 'a new audit log misses the old one; --audit brings a copy',
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
      const found = await (file === undefined
        ? (await import('../control/offline-state.ts')).verifyWhole(options.site, options.state)
        : (await import('../store/verify.ts')).verifyBackup(file))
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
      const { migrateState } = await import('../control/offline-state.ts')
      const dryRun = flags.dryRun ?? false
      const report = await migrateState(options.site, options.state, { dryRun, tell })
      print(options.json, { dry_run: dryRun, ...report }, ({ from, to, steps }) =>
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

function addCopyCommand(store: Command): void {
  store
    .command('copy')
    .description(
      'carry the whole state to the other kind of store and compare what arrived; stop the service first, and set store.kind afterwards',
    )
    .example('store copy --to postgres', 'store copy --to embedded --json')
    .addOption(
      new Option('--to <kind>', 'where to; it must hold no state yet')
        .choices(['postgres', 'embedded'])
        .makeOptionMandatory(),
    )
    .action(async (flags: { to: CopyReport['to'] }, command: Command) => {
      const options = readOptions(command)
      const { copyState } = await import('../control/offline-state.ts')
      print(options.json, await copyState(options.site, options.state, flags.to), (report) =>
        [
          table(report.collections, {
            collection: 'collection',
            documents: 'documents',
            sha256: 'sha256',
          }),
          `${report.documents} documents are in ${report.to} as they were in ${report.from}; set store.kind: ${report.to} in config/settings.yaml and start the service`,
        ].join('\n'),
      )
    })
}

function auditText({ folder, lines, copied }: AuditCopy): string {
  return `${folder}: ${lines} lines of the audit log, ${copied} ${copied === 1 ? 'file' : 'files'} copied`
}

function contentText({ documents, bytes, schema, time }: Verification): string {
  const count = Object.values(documents).reduce((sum, one) => sum + one, 0)
  return `${count} records of ${time}, ${megabytes(bytes)}, schema version ${schema}`
}
