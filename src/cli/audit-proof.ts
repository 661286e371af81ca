import { userInfo } from 'node:os'
import { AppError } from '../core/errors.ts'
import type { Command } from './command.ts'
import { askAndPrint, operate, type Answer, type Question } from './control.ts'
import { readOptions } from './options.ts'
import { print, visible } from './output.ts'

/** `assistant-core audit verify` and what belongs to it: whether the log can be believed. */
export function addAuditProofCommands(audit: Command): void {
  audit
    .command('verify')
    .description('check numbers, hash chain and signatures of the whole log; names the first bad line')
    .option(
      '--anchor <file>',
      'check against what syslog or the webhook received as well: lines of the log, or a copy of head.json',
    )
    .example('audit verify', 'audit verify --anchor /var/log/received-from-syslog')
    .action(async ({ anchor }: { anchor?: string }, command: Command) => {
      const options = readOptions(command)
      const anchors = anchor === undefined ? {} : { anchors: await anchorsIn(anchor) }
      const result = await operate(options, 'audit.verify', anchors)
      print(options.json, result, verificationText)
      // Printed first, then failed: a job that verifies sees it in the exit code.
      if (!result.ok) throw new AppError('conflict', `the audit log is not as it was written`)
    })

  audit
    .command('change-key')
    .description('make a new key for the log; the old one signs for it')
    .example('audit change-key')
    .action((_flags, command: Command) =>
      askAndPrint(
        command,
        'audit.change_key',
        {},
        ({ from, to }) => `key ${from} signed for key ${to}, which signs from now on`,
      ),
    )

  audit
    .command('accept-loss')
    .description('answer for what is missing from the log, so that it is a fault no more')
    .requiredOption('--reason <text>', 'why it is missing; it is kept in the log')
    .example('audit accept-loss --reason "the disk of 12 May was replaced"')
    .action(({ reason }: { reason: string }, command: Command) =>
      askAndPrint(command, 'audit.accept_loss', { by: userInfo().username, reason }, ({ accepted }) =>
        accepted.length === 0
          ? 'nothing is missing'
          : accepted.map(({ time, what }) => `accepted: ${time}: ${visible(what)}`).join('\n'),
      ),
    )
}

/** What a file knows of the log; one that knows nothing would prove nothing. */
async function anchorsIn(path: string): Promise<NonNullable<Question<'audit.verify'>['anchors']>> {
  const [{ readAnchors }, { diskFaultText }] = await Promise.all([
    import('../audit/anchors.ts'),
    import('../core/files.ts'),
  ])
  const anchors = await readAnchors(path).catch((error: unknown) => {
    throw new AppError('invalid', `${path}: ${diskFaultText(error)}`)
  })
  if (anchors.length === 0)
    throw new AppError('invalid', `${path}: there is neither a checkpoint of an audit log in it nor a head`)
  return anchors
}

/** The verdict first; notes are what could not be proven yet, such as lines that wait for their signature. */
function verificationText(found: Answer<'audit.verify'>): string {
  const { ok, lines, files, signed, last, faults, notes, writers } = found
  const where = writers ? `of ${writers.length} daemons in the database` : `in ${files} files`
  return [
    `${ok ? 'whole' : 'NOT WHOLE'}: ${lines} lines ${where}; ${signed} of ${last} are signed`,
    ...(writers ?? []).map(
      (one) =>
        `  ${visible(one.name)} (${one.id}): lines ${one.first} to ${one.last}, signed to ${one.signed}`,
    ),
    ...faults.map((fault) => `  fault: ${visible(fault)}`),
    ...notes.map((note) => `  note: ${visible(note)}`),
  ].join('\n')
}
