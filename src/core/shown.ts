import type { ShownDocuments } from '#audit/audit.ts'
import type { Cost } from '#leaf/fair-queue.ts'

/** The most documents of a doctype that an audit event names; it only counts the others. */
export const mostNames = 100

/** The documents that a request is shown while it runs, for its audit event. */
export class Shown {
  readonly #of = new Map<string, { readonly names: Set<string>; unnamed: number }>()
  /** The doctypes that the request asked about, itself or by calls within it, whatever came of it. */
  readonly #asked = new Set<string>()
  /** The cost of what was computed for the request. */
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

  ask(doctype: string): void {
    this.#asked.add(doctype)
  }

  /** Adds the doctypes of a call within this one. */
  include(inner: Shown): void {
    for (const doctype of inner.doctypes()) this.#asked.add(doctype)
  }

  /** Returns all doctypes from whose documents the answer may be made. */
  doctypes(): readonly string[] {
    return [...this.#of.keys(), ...this.#asked]
  }

  /** Returns the documents for an audit event; undefined when none was shown. */
  told(): readonly ShownDocuments[] | undefined {
    if (this.#of.size === 0) return undefined
    return [...this.#of].map(([doctype, { names, unnamed }]) => ({
      doctype,
      names: [...names],
      count: names.size + unnamed,
    }))
  }
}
