/** Gauges: numbers that are read only when somebody asks. */
import type { Analysis } from '#sandbox/sandbox.ts'
import type { AuditLog, AuditStats } from '#audit/operations.ts'
import { version } from '../core/version.ts'
import type { LimitCounts } from '../oauth/rate-limits.ts'
import { metricText, type Sample } from '#telemetry/metric-text.ts'
import type { SiteState } from '#site/site.ts'
import type { StoreStats } from '#state/store.ts'

/** The sources of the gauges. */
export interface MetricSources {
  readonly site: () => SiteState
  readonly store: () => StoreStats
  readonly audit: Pick<AuditLog, 'stats'>
  /** The number of open streams. */
  readonly streams: () => number
  /** Requests that rate limits let pass, and those that they refused. */
  readonly limits: () => LimitCounts
  readonly analysis: Pick<Analysis, 'probes' | 'load'> | undefined
  /** True when there is a tool of that name: callers may ask for any name, and must not create series. */
  readonly isTool: (name: string) => boolean
}

/** The collection that stores each kind of credential. */
const credentials = {
  access: 'oauth.token',
  refresh: 'oauth.family',
  api_key: 'users.api_key',
  session: 'users.session',
} as const

type Gauge = (name: string, help: string, values: number | Iterable<Sample>) => string

/** Returns every gauge in Prometheus' text format. */
export async function gaugeTexts(
  prefix: string,
  sources: MetricSources,
  inFlight: number,
): Promise<string[]> {
  const site = sources.site()
  const store = sources.store()
  const gauge: Gauge = (name, help, values) => metricText('gauge', prefix + name, help, values)
  return [
    gauge('info', 'The release', [[1, { version }]]),
    gauge('requests_in_flight', 'Requests being answered, open streams included', inFlight),
    gauge('streams', 'Open event streams', sources.streams()),
    gauge(
      'rate_limited_requests',
      'Requests that a rate limit let pass or refused',
      nested(sources.limits(), 'budget', 'outcome'),
    ),
    gauge(
      'site_faults',
      'Faults of the last edit, while an older site is in use, and of published prompts that fail their tests',
      site.faults.length,
    ),
    gauge('site_loaded_timestamp_seconds', 'When the site in use was read', site.loadedAt / 1000),
    gauge('store_up', 'Whether the state can be written', Number(store.fault === undefined)),
    gauge('store_bytes', 'Size of the state on disk', store.bytes),
    gauge('store_documents', 'Documents in the state', byLabel('collection', store.documents)),
    gauge(
      'store_unproven_announcements',
      'Announcements in the shared database that no daemon of this version made',
      store.unproven ?? 0,
    ),
    ...auditTexts(gauge, await sources.audit.stats()),
    gauge(
      'tokens',
      'Credentials that are kept; one that has ended is until it is swept',
      Object.entries(credentials).map(([kind, name]): Sample => [store.documents[name] ?? 0, { kind }]),
    ),
    gauge(
      'analysis_available',
      'Whether a part of the analysis works on this machine',
      (sources.analysis?.probes ?? []).map(({ name, ok }): Sample => [Number(ok), { part: name }]),
    ),
    gauge(
      'analysis_jobs',
      'Jobs that run in sandboxes or wait for one',
      nested(sources.analysis?.load() ?? {}, 'part', 'state'),
    ),
  ]
}

function auditTexts(gauge: Gauge, audit: AuditStats): string[] {
  return [
    gauge('audit_up', 'Whether the audit log can be written', Number(audit.fault === undefined)),
    gauge('audit_bytes', 'Size of the audit log on disk', audit.bytes),
    gauge('audit_waiting', 'Events accepted and not yet on disk', audit.waiting),
    gauge('audit_waiting_seconds', 'For how long the first of these has waited', audit.waiting_seconds),
    gauge(
      'audit_forward_waiting',
      'Events not yet forwarded',
      audit.forwards.map(({ name, waiting }): Sample => [waiting, { sink: name }]),
    ),
    gauge(
      'audit_forward_dropped',
      'Events never forwarded; they are in the log',
      audit.forwards.map(({ name, dropped }): Sample => [dropped, { sink: name }]),
    ),
  ]
}

function byLabel(label: string, values: object): Sample[] {
  return Object.entries(values).map(([name, value]): Sample => [value as number, { [label]: name }])
}

function nested(values: object, outer: string, inner: string): Sample[] {
  return Object.entries(values).flatMap(([name, each]: [string, object]) =>
    byLabel(inner, each).map(([value, labels]): Sample => [value, { [outer]: name, ...labels }]),
  )
}
