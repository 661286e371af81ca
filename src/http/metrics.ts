/** Metrics for Prometheus. Audited events are counted where they are audited, so the two can never disagree. */
import type { AuditEvent } from '#audit/audit.ts'
import type { ReloadResult } from '#site/site.ts'
import { gaugeTexts, type MetricSources } from './gauges.ts'
import { metricText, Tally, Timings } from '#telemetry/metric-text.ts'
import { ProcessMetrics } from '#telemetry/process-metrics.ts'

const prefix = 'assistant_core_'
const requestBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]
const toolBuckets = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60]

/** All metrics of one daemon. */
export class Metrics {
  readonly #requests = new Tally()
  readonly #requestSeconds = new Timings(requestBuckets, 'endpoint')
  #shed = 0
  #closed = 0
  readonly #events = new Tally()
  readonly #calls = new Tally()
  readonly #callSeconds = new Timings(toolBuckets, 'tool')
  readonly #reloads = new Tally()
  readonly #reloadSeconds = new Timings(toolBuckets)
  /** Those of the process, once it is known to be a daemon's. */
  process: ProcessMetrics | undefined
  #sources: MetricSources | undefined
  /** The number of requests being answered now, open streams included. */
  inFlight = 0
  /** The media type of `text`. */
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8'

  /** Sets the sources of the other numbers; called once. */
  observe(sources: MetricSources): void {
    this.#sources = sources
    this.process = new ProcessMetrics()
  }

  /** Counts a request that was answered. */
  answered(endpoint: string, method: string, status: number, seconds: number): void {
    this.#count(endpoint, method, status)
    this.#requestSeconds.took(seconds, endpoint)
  }

  /** Counts a request that was refused to keep the others going; it will be answered like any other. */
  refused(): void {
    this.#shed++
  }

  /** Counts a request that was refused before it began. */
  shed(endpoint: string, method: string): void {
    this.#shed++
    this.#count(endpoint, method, 503)
  }

  /** Counts a connection that was closed to make room, or was not let in. */
  connectionClosed(): void {
    this.#closed++
  }

  /** Counts a reading of a changed site. */
  reloaded({ outcome, milliseconds }: ReloadResult): void {
    this.#reloads.add(outcome, () => ({ outcome }))
    this.#reloadSeconds.took(milliseconds / 1000)
  }

  /** Returns all metrics in Prometheus' text format. */
  async text(): Promise<string> {
    const counter = (name: string, help: string, values: number | Tally): string =>
      metricText('counter', prefix + name, help, values)
    const timings = (name: string, help: string, values: Timings): string =>
      metricText('histogram', prefix + name, help, values)
    const own = [
      counter('http_requests_total', 'HTTP requests answered', this.#requests),
      timings(
        'http_request_seconds',
        'Time from the beginning of a request to the end of its answer',
        this.#requestSeconds,
      ),
      counter('requests_shed_total', 'Requests refused because too many were in progress', this.#shed),
      counter('connections_closed_total', 'Connections closed because there were too many', this.#closed),
      counter('audit_events_total', 'Audit events by type and how they ended', this.#events),
      counter('tool_calls_total', 'Tool calls by tool and how they ended', this.#calls),
      timings('tool_call_seconds', 'Time a tool took', this.#callSeconds),
      counter('site_reloads_total', 'Readings of a changed site', this.#reloads),
      timings('site_reload_seconds', 'Time a reading of the site took', this.#reloadSeconds),
    ]
    const gauges = this.#sources ? await gaugeTexts(prefix, this.#sources, this.inFlight) : []
    return [...own, ...gauges, ...((await this.process?.texts()) ?? [])].join('\n')
  }

  #count(endpoint: string, method: string, status: number): void {
    const labels = (): Record<string, string> => ({ endpoint, method, status: String(status) })
    this.#requests.add(`${endpoint} ${method} ${status}`, labels)
  }

  /** The types of the events that were audited since the start. */
  get eventTypes(): ReadonlySet<string> {
    return new Set([...this.#events].map(([, labels]) => labels?.['type'] ?? ''))
  }

  /** Counts an event of the audit log. */
  audited({ type, status, target, execution_time: seconds }: AuditEvent): void {
    this.#events.add(`${type} ${status}`, () => ({ type, status }))
    if (type !== 'tool.call') return
    const tool = target !== undefined && this.#sources?.isTool(target) ? target : 'unknown'
    this.#calls.add(`${tool} ${status}`, () => ({ tool, status }))
    if (seconds !== undefined) this.#callSeconds.took(seconds, tool)
  }
}
