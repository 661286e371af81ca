import type { Command } from './command.ts'
import { askAndPrint, operate, type Answer } from './control.ts'
import { countOption } from './durations.ts'
import { readOptions } from './options.ts'
import { megabytes, table, visible, write } from './output.ts'

/** `assistant-core status`, `keys …`, `oauth trace`: what runs, and what signs. */
export function addStatusCommands(program: Command): void {
  program
    .command('status')
    .description('show what runs, what is loaded, and what is wrong')
    .example('status', 'status --json')
    .action((_flags, command: Command) => askAndPrint(command, 'status', {}, statusText))

  program
    .command('metrics')
    .description('print the metrics of the running daemon as Prometheus reads them')
    .example('metrics')
    .action(async (_flags, command: Command) => {
      const options = readOptions(command)
      const result = await operate(options, 'metrics', {})
      // Prometheus reads the text as it stands, so nothing is put around it.
      await write(options.json ? `${JSON.stringify(result, null, 2)}\n` : result.text)
    })

  addKeysCommands(program)

  program
    .command('oauth')
    .description('the authorization server')
    .command('trace')
    .description('show the last authorization attempts and the step at which each died')
    .example('oauth trace -n 5')
    .option('-n <count>', 'how many', countOption, 10)
    .action((flags: { n: number }, command: Command) =>
      askAndPrint(command, 'oauth.trace', { count: flags.n }, (list) =>
        table(
          list,
          {
            started: 'started',
            client: (one) => one.client_name ?? one.client,
            redirect: 'redirect_host',
            user: 'user',
            // Where it died, or how far it has come if it still lives.
            'last step': (one) => one.died_at ?? one.steps.at(-1),
            reason: (one) => one.reason ?? one.client_document,
          },
          'no authorization attempts',
        ),
      ),
    )
}

function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('the keys that sign ID tokens')
  keys
    .command('list')
    .description('list the signing keys')
    .example('keys list')
    .action((_flags, command: Command) =>
      askAndPrint(command, 'keys.list', {}, (list) =>
        table(list, { key: 'key', state: 'state', created: 'created', 'signs from': 'signs_from' }),
      ),
    )
  keys
    .command('rotate')
    .description('make the next signing key; it signs once clients have had time to learn it')
    .example('keys rotate', 'keys rotate --at-once')
    .option('--at-once', 'it signs now and the old ones end, because one of them leaked')
    .action((flags: { atOnce?: boolean }, command: Command) =>
      askAndPrint(
        command,
        'keys.rotate',
        { at_once: flags.atOnce },
        (key) => `${key.key} signs from ${key.signs_from}`,
      ),
    )
}

/** A line for each part, and below it what is wrong with it; a healthy service fills one screen. */
function statusText({ version, daemon, site, state, audit, tools, ...rest }: Answer<'status'>): string {
  // One number here; `--json` has them by collection.
  const documents = Object.values(state.documents).reduce((sum, count) => sum + count, 0)
  const lines = [
    `assistant-core ${version}, ${daemon ? `running as process ${daemon.pid} for ${daemon.uptime_seconds} s, ${megabytes(daemon.memory_bytes)}` : 'not running'}`,
    `MCP endpoint  ${rest.mcp_endpoint}${rest.enabled ? '' : '   SWITCHED OFF (server.enabled)'}`,
    `site          ${site.folder}   ${site.digest} of ${site.loaded}: ${site.users} users, ${site.doctypes} doctypes, ${site.prompts} prompts, ${site.skills} skills`,
    ...problems('site fault', site.faults),
    ...problems('site warning', site.warnings),
    ...pullText(site.pulled),
    `state         ${state.folder}   ${state.kind}, ${documents} records, ${megabytes(state.bytes)}${state.building ? `, ${state.building} indexes are being built` : ''}`,
    ...daemonsText(rest.daemons, site.digest),
    ...problems('state fault', state.fault === undefined ? [] : [state.fault]),
    `audit         ${audit.seq} events ${logPlace(audit)}, ${megabytes(audit.bytes)}`,
    ...problems('audit fault', audit.fault === undefined ? [] : [audit.fault]),
    ...problems(
      'audit loss',
      audit.losses.map(({ time, what }) => `${time}: ${what}`),
    ),
    ...rest.checks
      .filter((check) => check.status !== 'ok')
      .map((check) => `${check.status.padEnd(14)}${check.name}: ${check.detail}`),
    ...(rest.requests ? [requestsText(rest.requests)] : []),
    ...(rest.sandboxes ? [sandboxesText(rest.sandboxes)] : []),
    ...tools.map(
      (set) =>
        `tools         ${set.tools} tools, ${set.tokens_by_skill_mode.supplementary} tokens (skill_mode replace: ${set.tokens_by_skill_mode.replace}) for ${set.roles.join(', ') || 'no role'}`,
    ),
  ]
  return lines.map(visible).join('\n')
}

function pullText(pulled: Answer<'status'>['site']['pulled']): string[] {
  if (pulled === null) return []
  const { url, ref, commit, tried, problem, faults } = pulled
  return [
    `pulled        ${ref} of ${url}: commit ${commit?.slice(0, 12) ?? 'none'}, tried ${tried}`,
    ...problems('not pulled', problem === '' ? [] : [problem, ...faults]),
  ]
}

/** Where the lines of the audit log lie. */
export function logPlace({ files, writers }: Answer<'status'>['audit']): string {
  return writers === undefined ? `in ${files} files` : `of ${writers} daemons in the database`
}

/** Who else is on the database, and where that serves another site or is another version than is asked here. */
function daemonsText(daemons: Answer<'status'>['daemons'], digest: string): string[] {
  if (daemons.length === 0) return []
  const told = daemons.map(
    (one) =>
      `${one.host} ${one.folder}: version ${one.version}, site ${one.digest}${one.commit === null ? '' : ` of commit ${one.commit.slice(0, 12)}`}${one.digest === digest ? '' : '   ANOTHER SITE'}`,
  )
  const agree = new Set(daemons.map((one) => `${one.digest} ${one.version}`)).size === 1
  return [
    `daemons       ${daemons.length} on this database${agree ? ', alike' : ''}`,
    ...(agree && daemons.every((one) => one.digest === digest) ? [] : problems('daemon', told)),
  ]
}

/** Only budgets that refused something: the others say nothing about a fault. */
function requestsText({
  in_flight: inFlight,
  streams,
  limits,
}: NonNullable<Answer<'status'>['requests']>): string {
  const refused = Object.entries(limits)
    .filter(([, count]) => count.refused > 0)
    .map(([budget, count]) => `${count.refused} of ${budget}`)
  const limited = refused.length === 0 ? 'none' : refused.join(', ')
  return `requests      ${inFlight} in progress, ${streams} streams; refused by rate limits: ${limited}`
}

/** What runs outside the daemon's process, and whether anybody waits for a place. */
function sandboxesText(sandboxes: NonNullable<Answer<'status'>['sandboxes']>): string {
  const parts = Object.entries(sandboxes).map(
    ([part, { running, waiting }]) =>
      `${part} ${running} running${waiting === 0 ? '' : `, ${waiting} waiting`}`,
  )
  return `sandboxes     ${parts.join('; ') || 'none'}`
}

function problems(kind: string, list: readonly string[]): string[] {
  return list.map((text) => `  ${kind}: ${text}`)
}
