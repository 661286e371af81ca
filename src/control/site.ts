import { AppError } from '#leaf/errors.ts'
import { objectWith } from '#leaf/object-schema.ts'
import { word } from '#leaf/setting-types.ts'
import { vitalServices } from './daemon.ts'
import { takes } from '#commands/description.ts'
import { defineOperation } from './operation.ts'
import type { statusOf } from './status.ts'
import { megabytes } from '#commands/terminal.ts'
import { pictured } from '#leaf/pictured.ts'

/** The operations on the daemon's status and on its site. */
export const siteOperations = [
  defineOperation({
    name: 'status',
    does: 'show what runs, what is loaded, and what is wrong',
    examples: ['status', 'status --json'],
    input: takes({}),
    needs: [
      ...vitalServices,
      ...(['daemon', 'clock', 'startedAt', 'publicUrl', 'mcpUrl', 'folders', 'daemons', 'metrics'] as const),
      ...(['subscriptions', 'limits'] as const),
      // A store counts what is opened.
      ...(['accounts', 'apiKeys', 'tasks'] as const),
    ],
    run: async (_params, taken) => (await import('./status.ts')).statusOf(taken),
    text: statusText,
  }),
  defineOperation({
    name: 'site.reload',
    as: 'reload',
    does: 'make the daemon read its site again, now',
    writes: true,
    input: takes({}),
    // Throws AppError `invalid` with the faults when the site is rejected.
    needs: ['reload', 'pulling', 'folders'],
    run: async (_params, { reload, pulling, folders }) => {
      const { siteFaults } = await import('#site/site.ts')
      const { faultText } = await import('#site/site-files.ts')
      const { outcome, digest, milliseconds, ...read } = await reload('command line')
      if (outcome === 'rejected')
        throw siteFaults(folders.site, read.faults, '; the last good one stays in use')
      const { problem = '', faults = [] } = pulling.state ?? {}
      if (problem !== '')
        throw new AppError(
          faults.length > 0 ? 'invalid' : 'conflict',
          [`the site is not pulled, what is checked out was read: ${problem}`, ...faults].join('\n  '),
        )
      return { outcome, digest: digest.slice(0, 12), milliseconds, warnings: read.warnings.map(faultText) }
    },
  }),
  defineOperation({
    // Finds records that do not fit a site as it is now in a folder (given by its absolute path); changes nothing.
    name: 'site.state_problems',
    input: objectWith({ site: word }),
    needs: ['store', 'audit', 'clock'],
    run: async ({ site }, { store, audit, clock }) => {
      const { stateProblems } = await import('../documents/state-problems.ts')
      const { createDocumentMemory } = await import('../documents/memory.ts')
      const { noSql: runSql } = await import('../documents/reports/run-sql.ts')
      const { readWholeSite } = await import('../house/snapshot.ts')
      const { siteFaults } = await import('#site/site.ts')
      const { reading, faults } = await readWholeSite(site)
      // A site that cannot be read cannot be compared with anything.
      if (faults.length > 0) throw siteFaults(site, faults)
      // A memory of its own: the shared one belongs to the site in use.
      const memory = createDocumentMemory()
      const { platform, settings } = reading
      return stateProblems({ platform, store, audit, clock, memory, runSql, quota: settings.documents })
    },
  }),
] as const

type Status = Awaited<ReturnType<typeof statusOf>>

/** Tells of the connections to a shared database, and what all daemons may hold. */
function connectionsText(counts: NonNullable<Status['state']['connections']>): string {
  const { open, most, given, daemons } = counts
  return `database      ${open} of ${most} connections; ${daemons} daemons may hold ${daemons * most} of ${given}`
}

