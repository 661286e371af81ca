import type { Command } from './command.ts'
import { askAndPrint, type Answer } from './control.ts'
import { table, visible } from './output.ts'

/** `assistant-core access explain`: why a user may or may not. */
export function addAccessCommands(program: Command): void {
  program
    .command('access')
    .description('who may do what, and which line of the site decides it')
    .command('explain <user> <tool-or-doctype> [name]')
    .description('explain what a user may do with a tool, a doctype, or one document of it')
    .example(
      'access explain sales@example.com create_document',
      'access explain sales@example.com Customer CUST-0001 --client CLIENT_ID',
    )
    // Limits of a client are easily forgotten when a user "has all roles".
    .option('--client <id>', 'through this client, with its limits')
    .action(
      (
        user: string,
        subject: string,
        name: string | undefined,
        flags: { client?: string },
        command: Command,
      ) => askAndPrint(command, 'access.explain', { user, subject, name, ...flags }, explanationText),
    )
}

function explanationText(one: Answer<'access.explain'>): string {
  const about = `${one.user} (${one.roles.join(', ') || 'no role'})${one.client === null ? '' : ` through ${one.client}`}`
  // One sentence first: the table below is for those who doubt it.
  const verdict = one.allowed ? (one.kind === 'tool' ? 'may call' : 'may use') : 'may not use'
  return [
    visible(`${about} ${verdict} ${one.kind} ${one.subject}${one.name === undefined ? '' : ` ${one.name}`}`),
    table(
      ['gate', 'allowed', 'because', 'source'],
      one.reasons.map((reason) => [
        reason.subject,
        reason.allowed ? 'yes' : 'no',
        reason.because,
        reason.source,
      ]),
    ),
    ...(one.hidden_fields?.length ? [visible(`hidden fields: ${one.hidden_fields.join(', ')}`)] : []),
    ...(one.masked_fields?.length ? [visible(`masked fields: ${one.masked_fields.join(', ')}`)] : []),
  ].join('\n')
}
