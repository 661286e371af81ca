/** Prometheus' text format and its counters: labels are put together when somebody asks, not when something happens. */
type Labels = Readonly<Record<string, string>>

/** A value, the labels that tell it from others of its metric, and the suffix of the metric's name. */
export type Sample = readonly [value: number, labels?: Labels, suffix?: string]

/** Returns one metric in Prometheus' text format, with a line break at the end. */
export function metricText(
  type: 'counter' | 'gauge' | 'histogram',
  name: string,
  help: string,
  values: number | Iterable<Sample>,
): string {
  const samples: Iterable<Sample> = typeof values === 'number' ? [[values]] : values
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`]
  for (const [value, labels = {}, suffix = ''] of samples) {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
    lines.push(`${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`)
  }
  return `${lines.join('\n')}\n`
}

function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`))
}

/** A counter by labels. */
export class Tally {
  readonly #counts = new Map<string, { readonly labels: Labels; count: number }>()

  /** Counts one; `key` holds the values of all labels. */
  add(key: string, labels: () => Labels): void {
    const known = this.#counts.get(key)
    if (known) known.count++
    else this.#counts.set(key, { labels: labels(), count: 1 })
  }

  /** Yields the counts for `metricText`. */
  *[Symbol.iterator](): Iterator<Sample> {
    for (const { labels, count } of this.#counts.values()) yield [count, labels]
  }
}

/** A histogram of seconds by one label, or by none. */
export class Timings {
  readonly #bounds: readonly number[]
  readonly #label: string | undefined
  readonly #children = new Map<string, { readonly counts: number[]; sum: number }>()

  /** Creates a histogram whose buckets end at `bounds`. */
  constructor(bounds: readonly number[], label?: string) {
    this.#bounds = bounds
    this.#label = label
    if (label === undefined) this.#childOf('')
  }

  /** Records one duration. */
  took(seconds: number, label = ''): void {
    const child = this.#childOf(label)
    let at = 0
    while (at < this.#bounds.length && seconds > this.#bounds[at]!) at++
    child.counts[at]!++
    child.sum += seconds
  }

  /** Yields the buckets, sums and counts for `metricText`. */
  *[Symbol.iterator](): Iterator<Sample> {
    for (const [value, { counts, sum }] of this.#children) {
      const labels: Labels = this.#label === undefined ? {} : { [this.#label]: value }
      let count = 0
      for (const [at, one] of counts.entries()) {
        count += one
        yield [count, { le: String(this.#bounds[at] ?? '+Inf'), ...labels }, '_bucket']
      }
      yield [sum, labels, '_sum']
      yield [count, labels, '_count']
    }
  }

  #childOf(label: string): { readonly counts: number[]; sum: number } {
    let child = this.#children.get(label)
    if (!child) this.#children.set(label, (child = { counts: this.#bounds.map(() => 0).concat(0), sum: 0 }))
    return child
  }
}
