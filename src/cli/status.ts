import type { Command } from 'commander'
import type { Attempt } from '../control/keys.ts'
import { operate } from './control.ts'
import { countOption } from './durations.ts'
import { readOptions } from './options.ts'
import { megabytes, print, table, visible, write } from './output.ts'

/** What `status` answers: `null` where only a running daemon knows. */
interface Status {
  readonly version: string
  readonly daemon: {
    readonly pid: number
    readonly started: string
    readonly uptime_seconds: number
    readonly memory_bytes: number
  } | null
  readonly public_url: string
  readonly mcp_endpoint: string
  readonly enabled: boolean
  readonly site: {
    readonly folder: string
    readonly digest: string
    readonly loaded: string
    readonly faults: readonly string[]
    readonly warnings: readonly string[]
    readonly users: number
    readonly doctypes: number
    readonly prompts: number
    readonly skills: number
  }
  readonly state: {
    readonly folder: string
    readonly kind: string
    readonly bytes: number
    readonly documents: Readonly<Record<string, number>>
    readonly fault?: string
  }
  readonly audit: {
    readonly seq: number
    readonly files: number
    readonly bytes: number
    readonly fault?: string
  }
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[]
  readonly requests: {
    readonly in_flight: number
    readonly streams: number
    readonly limits: Readonly<Record<string, { readonly passed: number; readonly refused: number }>>
  } | null
  readonly sandboxes: Readonly<Record<string, { readonly running: number; readonly waiting: number }>> | null
  readonly tools: readonly {
    readonly roles: readonly string[]
    readonly tools: number
    readonly tokens: number
  }[]
}

/** `assistant-core status`, `keys …`, `oauth trace`: what runs, and what signs. */
export function addStatusCommands(program: Command): void {
  program
    .command('status')
    .description('show what runs, what is loaded, and what is wrong')
    .action(async (_flags, command: Command) => {
      const options = readOptions(command)
      print(options.json, await operate<Status>(options, 'status', {}), statusText)
    })

  program
    .command('metrics')
    .description('print the metrics of the running daemon as Prometheus reads them')
    .action(async (_flags, command: Command) => {
      const options = readOptions(command)
      const result = await operate<{ text: string }>(options, 'metrics', {})
      // Prometheus reads the text as it stands, so nothing is put around it.
      await write(options.json ? `${JSON.stringify(result, null, 2)}\n` : result.text)
    })

  const keys = program.command('keys').description('the keys that sign ID tokens')
  keys
    .command('list')
    .description('list the signing keys')
    .action(async (_flags, command: Command) => {
      const options = readOptions(command)
      const result = await operate<{ key: string; state: string; created: string; signs_from: string }[]>(
        options,
        'keys.list',
        {},
      )
      print(options.json, result, (list) =>
        table(
          ['key', 'state', 'created', 'signs from'],
          list.map((key) => [key.key, key.state, key.created, key.signs_from]),
        ),
      )
    })
  keys
    .command('rotate')
    .description('make the next signing key; it signs once clients have had time to learn it')
    .option('--at-once', 'it signs now and the old ones end, because one of them leaked')
    .action(async (flags: { atOnce?: boolean }, command: Command) => {
      const options = readOptions(command)
      const result = await operate<{ key: string; signs_from: string }>(options, 'keys.rotate', {
        at_once: flags.atOnce,
      })
      print(options.json, result, (key) => `${key.key} signs from ${key.signs_from}`)
    })

  program
    .command('oauth')
    .description('the authorization server')
    .command('trace')
    .description('show the last authorization attempts and the step at which each died')
    .option('-n <count>', 'how many', countOption, 10)
    .action(async (flags: { n: number }, command: Command) => {
      const options = readOptions(command)
      const result = await operate<Attempt[]>(options, 'oauth.trace', { count: flags.n })
      print(options.json, result, (list) =>
        table(
          ['started', 'client', 'redirect', 'user', 'last step', 'reason'],
          list.map((one) => [
            one.started,
            one.client_name ?? one.client,
            one.redirect_host,
            one.user,
            // Where it died, or how far it has come if it still lives.
            one.died_at ?? one.steps.at(-1),
            one.reason,
          ]),
          'no authorization attempts',
        ),
      )
    })
}

/** A line for each part, and below it what is wrong with it; a healthy service fills one screen. */
function statusText({ version, daemon, site, state, audit, tools, ...rest }: Status): string {
  // One number here; `--json` has them by collection.
  const documents = Object.values(state.documents).reduce((sum, count) => sum + count, 0)
  const lines = [
    `assistant-core ${version}, ${daemon ? `running as process ${daemon.pid} for ${daemon.uptime_seconds} s, ${megabytes(daemon.memory_bytes)}` : 'not running'}`,
    `MCP endpoint  ${rest.mcp_endpoint}${rest.enabled ? '' : '   SWITCHED OFF (server.enabled)'}`,
    `site          ${site.folder}   ${site.digest} of ${site.loaded}: ${site.users} users, ${site.doctypes} doctypes, ${site.prompts} prompts, ${site.skills} skills`,
    ...problems('site fault', site.faults),
    ...problems('site warning', site.warnings),
    `state         ${state.folder}   ${state.kind}, ${documents} records, ${megabytes(state.bytes)}`,
    ...problems('state fault', state.fault === undefined ? [] : [state.fault]),
    `audit         ${audit.seq} events in ${audit.files} files, ${megabytes(audit.bytes)}`,
    ...problems('audit fault', audit.fault === undefined ? [] : [audit.fault]),
    ...rest.checks
      .filter((check) => check.status !== 'ok')
      .map((check) => `${check.status.padEnd(14)}${check.name}: ${check.detail}`),
    ...(rest.requests ? [requestsText(rest.requests)] : []),
    ...(rest.sandboxes ? [sandboxesText(rest.sandboxes)] : []),
    ...tools.map(
      (set) =>
        `tools         ${set.tools} tools, ${set.tokens} tokens for ${set.roles.join(', ') || 'no role'}`,
    ),
  ]
  return lines.map(visible).join('\n')
}

/** Only budgets that refused something: the others say nothing about a fault. */
function requestsText({ in_flight: inFlight, streams, limits }: NonNullable<Status['requests']>): string {
  const refused = Object.entries(limits)
    .filter(([, count]) => count.refused > 0)
    .map(([budget, count]) => `${count.refused} of ${budget}`)
  const limited = refused.length === 0 ? 'none' : refused.join(', ')
  return `requests      ${inFlight} in progress, ${streams} streams; refused by rate limits: ${limited}`
}

/** What runs outside the daemon's process, and whether anybody waits for a place. */
function sandboxesText(sandboxes: NonNullable<Status['sandboxes']>): string {
  const parts = Object.entries(sandboxes).map(
    ([part, { running, waiting }]) =>
      `${part} ${running} running${waiting === 0 ? '' : `, ${waiting} waiting`}`,
  )
  return `sandboxes     ${parts.join('; ') || 'none'}`
}

function problems(kind: string, list: readonly string[]): string[] {
  return list.map((text) => `  ${kind}: ${text}`)
}
