/** Documents of one doctype that somebody was shown: the first names, and how many there were. */
export interface ShownDocuments {
  readonly doctype: string
  readonly names: readonly string[]
  readonly count: number
}

/** What work in processes of its own took, where the machine counts it. */
export interface Cost {
  readonly cpu_seconds: number
  /** The most at one time. */
  readonly memory_bytes: number
}

/** An audit event names so many documents of a doctype, and only counts the others. */
export const mostNames = 100

/** What a request is shown while it runs, for its audit event. */
export class Shown {
  readonly #of = new Map<string, { readonly names: Set<string>; unnamed: number }>()
  /** What was computed for it took so much. */
  cost: Cost | undefined

  note(doctype: string, names: Iterable<string>, unnamed = 0): void {
    let of = this.#of.get(doctype)
    for (const name of names) {
      if (!of) this.#of.set(doctype, (of = { names: new Set(), unnamed: 0 }))
      if (of.names.size < mostNames) of.names.add(name)
      else if (!of.names.has(name)) of.unnamed++
    }
    if (of) of.unnamed += unnamed
  }

  spent({ cpu_seconds: seconds, memory_bytes: bytes }: Cost): void {
    const before = this.cost ?? { cpu_seconds: 0, memory_bytes: 0 }
    this.cost = {
      cpu_seconds: Number((before.cpu_seconds + seconds).toFixed(3)),
      memory_bytes: Math.max(before.memory_bytes, bytes),
    }
  }

  /** What another was shown is shown again. */
  add(other: Shown): void {
    for (const [doctype, { names, unnamed }] of other.#of) this.note(doctype, names, unnamed)
  }

  /** What an event tells of it; undefined where nothing was shown. */
  told(): readonly ShownDocuments[] | undefined {
    if (this.#of.size === 0) return undefined
    return [...this.#of].map(([doctype, { names, unnamed }]) => ({
      doctype,
      names: [...names],
      count: names.size + unnamed,
    }))
  }
}
