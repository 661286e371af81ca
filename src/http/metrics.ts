/** What Prometheus reads. What is audited is counted where it is audited, so the two can never disagree. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { AuditEvent } from '../audit/event.ts'
import type { AuditLog } from '../audit/open-audit.ts'
import type { Analysis } from '../analysis/analysis.ts'
import { version } from '../core/version.ts'
import type { LimitCounts } from '../oauth/rate-limits.ts'
import type { ReloadResult, SiteState } from '../site/site.ts'
import type { StoreStats } from '../store/store.ts'

/** Where the numbers come from that are read only when somebody asks. */
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

const prefix = 'assistant_core_'
const requestBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]
const toolBuckets = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

/** Where each kind of credential is kept. */
const credentials = {
  access: 'oauth.token',
  refresh: 'oauth.family',
  api_key: 'users.api_key',
  session: 'users.session',
} as const

/** Every metric of one daemon. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests: Counter
  readonly #requestSeconds: Histogram
  readonly #shed: Counter
  readonly #events: Counter
  readonly #calls: Counter
  readonly #callSeconds: Histogram
  readonly #reloads: Counter
  readonly #reloadSeconds: Histogram
  #isTool: (name: string) => boolean = () => false
  /** Requests that are being answered now, open streams included. */
  inFlight = 0

  constructor() {
    const registers = [this.#registry]
    const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
      new Counter({ name: prefix + name, help, labelNames, registers })
    const histogram = (name: string, help: string, labelNames: string[], buckets: number[]): Histogram =>
      new Histogram({ name: prefix + name, help, labelNames, buckets, registers })
    this.#requests = counter('http_requests_total', 'HTTP requests answered', [
      'endpoint',
      'method',
      'status',
    ])
    this.#requestSeconds = histogram(
      'http_request_seconds',
      'Time from the head of a request to the end of its answer',
      ['endpoint'],
      requestBuckets,
    )
    this.#shed = counter('requests_shed_total', 'Requests refused because too many were in progress')
    this.#events = counter('audit_events_total', 'Audit events by type and how they ended', [
      'type',
      'status',
    ])
    this.#calls = counter('tool_calls_total', 'Tool calls by tool and how they ended', ['tool', 'status'])
    this.#callSeconds = histogram('tool_call_seconds', 'Time a tool took', ['tool'], toolBuckets)
    this.#reloads = counter('site_reloads_total', 'Readings of a changed site', ['outcome'])
    this.#reloadSeconds = histogram('site_reload_seconds', 'Time a reading of the site took', [], toolBuckets)
  }

  /** Says where the other numbers come from; once. */
  observe(sources: MetricSources): void {
    this.#isTool = sources.isTool
    const registers = [this.#registry]
    const gauge = (
      name: string,
      help: string,
      labelNames: string[],
      read: (gauge: Gauge) => void | Promise<void>,
    ): void => {
      const made: Gauge = new Gauge({
        name: prefix + name,
        help,
        labelNames,
        registers,
        collect: () => {
          if (labelNames.length > 0) made.reset()
          return read(made)
        },
      })
    }
    collectDefaultMetrics({ register: this.#registry })
    gauge('info', 'The release', ['version'], (made) => made.set({ version }, 1))
    gauge('requests_in_flight', 'Requests being answered, open streams included', [], (made) =>
      made.set(this.inFlight),
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
      for (const { name, waiting } of (await sources.audit.stats()).forwards)
        made.set({ sink: name }, waiting)
    })
    gauge('audit_forward_dropped', 'Events never forwarded; they are in the log', ['sink'], async (made) => {
      for (const { name, dropped } of (await sources.audit.stats()).forwards)
        made.set({ sink: name }, dropped)
    })
    gauge('analysis_available', 'Whether a part of the analysis works on this machine', ['part'], (made) => {
      for (const { name, ok } of sources.analysis?.probes ?? []) made.set({ part: name }, ok ? 1 : 0)
    })
    gauge('analysis_jobs', 'Jobs that run in sandboxes or wait for one', ['part', 'state'], (made) => {
      for (const [part, load] of Object.entries(sources.analysis?.load() ?? {}))
        for (const [state, jobs] of Object.entries(load)) made.set({ part, state }, jobs)
    })
    gauge(
      'tokens',
      'Credentials that are kept; one that has ended is until it is swept',
      ['kind'],
      (made) => {
        const { documents } = sources.store()
        for (const [kind, collection] of Object.entries(credentials))
          made.set({ kind }, documents[collection] ?? 0)
      },
    )
  }

  /** A request was answered. */
  answered(endpoint: string, method: string, status: number, seconds: number): void {
    this.#requests.inc({ endpoint, method, status })
    this.#requestSeconds.observe({ endpoint }, seconds)
  }

  /** A request was refused to keep the others going. */
  refused(): void {
    this.#shed.inc()
  }

  /** A changed site was read. */
  reloaded({ outcome, milliseconds }: ReloadResult): void {
    this.#reloads.inc({ outcome })
    this.#reloadSeconds.observe(milliseconds / 1000)
  }

  /** An audit log that counts what it is told. */
  counting(audit: AuditLog): AuditLog {
    return {
      folder: audit.folder,
      record: (event) => {
        this.#count(event)
        return audit.record(event)
      },
      recordIn: async (transaction, event) => {
        await audit.recordIn(transaction, event)
        transaction.onCommit(() => this.#count(event))
      },
      requireWritable: () => audit.requireWritable(),
      stats: () => audit.stats(),
      verify: (anchors) => audit.verify(anchors),
      changeKey: () => audit.changeKey(),
      acceptLosses: (by, reason) => audit.acceptLosses(by, reason),
      settled: () => audit.settled(),
      configure: (settings) => audit.configure(settings),
      tidy: () => audit.tidy(),
      close: () => audit.close(),
    }
  }

  /** Everything in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  #count({ type, status, target, execution_time: seconds }: AuditEvent): void {
    this.#events.inc({ type, status })
    if (type !== 'tool.call') return
    const tool = target !== undefined && this.#isTool(target) ? target : 'unknown'
    this.#calls.inc({ tool, status })
    if (seconds !== undefined) this.#callSeconds.observe({ tool }, seconds)
  }
}