/** Prints a line for each part, and its faults below; a healthy service fills one screen. */
function statusText({ version, daemon, site, state, audit, ...rest }: Status): string[] {
  // One number here; `--json` has them by collection.
  const records = Object.values(state.documents).reduce((sum, count) => sum + count, 0)
  const running =
    daemon &&
    `running as process ${daemon.pid} for ${daemon.uptime_seconds} s, ${megabytes(daemon.memory_bytes)}`
  const building = state.building ? `, ${state.building} indexes are being built` : ''
  const full = rest.fullest.filter(({ percent }) => percent >= 80)
  const lines = [
    `assistant-core ${version}, ${running ?? 'not running'}`,
    `MCP endpoint  ${rest.mcp_endpoint}${rest.enabled ? '' : '   SWITCHED OFF (server.enabled)'}`,
    `site          ${site.folder}   ${site.digest} of ${site.loaded}: ${site.users} users, ${site.doctypes} doctypes, ${site.prompts} prompts, ${site.skills} skills`,
    ...problems('site fault', site.faults),
    ...problems('site warning', site.warnings),
    ...problems('own tool', rest.own_tools, ({ fault, since }) => `${fault} (since ${since})`),
    ...pullText(site.pulled),
    `state         ${state.folder}   ${state.kind}, ${records} records, ${megabytes(state.bytes)}${building}`,
    ...(state.connections ? [connectionsText(state.connections)] : []),
    ...daemonsText(rest.daemons, site.digest),
    ...problems(
      'nearly full',
      full,
      ({ user, doctype, documents, bytes, percent }) =>
        `${user} keeps ${documents} ${doctype} documents, ${megabytes(bytes)}: ${percent} % of what is allowed`,
    ),
    ...problems('state fault', [state.fault ?? []].flat()),
    `audit         ${audit.seq} events ${logPlace(audit)}, ${megabytes(audit.bytes)}`,
    ...problems('audit warning', audit.warnings),
    ...problems('audit fault', [audit.fault ?? []].flat()),
    ...problems('audit loss', audit.losses, ({ time, what }) => `${time}: ${what}`),
    ...rest.checks
      .filter((check) => check.status !== 'ok')
      .map((check) => `${check.status.padEnd(14)}${check.name}: ${check.detail}`),
    ...(rest.requests ? [requestsText(rest.requests)] : []),
    ...(rest.sandboxes ? [sandboxesText(rest.sandboxes)] : []),
    ...rest.tools.map(
      ({ tools, roles, tokens_by_skill_mode: { supplementary, replace } }) =>
        `tools         ${tools} tools, ${supplementary} tokens (skill_mode replace: ${replace}) for ${roles.join(', ') || 'no role'}`,
    ),
  ]
  return lines.map(pictured)
}

function problems<One>(kind: string, list: readonly One[], text: (one: One) => string = String): string[] {
  return list.map((one) => `  ${kind}: ${text(one)}`)
}

function pullText(pulled: Status['site']['pulled']): string[] {
  if (pulled === null) return []
  const { url, ref, commit, tried, problem, faults } = pulled
  return [
    `pulled        ${ref} of ${url}: commit ${commit?.slice(0, 12) ?? 'none'}, tried ${tried}`,
    ...problems('not pulled', problem === '' ? [] : [problem, ...faults]),
  ]
}

/** Tells where the lines of the audit log are. */
export function logPlace({ files, writers }: Status['audit']): string {
  return writers === undefined ? `in ${files} files` : `of ${writers} daemons in the database`
}

/** Lists the other daemons on the database; names their site or version where it differs from the one here. */
function daemonsText(daemons: Status['daemons'], here: string): string[] {
  if (daemons.length === 0) return []
  const agree = new Set(daemons.map((one) => `${one.digest} ${one.version}`)).size === 1
  const told = agree && daemons[0]!.digest === here ? [] : daemons
  return [
    `daemons       ${daemons.length} on this database${agree ? ', alike' : ''}`,
    ...problems('daemon', told, ({ host, folder, version, digest, commit }) => {
      const checkout = commit === null ? '' : ` of commit ${commit.slice(0, 12)}`
      const another = digest === here ? '' : '   ANOTHER SITE'
      return `${host} ${folder}: version ${version}, site ${digest}${checkout}${another}`
    }),
  ]
}

/** Lists only budgets that refused something: the others say nothing about a fault. */
function requestsText({ in_flight: inFlight, streams, limits }: NonNullable<Status['requests']>): string {
  const refused = Object.entries(limits).flatMap(([budget, count]) =>
    count.refused > 0 ? [`${count.refused} of ${budget}`] : [],
  )
  const limited = refused.join(', ') || 'none'
  return `requests      ${inFlight} in progress, ${streams} streams; refused by rate limits: ${limited}`
}

/** Lists the work outside the daemon's process, and the callers that wait for a place. */
function sandboxesText(sandboxes: NonNullable<Status['sandboxes']>): string {
  const parts = Object.entries(sandboxes).map(
    ([part, { running, waiting }]) =>
      `${part} ${running} running${waiting === 0 ? '' : `, ${waiting} waiting`}`,
  )
  return `sandboxes     ${parts.join('; ') || 'none'}`
}
