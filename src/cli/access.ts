import type { Command } from 'commander'
import { operate } from './control.ts'
import { readOptions } from './options.ts'
import { print, table, visible } from './output.ts'

/** What `access.explain` answers; the last two are there for doctypes and documents. */
interface Explained {
  readonly user: string
  readonly subject: string
  readonly name?: string
  readonly client: string | null
  readonly roles: readonly string[]
  readonly kind: 'tool' | 'doctype' | 'document'
  readonly allowed: boolean
  readonly reasons: readonly {
    readonly subject: string
    readonly allowed: boolean
    readonly because: string
    readonly source: string
  }[]
  readonly hidden_fields?: readonly string[]
  readonly masked_fields?: readonly string[]
}

/** `assistant-core access explain`: why a user may or may not. */
export function addAccessCommands(program: Command): void {
  program
    .command('access')
    .description('who may do what, and which line of the site decides it')
    .command('explain <user> <tool-or-doctype> [name]')
    .description('explain what a user may do with a tool, a doctype, or one document of it')
    // Limits of a client are easily forgotten when a user "has all roles".
    .option('--client <id>', 'through this client, with its limits')
    .action(
      async (
        user: string,
        subject: string,
        name: string | undefined,
        flags: { client?: string },
        command: Command,
      ) => {
        const options = readOptions(command)
        const result = await operate<Explained>(options, 'access.explain', { user, subject, name, ...flags })
        print(options.json, result, explanationText)
      },
    )
}

function explanationText(one: Explained): string {
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
