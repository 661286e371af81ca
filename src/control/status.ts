import process from 'node:process'
import type { PullState } from '../house/pulling.ts'
import { isoTime } from '#leaf/clock.ts'
import { version } from '../core/version.ts'
import { fullest } from '../documents/writing/quota.ts'
import { readiness, type Vitals } from '../http/health-endpoint.ts'
import { toolTokens } from '../mcp/tool-tokens.ts'
import { faultText } from '#site/site-files.ts'
import type { Needs } from './operation.ts'

/** The services that the status and the readiness depend on. */
export type StatusNeeds =
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
  | keyof Vitals

/** Returns the status: the process, the loaded site, the faults. */
export async function statusOf(taken: Needs<StatusNeeds>) {
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
      // Long enough to compare two by eye.
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
    // The users nearest to the quota that `documents` in the settings sets per doctype; the checks report read errors.
    fullest: await fullest(store, settings.documents, 5).catch(() => []),
    daemons: await taken.daemons.list(),
    audit: await audit.stats(),
    checks: await readiness(taken),
    own_tools: taken.ownTools.troubles.map(({ fault, tools, since }) => ({
      fault: faultText(fault),
      tools,
      since: isoTime(since),
    })),
    // Only a running daemon counts them; the command line itself answers no requests.
    requests: daemon
      ? {
          in_flight: taken.metrics.inFlight,
          streams: taken.subscriptions.size,
          limits: taken.limits.counts(),
        }
      : null,
    sandboxes: taken.analysis?.load() ?? null,
    tools: toolTokens(site.current(), people.users.values()),
  }
}

/** Tells the origin of the site, and why the served one differs from it; null when it is not pulled. */
function pullText(pulled: PullState | undefined) {
  if (pulled === undefined) return null
  const { url, ref, at, commit, seen, problem, faults } = pulled
  return { url, ref, tried: isoTime(at), commit: commit ?? null, seen: seen ?? null, problem, faults }
}
