/** What Prometheus reads. What is audited is counted where it is audited, so the two can never disagree. */
import type { AuditEvent } from '../audit/event.ts'
import type { AuditLog } from '../audit/open-audit.ts'
import type { ReloadResult } from '../site/kept-site.ts'
import { addGauges, type MetricSources } from './gauges.ts'
import { addProcessMetrics, Counter, Histogram, Registry } from './prometheus.ts'
import { Tally, Timings } from './tally.ts'

const prefix = 'assistant_core_'
const requestBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]
const toolBuckets = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

/** Every metric of one daemon. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests: Tally
  readonly #requestSeconds: Timings
  readonly #shed: Counter
  readonly #closed: Counter
  readonly #events: Tally
  readonly #calls: Tally
  readonly #callSeconds: Timings
  readonly #reloads: Counter
  readonly #reloadSeconds: Histogram
  #hasProcess = false
  #isTool: (name: string) => boolean = () => false
  /** Requests that are being answered now, open streams included. */
  inFlight = 0

  constructor() {
    const registers = [this.#registry]
    const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
      new Counter({ name: prefix + name, help, labelNames, registers })
    const tally = (name: string, help: string, labelNames: string[]): Tally =>
      new Tally(this.#registry, prefix + name, help, labelNames)
    const timings = (name: string, help: string, label: string, bounds: readonly number[]): Timings =>
      new Timings(this.#registry, prefix + name, help, label, bounds)
    this.#requests = tally('http_requests_total', 'HTTP requests answered', ['endpoint', 'method', 'status'])
    this.#requestSeconds = timings(
      'http_request_seconds',
      'Time from the beginning of a request to the end of its answer',
      'endpoint',
      requestBuckets,
    )
    this.#shed = counter('requests_shed_total', 'Requests refused because too many were in progress')
    this.#closed = counter('connections_closed_total', 'Connections closed because there were too many')
    this.#events = tally('audit_events_total', 'Audit events by type and how they ended', ['type', 'status'])
    this.#calls = tally('tool_calls_total', 'Tool calls by tool and how they ended', ['tool', 'status'])
    this.#callSeconds = timings('tool_call_seconds', 'Time a tool took', 'tool', toolBuckets)
    this.#reloads = counter('site_reloads_total', 'Readings of a changed site', ['outcome'])
    this.#reloadSeconds = new Histogram({
      name: `${prefix}site_reload_seconds`,
      help: 'Time a reading of the site took',
      buckets: toolBuckets,
      registers,
    })
  }

  /** Says where the other numbers come from; once. */
  observe(sources: MetricSources): void {
    this.#isTool = sources.isTool
    addGauges(this.#registry, prefix, sources, () => this.inFlight)
    // The first answers do not wait for what the first scrape asks for.
    setTimeout(() => this.#ofProcess(), 1_000).unref()
  }

  /** A request was answered. */
  answered(endpoint: string, method: string, status: number, seconds: number): void {
    this.#count(endpoint, method, status)
    this.#requestSeconds.took(endpoint, seconds)
  }

  /** A request was refused to keep the others going; it will be answered like any other. */
  refused(): void {
    this.#shed.inc()
  }

  /** A request was refused before it began. */
  shed(endpoint: string, method: string): void {
    this.#shed.inc()
    this.#count(endpoint, method, 503)
  }

  /** A connection was closed to make room, or not let in. */
  connectionClosed(): void {
    this.#closed.inc()
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
      place: audit.place,
      record: (event) => {
        this.#countEvent(event)
        return audit.record(event)
      },
      recordIn: async (transaction, event) => {
        await audit.recordIn(transaction, event)
        transaction.onCommit(() => this.#countEvent(event))
      },
      requireWritable: (reading) => audit.requireWritable(reading),
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
    this.#ofProcess()
    return this.#registry.metrics()
  }

  /** The media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType
  }

  #ofProcess(): void {
    if (this.#hasProcess) return
    this.#hasProcess = true
    addProcessMetrics(this.#registry)
  }

  #count(endpoint: string, method: string, status: number): void {
    const labels = (): Record<string, string> => ({ endpoint, method, status: String(status) })
    this.#requests.add(`${endpoint} ${method} ${status}`, labels)
  }

  #countEvent({ type, status, target, execution_time: seconds }: AuditEvent): void {
    this.#events.add(`${type} ${status}`, () => ({ type, status }))
    if (type !== 'tool.call') return
    const tool = target !== undefined && this.#isTool(target) ? target : 'unknown'
    this.#calls.add(`${tool} ${status}`, () => ({ tool, status }))
    if (seconds !== undefined) this.#callSeconds.took(tool, seconds)
  }
}
