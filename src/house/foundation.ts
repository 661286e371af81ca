import { join } from 'node:path'
import type { Analysis } from '#sandbox/sandbox.ts'
import { openAudit, type AuditLog } from '#audit/operations.ts'
import { auditSettingsOf } from '#audit/settings.ts'
import { systemClock, type Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import { createLog, type Log, type LogLevel } from '#leaf/log.ts'
import { type Folders, type SecretPath, secretsIn } from '#leaf/secret-files.ts'
import type { Settings } from '../core/settings.ts'
import { Metrics } from '../http/metrics.ts'
import { version } from '../core/version.ts'
import type { Tracing } from '#telemetry/tracing.ts'
import { openState, readSettingsAlone, type OpenedState } from './open-state.ts'

export interface ServicesOptions extends Folders {
  /** The public URL to use instead of the setting `public_url`. */
  readonly publicUrl?: string
  readonly clock?: Clock
  readonly log?: Log
  readonly logLevel?: LogLevel
  /** True when requests will be answered: only then are computing, watching and following started. */
  readonly daemon?: boolean
  /** True to try what this machine can compute in other processes, more work than the rest of a start; a daemon does so. */
  readonly analysis?: boolean
  /** True to accept a database that lacks what had been kept, where no other has it: to answer for that. */
  readonly acceptsOlder?: boolean
}

/** Steps that close what was opened, in the order of opening. */
export type Undo = (() => unknown)[]

/** Runs every step, the last first, also after one that threw; throws what they threw. */
export async function undoAll(steps: Readonly<Undo>): Promise<void> {
  const faults: unknown[] = []
  for (const step of steps.toReversed())
    try {
      await step()
    } catch (error) {
      faults.push(error)
    }
  if (faults.length > 1) throw new AggregateError(faults, faults.map(messageOf).join('; '))
  if (faults.length > 0) throw faults[0]
}

/** The base of everything else; it knows the current settings, and nothing more of the site. */
export interface Foundation {
  readonly folders: Folders
  /** Finds secrets by the settings at the start. */
  readonly secretPath: SecretPath
  /** Returns the settings in use: those of the site, once it is read. */
  readonly settings: () => Settings
  /** Makes settings those in use. */
  readonly obey: (settings: Settings) => void
  readonly startedAt: number
  /** True when requests are answered; false for one command over the locked state. */
  readonly daemon: boolean
  readonly clock: Clock
  readonly log: Log
  readonly store: OpenedState
  readonly metrics: Metrics
  readonly audit: AuditLog
  /** The tracer; absent unless the site asks for traces; only a daemon has it. */
  readonly tracing: Tracing | undefined
  /** The machine's means to compute; only a daemon has them, since starting them would make every command slow. */
  readonly analysis: Analysis | undefined
}

/** Room for some ten thousand events of reading. */
const reserveBytes = 8 << 20

/**
 * Opens the state, the audit log, and a daemon's traces and sandboxes. AppError `conflict` when another process has
 * the state, `invalid` with `data.faults` for bad settings.
 */
export async function openFoundation(options: ServicesOptions, undo: Undo): Promise<Foundation> {
  const { site, state, daemon = false, analysis: computes = daemon, acceptsOlder = false } = options
  const machine = options.clock ?? systemClock
  const log = options.log ?? createLog(options.logLevel ?? 'info', process.stdout)
  const settings = await readSettingsAlone(site)
  const secretPath = secretsIn(settings, options)
  const store = await openState({
    settings: settings.store,
    secretPath,
    state,
    clock: machine,
    log,
    acceptsOlder,
  })
  undo.push(() => store.close())
  const { clock } = store
  const metrics = new Metrics()
  const audit = await openAudit({
    folder: join(state, 'audit'),
    store,
    clock,
    log,
    reserveBytes: daemon ? reserveBytes : 0,
    settings: auditSettingsOf(settings.audit, secretPath),
    counted: (event) => metrics.audited(event),
  })
  undo.push(() => audit.close())
  const tracing = daemon ? await openTraces(settings, secretPath, log) : undefined
  undo.push(() => tracing?.close())
  const analysis = computes ? await openMeans(settings, log) : undefined
  undo.push(() => analysis?.close())
  let inUse = settings
  const obey = (settings: Settings): void => {
    inUse = settings
    if (!options.logLevel) log.setLevel(settings.log.level)
    audit.configure(auditSettingsOf(settings.audit, secretPath))
  }
  const folders = { site, state }
  const own = { folders, secretPath, settings: () => inUse, obey, startedAt: clock.now(), daemon }
  return { ...own, clock, log, store, metrics, audit, tracing, analysis }
}

async function openTraces(
  { tracing, server }: Settings,
  secretPath: SecretPath,
  log: Log,
): Promise<Tracing | undefined> {
  const { openTracing } = await import('#telemetry/tracing.ts')
  return await openTracing({ ...tracing, service: { name: server.name, version } }, secretPath, log)
}

async function openMeans({ analysis: settings }: Settings, log: Log): Promise<Analysis> {
  const { openAnalysis, Cgroups } = await import('#sandbox/sandbox.ts')
  return await openAnalysis({ settings, log, cgroups: Cgroups.open() })
}
