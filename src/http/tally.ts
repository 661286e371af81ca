import { Counter, type Histogram, type Registry } from 'prom-client'

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

/** A histogram of one label, whose values are few: looking one up in Prometheus' library costs as much as a request's metrics. */
export class Timings {
  readonly #histogram: Histogram
  readonly #children = new Map<string, Histogram.Internal<string>>()

  constructor(histogram: Histogram) {
    this.#histogram = histogram
  }

  /** One thing took so long. */
  observe(label: string, seconds: number): void {
    let child = this.#children.get(label)
    if (!child) this.#children.set(label, (child = this.#histogram.labels(label)))
    child.observe(seconds)
  }
}
