import { Bag } from './embedded/bag.ts'
import type { Stored } from './store.ts'
import { fieldOf } from './embedded/field-index.ts'

const bucketMilliseconds = 60_000

/** The expiry times of a collection's documents, in buckets of a minute, so that sweeping and counting read only expired ones. */
export class Expiry {
  readonly field: string
  readonly #buckets = new Map<number, Bag<Stored>>()

  constructor(field: string) {
    this.field = field
  }

  /** True when the document has expired: its time lies in the past. */
  isOver(document: Stored, now: number): boolean {
    // Called for every document read, so there is no check that the property is the document's own.
    const end = (document as unknown as Record<string, unknown>)[this.field]
    return typeof end === 'number' && end < now
  }

  add(document: Stored): void {
    const end = fieldOf(document, this.field)
    if (typeof end !== 'number') return
    const bucket = Math.floor(end / bucketMilliseconds)
    const held = this.#buckets.get(bucket)
    if (held) held.add(document)
    else this.#buckets.set(bucket, new Bag([document]))
  }

  remove(document: Stored): void {
    const end = fieldOf(document, this.field)
    if (typeof end !== 'number') return
    const bucket = Math.floor(end / bucketMilliseconds)
    const held = this.#buckets.get(bucket)
    held?.delete(document)
    if (held?.size === 0) this.#buckets.delete(bucket)
  }

  /** Counts the expired documents not yet removed. */
  countOver(now: number): number {
    const current = Math.floor(now / bucketMilliseconds)
    let count = 0
    for (const [bucket, held] of this.#buckets) {
      if (bucket < current) count += held.size
      else if (bucket === current) for (const document of held) if (this.isOver(document, now)) count++
    }
    return count
  }

  /** Returns up to `limit` ids of expired documents. */
  over(now: number, limit: number): string[] {
    const ids: string[] = []
    for (const [bucket, held] of this.#buckets) {
      if (bucket * bucketMilliseconds > now) continue
      for (const document of held) {
        if (ids.length >= limit) return ids
        if (this.isOver(document, now)) ids.push(document.id)
      }
    }
    return ids
  }
}
