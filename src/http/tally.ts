import type { HistogramConfiguration } from 'prom-client'
import { Counter, Histogram, type Registry } from './prometheus.ts'

/** A counter whose labels are sorted and joined by Prometheus' library only when somebody asks: that costs 3 µs each time. */
export class Tally {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; count: number }>()

  /** Registers the counter under its name, with what it counts. */
  constructor(registry: Registry, name: string, help: string, labelNames: string[]) {
    const counts = this.#counts
    const counter = new Counter({
      name,
      help,
      labelNames,
      registers: [],
      collect() {
        this.reset()
        for (const { labels, count } of counts.values()) this.inc(labels, count)
      },
    })
    registry.registerMetric(counter)
  }

  /** Counts one; `key` says the values of all labels. */
  add(key: string, labels: () => Readonly<Record<string, string>>): void {
    const known = this.#counts.get(key)
    if (known) known.count++
    else this.#counts.set(key, { labels: labels(), count: 1 })
  }
}

/** A histogram of one label. Noting a value in Prometheus' library costs 2 µs, as it looks for the labels each time. */
export class Timings extends Histogram {
  readonly #about: HistogramConfiguration<string>
  readonly #bounds: readonly number[]
  readonly #children = new Map<string, { readonly counts: number[]; sum: number }>()

  /** Registers the histogram; its buckets are what `bounds` says, in seconds. */
  constructor(registry: Registry, name: string, help: string, label: string, bounds: readonly number[]) {
    const about = { name, help, labelNames: [label], buckets: [...bounds], registers: [registry] }
    super(about)
    this.#about = about
    this.#bounds = bounds
  }

  /** One thing took so long. */
  took(label: string, seconds: number): void {
    let child = this.#children.get(label)
    if (!child) this.#children.set(label, (child = { counts: this.#bounds.map(() => 0).concat(0), sum: 0 }))
    let at = 0
    while (at < this.#bounds.length && seconds > this.#bounds[at]!) at++
    child.counts[at]!++
    child.sum += seconds
  }

  override async get(): ReturnType<Histogram['get']> {
    const values = [...this.#children].flatMap(([label, child]) => this.#valuesOf(label, child))
    return { ...(await super.get()), values }
  }

  #valuesOf(
    label: string,
    { counts, sum }: { readonly counts: readonly number[]; readonly sum: number },
  ): MetricValueWithName[] {
    const { name, labelNames } = this.#about
    const labels = { [labelNames![0]!]: label }
    let count = 0
    const buckets = counts.map((one, at) => {
      count += one
      return {
        metricName: `${name}_bucket`,
        labels: { le: this.#bounds[at] ?? '+Inf', ...labels },
        value: count,
      }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}

type MetricValueWithName = Awaited<ReturnType<Histogram['get']>>['values'][number]
