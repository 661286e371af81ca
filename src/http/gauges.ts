/** The numbers that are read only when somebody asks. */
import type { Analysis } from '../analysis/analysis.ts'
import type { AuditLog } from '../audit/open-audit.ts'
import { version } from '../core/version.ts'
import type { LimitCounts } from '../oauth/rate-limits.ts'
import { Gauge, type Registry } from './prometheus.ts'
import type { SiteState } from '../site/kept-site.ts'
import type { StoreStats } from '../store/store.ts'

/** Where they come from. */
export interface MetricSources {
  readonly site: () => SiteState
  readonly store: () => StoreStats
  readonly audit: Pick<AuditLog, 'stats'>
  /** Streams that are open now. */
  readonly streams: () => number
  /** Requests that rate limits let pass and did not. */
  readonly limits: () => LimitCounts
  readonly analysis: Pick<Analysis, 'probes' | 'load'> | undefined
  /** Whether there is a tool of that name: callers may ask for any, and must not make series. */
  readonly isTool: (name: string) => boolean
}

/** Where each kind of credential is kept. */
const credentials = {
  access: 'oauth.token',
  refresh: 'oauth.family',
  api_key: 'users.api_key',
  session: 'users.session',
} as const

type AddGauge = (
  name: string,
  help: string,
  labelNames: string[],
  read: (gauge: Gauge) => void | Promise<void>,
) => void

/** Adds every gauge to the registry. */
export function addGauges(
  registry: Registry,
  prefix: string,
  sources: MetricSources,
  inFlight: () => number,
): void {
  const gauge: AddGauge = (name, help, labelNames, read) => {
    const made: Gauge = new Gauge({
      name: prefix + name,
      help,
      labelNames,
      registers: [registry],
      collect: () => {
        if (labelNames.length > 0) made.reset()
        return read(made)
      },
    })
  }
  gauge('info', 'The release', ['version'], (made) => made.set({ version }, 1))
  gauge('requests_in_flight', 'Requests being answered, open streams included', [], (made) =>
    made.set(inFlight()),
  )
  gauge('streams', 'Open event streams', [], (made) => made.set(sources.streams()))
  gauge(
    'rate_limited_requests',
    'Requests that a rate limit let pass or refused',
    ['budget', 'outcome'],
    (made) => {
      for (const [budget, { passed, refused }] of Object.entries(sources.limits())) {
        made.set({ budget, outcome: 'passed' }, passed)
        made.set({ budget, outcome: 'refused' }, refused)
      }
    },
  )
  gauge('site_faults', 'Faults of the last edit; above 0 the site in use is an older one', [], (made) =>
    made.set(sources.site().faults.length),
  )
  gauge('site_loaded_timestamp_seconds', 'When the site in use was read', [], (made) =>
    made.set(sources.site().loadedAt / 1000),
  )
  addStateGauges(gauge, sources)
  gauge('analysis_available', 'Whether a part of the analysis works on this machine', ['part'], (made) => {
    for (const { name, ok } of sources.analysis?.probes ?? []) made.set({ part: name }, ok ? 1 : 0)
  })
  gauge('analysis_jobs', 'Jobs that run in sandboxes or wait for one', ['part', 'state'], (made) => {
    for (const [part, load] of Object.entries(sources.analysis?.load() ?? {}))
      for (const [state, jobs] of Object.entries(load)) made.set({ part, state }, jobs)
  })
}

function addStateGauges(gauge: AddGauge, sources: MetricSources): void {
  gauge('store_up', 'Whether the state can be written', [], (made) =>
    made.set(sources.store().fault === undefined ? 1 : 0),
  )
  gauge('store_bytes', 'Size of the state on disk', [], (made) => made.set(sources.store().bytes))
  gauge('store_documents', 'Documents in the state', ['collection'], (made) => {
    for (const [collection, count] of Object.entries(sources.store().documents))
      made.set({ collection }, count)
  })
  gauge('audit_up', 'Whether the audit log can be written', [], async (made) =>
    made.set((await sources.audit.stats()).fault === undefined ? 1 : 0),
  )
  gauge('audit_bytes', 'Size of the audit log on disk', [], async (made) =>
    made.set((await sources.audit.stats()).bytes),
  )
  gauge('audit_waiting', 'Events accepted and not yet on disk', [], async (made) =>
    made.set((await sources.audit.stats()).waiting),
  )
  gauge('audit_forward_waiting', 'Events not yet forwarded', ['sink'], async (made) => {
    for (const { name, waiting } of (await sources.audit.stats()).forwards) made.set({ sink: name }, waiting)
  })
  gauge('audit_forward_dropped', 'Events never forwarded; they are in the log', ['sink'], async (made) => {
    for (const { name, dropped } of (await sources.audit.stats()).forwards) made.set({ sink: name }, dropped)
  })
  gauge('tokens', 'Credentials that are kept; one that has ended is until it is swept', ['kind'], (made) => {
    const { documents } = sources.store()
    for (const [kind, collection] of Object.entries(credentials))
      made.set({ kind }, documents[collection] ?? 0)
  })
}
