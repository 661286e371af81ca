import { resolve } from 'node:path'
import type { AuditCopy } from '#audit/operations.ts'
import { asks, takes } from '#commands/description.ts'
import { foundText, megabytes, progress, progressBar, table, tell, write } from '#commands/terminal.ts'
import type { Verification } from '#state/operations.ts'
import { defineCommand } from './options.ts'
import { stream } from './control.ts'

/** `assistant-core backup`, `restore`, `store …`: commands that keep the state safe. */
export const storeCommands = [
  defineCommand({
    name: 'backup',
    does: 'write one consistent, verified backup of the state; a daemon goes on meanwhile; - is standard output',
    examples: [
      'backup /var/backups/assistant-core/monday.backup',
      'backup - | ssh store "cat > monday.backup"',
      'backup monday.backup --audit /var/backups/assistant-core/audit',
    ],
    input: takes({
      file: '<file>',
      audit: '--audit <folder>: bring a copy of the audit log up to date as well: only what is new is copied',
    }),
    run: async ({ file, audit: folder }, options) => {
      const { copyOfAudit } = await import('../house/backup-files.ts')
      const copy = async (): Promise<AuditCopy | null> =>
        folder === undefined ? null : await copyOfAudit(options, folder)
      const text = stream(options, 'store.backup', {})
      if (file === '-') {
        for await (const piece of text) await write(piece)
        const copied = await copy()
        if (copied) tell(auditText(copied))
        return undefined
      }
      const { writeBackup } = await import('#state/operations.ts')
      const path = resolve(file)
      const verification = await writeBackup(progress('backup', text), path)
      // The log is copied after the state: an event that the state knows is then in the copy.
      return { file: path, ...verification, audit: await copy() }
    },
    text: (done) => [`${done!.file}: ${contentText(done!)}`, done!.audit && auditText(done!.audit)],
  }),
  defineCommand({
    name: 'restore',
    does: 'make the state of a backup; refuses a damaged or newer one, and a state that is in use or not empty',
    examples: [
      'restore monday.backup --audit /var/backups/assistant-core/audit --state /var/lib/assistant-core --move-aside',
    ],
    input: takes({
      file: '<file>',
      audit: '--audit <folder>: the copy of the audit log; without it a new log begins',
      moveAside: '--move-aside: rename a state that is there already instead of refusing',
    }),
    run: async ({ file, audit, moveAside = false }, folders) => {
      const { restore } = await import('../house/backup-files.ts')
      return restore({ file: resolve(file), folders, audit: audit && resolve(audit), moveAside })
    },
    text: (done) => [
      `${done.state}: ${contentText(done)}${done.moved_to === null ? '' : `; what was there is now ${done.moved_to}`}`,
      done.audit
        ? auditText(done.audit)
        : 'a new audit log begins, and says where the old one had ended; --audit brings a copy of that',
    ],
  }),
  defineCommand({
    name: 'store verify',
    does: 'read the whole state, or a backup, and name every damaged line; a daemon may run',
    examples: ['store verify', 'store verify --file monday.backup'],
    input: takes({ file: '--file <backup>: a backup instead of the state' }),
    run: async ({ file }, options) =>
      file === undefined
        ? (await import('../house/offline-state.ts')).verifyWhole(options)
        : (await import('#state/operations.ts')).verifyBackup(resolve(file)),
    text: (result) => [`${result.ok ? 'whole' : 'DAMAGED'}: ${contentText(result)}`, ...foundText(result)],
    failure: ({ ok }, { file }) => !ok && `${file === undefined ? 'the state' : resolve(file)} is damaged`,
  }),
  defineCommand({
    name: 'store migrate',
    does: 'bring the state to the shapes of this release; the next start does it too',
    examples: ['store migrate --dry-run'],
    input: takes({ dryRun: '--dry-run: only say what would be done' }),
    run: async ({ dryRun = false }, options) => {
      const { migrateState } = await import('../house/offline-state.ts')
      return { dry_run: dryRun, ...(await migrateState(options, { dryRun, tell })) }
    },
    text: ({ from, to, steps }) =>
      steps.length === 0
        ? `nothing to do: the state has schema version ${from}`
        : [
            `from schema version ${from} to ${to}:`,
            ...steps.map(
              (step) => `  ${step.to}: ${step.title} (${step.written} written, ${step.removed} removed)`,
            ),
          ],
  }),
  defineCommand({
    name: 'store copy',
    does: 'carry the whole state to the other kind of store and compare what arrived; stop the service first, and set store.kind afterwards',
    examples: ['store copy --to postgres', 'store copy --to embedded --json'],
    input: takes({
      to: asks('--to <kind>!: where to; it must hold no state yet', { enum: ['postgres', 'embedded'] }),
    }),
    run: async ({ to }, options) =>
      (await import('../house/offline-state.ts')).copyState(options, to, progressBar('copy')),
    text: ({ collections, documents, from, to }) => [
      table(collections, ['collection', 'documents', 'sha256']),
      `${documents} documents are in ${to} as they were in ${from}; set store.kind: ${to} in config/settings.yaml and start the service`,
    ],
  }),
]

function auditText({ folder, lines, copied }: AuditCopy): string {
  return `${folder}: ${lines} lines of the audit log, ${copied} ${copied === 1 ? 'file' : 'files'} copied`
}

function contentText({ documents, bytes, schema, time }: Verification): string {
  const count = Object.values(documents).reduce((sum, one) => sum + one, 0)
  return `${count} records of ${time}, ${megabytes(bytes)}, schema version ${schema}`
}
