import { join } from 'node:path'
import { openAnalysis, type Analysis } from '../analysis/analysis.ts'
import { Cgroups } from '../analysis/sandbox/cgroups.ts'
import { openAudit, type AuditLog } from '../audit/open-audit.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { createLog, type Log, type LogLevel } from '../core/log.ts'
import { Metrics } from '../http/metrics.ts'
import { openTracing, type Tracing } from '../http/tracing.ts'
import { openState, readSettingsAlone, type OpenedState } from './open-state.ts'

export interface ServicesOptions {
  readonly site: string
  readonly state: string
  /** Instead of the setting `public_url`. */
  readonly publicUrl?: string
  readonly clock?: Clock
  readonly log?: Log
  readonly logLevel?: LogLevel
  /** Whether requests will be answered: only then is started what computes, watches and follows. */
  readonly daemon?: boolean
  /** Whether it is tried what this machine can compute in other processes, more work than all else of a start; a daemon does so. */
  readonly analysis?: boolean
}

/** What closes that which was opened, in the order of opening. */
export type Undo = (() => unknown)[]

/** What everything else stands on; it knows the settings of the moment, and nothing more of the site. */
export interface Foundation {
  readonly folders: { readonly site: string; readonly state: string }
  readonly startedAt: number
  readonly clock: Clock
  readonly log: Log
  readonly store: OpenedState
  readonly metrics: Metrics
  readonly audit: AuditLog
  /** Absent unless the site asks for traces; only a daemon has it. */
  readonly tracing: Tracing | undefined
  /** What this machine can compute; only a daemon has it, since starting it would make every command slow. */
  readonly analysis: Analysis | undefined
}

/** Some ten thousand events of reading. */
const reserveBytes = 8 << 20

/**
 * Opens the state, the audit log, and a daemon's traces and sandboxes. AppError `conflict` when another process has
 * the state, `invalid` with `data.faults` for bad settings.
 */
export async function openFoundation(options: ServicesOptions, undo: Undo): Promise<Foundation> {
  const { site, state, daemon = false, analysis: computes = daemon } = options
  const machine = options.clock ?? systemClock
  const log = options.log ?? createLog(options.logLevel ?? 'info', process.stdout)
  const settings = await readSettingsAlone(site)
  const store = await openState({ settings: settings.store, state, clock: machine, log })
  undo.push(() => store.close())
  const { clock } = store
  const metrics = new Metrics()
  const audit = metrics.counting(
    await openAudit({
      folder: join(state, 'audit'),
      store,
      clock,
      log,
      reserveBytes: daemon ? reserveBytes : 0,
    }),
  )
  undo.push(() => audit.close())
  const tracing = daemon ? await openTracing(settings, log) : undefined
  undo.push(() => tracing?.close())
  const analysis = computes
    ? await openAnalysis({ settings: settings.analysis, log, cgroups: Cgroups.open() })
    : undefined
  undo.push(() => analysis?.close())
  const folders = { site, state }
  return { folders, startedAt: clock.now(), clock, log, store, metrics, audit, tracing, analysis }
}
