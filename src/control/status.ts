import process from 'node:process'
import type { PullState } from '../build/pulling.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { principalFor, roleKeyOf } from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import { version } from '../core/version.ts'
import { stateProblems as problemsOf } from '../documents/state-problems.ts'
import { createDocumentMemory } from '../documents/memory.ts'
import { noSql } from '../documents/run-sql.ts'
import { readiness, type Vitals } from '../http/health-endpoint.ts'
import { describer } from '../mcp/tools.ts'
import { faultText } from '../site/site-files.ts'
import { siteFaults } from '../site/site.ts'
import { readWholeSite, type Snapshot } from '../build/snapshot.ts'
import { defineOperation, type Needs } from './operation.ts'
import { objectWith } from '../core/object-schema.ts'

/** What the status tells of, beside what readiness depends on. */
type Shown =
  | 'daemon'
  | 'clock'
  | 'startedAt'
  | 'publicUrl'
  | 'mcpUrl'
  | 'folders'
  | 'daemons'
  | 'metrics'
  | 'subscriptions'
  | 'limits'

/** What runs, what is loaded, what is wrong. */
export const status = defineOperation({
  name: 'status',
  input: objectWith({}),
  run: async (_params, taken: Needs<Shown | keyof Vitals>) => {
    const { site, store, audit, clock, daemon } = taken
    const { settings, people, platform, library } = site.current()
    const state = site.state()
    return {
      version,
      daemon: daemon
        ? {
            pid: process.pid,
            started: isoTime(taken.startedAt),
            uptime_seconds: Math.floor((clock.now() - taken.startedAt) / 1000),
            memory_bytes: process.memoryUsage().rss,
          }
        : null,
      public_url: taken.publicUrl(),
      mcp_endpoint: taken.mcpUrl(),
      enabled: settings.server.enabled,
      site: {
        folder: taken.folders.site,
        // Enough to compare two by eye.
        digest: state.digest.slice(0, 12),
        loaded: isoTime(state.loadedAt),
        faults: state.faults.map(faultText),
        warnings: state.warnings.map(faultText),
        pulled: pullText(taken.pulling.state),
        users: people.users.size,
        roles: people.roles.size,
        doctypes: platform.doctypes.size,
        prompts: library.site.templates.size,
        skills: library.site.reading.skills.size,
      },
      state: { folder: taken.folders.state, ...store.stats() },
      daemons: await taken.daemons.list(),
      audit: await audit.stats(),
      checks: await readiness(taken),
      // Counted by a running daemon only; the command line itself answers no requests.
      requests: daemon
        ? {
            in_flight: taken.metrics.inFlight,
            streams: taken.subscriptions.size,
            limits: taken.limits.counts(),
          }
        : null,
      sandboxes: taken.analysis?.load() ?? null,
      tools: toolTokens(site.current()),
    }
  },
})

/** Where the site comes from, and why what is served is not what stands there; null when it is not pulled. */
function pullText(pulled: PullState | undefined) {
  if (pulled === undefined) return null
  const { url, ref, at, commit, seen, problem, faults } = pulled
  return { url, ref, tried: isoTime(at), commit: commit ?? null, seen: seen ?? null, problem, faults }
}

/** How large the tool list is for the users of each role set, in tokens of about four characters. */
function toolTokens({ people, catalogue, library, settings }: Snapshot) {
  // Users with the same roles are offered the same tools: one of each set is asked for.
  const sets = new Map([...people.users.values()].map((user) => [roleKeyOf(user.roles), user]))
  return [...sets.values()].map((user) => {
    const principal = principalFor(user, 'status')
    const served = { catalogue, library: library.for(principal) }
    const offered = catalogue.offered(principal)
    const tokens = (mode: Settings['mcp']['skill_mode']): number => {
      const describe = describer(served, principal, mode)
      const listed = offered.map((one) => ({
        name: one.tool.name,
        title: one.tool.title,
        description: describe(one),
        inputSchema: one.tool.input,
        annotations: one.annotations,
      }))
      return Math.ceil(JSON.stringify(listed).length / 4)
    }
    return {
      roles: [...user.roles].sort(),
      tools: offered.length,
      tokens: tokens(settings.mcp.skill_mode),
      tokens_by_skill_mode: { supplementary: tokens('supplementary'), replace: tokens('replace') },
    }
  })
}

/** Reads the site again; AppError `invalid` with the faults when it is rejected. */
export const reload = defineOperation({
  name: 'site.reload',
  writes: true,
  input: objectWith({}),
  run: async (_params, { reload, pulling, folders }: Needs<'reload' | 'pulling' | 'folders'>) => {
    const result = await reload('command line')
    if (result.outcome === 'rejected')
      throw siteFaults(folders.site, result.faults, '; the last good one stays in use')
    const { problem = '', faults = [] } = pulling.state ?? {}
    if (problem !== '')
      throw new AppError(
        faults.length > 0 ? 'invalid' : 'conflict',
        [`the site is not pulled, what is checked out was read: ${problem}`, ...faults].join('\n  '),
      )
    return {
      outcome: result.outcome,
      digest: result.digest.slice(0, 12),
      milliseconds: result.milliseconds,
      warnings: result.warnings.map(faultText),
    }
  },
})

/** What in the state a site, as it is written in a folder now, does not fit; nothing is taken over. */
export const listStateProblems = defineOperation({
  name: 'site.state_problems',
  input: objectWith({ site: { type: 'string', minLength: 1, description: 'The whole path of the folder.' } }),
  run: async ({ site }, { store, audit, clock }: Needs<'store' | 'audit' | 'clock'>) => {
    const { reading, faults } = await readWholeSite(site)
    // A site that does not read cannot be compared with anything.
    if (faults.length > 0) throw siteFaults(site, faults)
    const { platform } = reading
    // Of its own: what is kept in memory belongs to the site in use.
    const memory = createDocumentMemory()
    return problemsOf({ platform, store, audit, clock, memory, runSql: noSql })
  },
})
