/** Documents of one doctype that somebody was shown: the first names, and how many there were. */
export interface ShownDocuments {
  readonly doctype: string
  readonly names: readonly string[]
  readonly count: number
}

/** An audit event names so many documents of a doctype, and only counts the others. */
export const mostNames = 100

/** What a request is shown while it runs, for its audit event. */
export class Shown {
  readonly #of = new Map<string, { readonly names: Set<string>; unnamed: number }>()

  note(doctype: string, names: Iterable<string>, unnamed = 0): void {
    let of = this.#of.get(doctype)
    for (const name of names) {
      if (!of) this.#of.set(doctype, (of = { names: new Set(), unnamed: 0 }))
      if (of.names.size < mostNames) of.names.add(name)
      else if (!of.names.has(name)) of.unnamed++
    }
    if (of) of.unnamed += unnamed
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
