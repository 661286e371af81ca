import type { Command } from './command.ts'
import { askAndPrint, type Answer } from './control.ts'
import { table, visible, yesOrNo } from './output.ts'

/** `assistant-core access …`: what there is to be used, and why a user may or may not. */
export function addAccessCommands(program: Command): void {
  const access = program
    .command('access')
    .description('who may do what, and which line of the site decides it')
  access
    .command('tools')
    .description('list the tools, with what the site says about each and where')
    .example('access tools')
    .action((_flags, command: Command) =>
      askAndPrint(command, 'tools.list', {}, (list) =>
        table(list, {
          tool: 'tool',
          category: 'category',
          roles: 'roles',
          profiles: 'profiles',
          confirm: 'confirm',
          source: ({ enabled, source }) => (enabled ? source : `off: ${source}`),
        }),
      ),
    )
  access
    .command('explain <user> [tool-or-doctype] [name]')
    .description(
      'explain what a user may do with a tool, a doctype, or one document of it; without one, with each',
    )
    .example(
      'access explain sales@example.com create_document',
      'access explain sales@example.com Customer CUST-0001 --client CLIENT_ID',
    )
    // Limits of a client are easily forgotten when a user "has all roles".
    .option('--client <id>', 'through this client, with its limits')
    .action(
      (
        user: string,
        subject: string | undefined,
        name: string | undefined,
        flags: { client?: string },
        command: Command,
      ) =>
        subject === undefined
          ? askAndPrint(command, 'access.overview', { user, ...flags }, overviewText)
          : askAndPrint(command, 'access.explain', { user, subject, name, ...flags }, explanationText),
    )
}

function overviewText({ user, roles, gates, subjects }: Answer<'access.overview'>): string {
  const shut = gates.filter(({ allowed }) => !allowed)
  return [
    visible(`${user} (${roles.join(', ') || 'no role'})`),
    ...shut.map(({ because, source }) => visible(`may do nothing: ${because}  ${source}`)),
    table(subjects, { subject: 'subject', allowed: 'actions', because: 'because', source: 'source' }),
  ].join('\n')
}

function explanationText(one: Answer<'access.explain'>): string {
  const about = `${one.user} (${one.roles.join(', ') || 'no role'})${one.client === null ? '' : ` through ${one.client}`}`
  // One sentence first: the table below is for those who doubt it.
  const verdict = one.allowed ? (one.kind === 'tool' ? 'may call' : 'may use') : 'may not use'
  return [
    visible(`${about} ${verdict} ${one.kind} ${one.subject}${one.name === undefined ? '' : ` ${one.name}`}`),
    table(one.reasons, {
      gate: 'subject',
      allowed: ({ allowed }) => yesOrNo(allowed),
      because: 'because',
      source: 'source',
    }),
    ...(one.hidden_fields?.length ? [visible(`hidden fields: ${one.hidden_fields.join(', ')}`)] : []),
    ...(one.masked_fields?.length ? [visible(`masked fields: ${one.masked_fields.join(', ')}`)] : []),
  ].join('\n')
}
