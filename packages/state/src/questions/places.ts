/** The places of documents in a sort order: what a cursor holds. */
import type { Stored } from '../store.ts'
import type { SortKey } from './conditions.ts'

/** By document: what its fields sort by, where that is more than they show. */
const exact = new WeakMap<Stored, ReadonlyMap<string, string>>()

/** Notes that fields of a document sort by more than they show, as a moment by its microseconds. */
export function sortsBy(document: Stored, more: ReadonlyMap<string, string>): void {
  exact.set(document, more)
}

/** Returns the values by which a document is found again in an order: those it sorts by, then its id. */
export function placeOf(order: readonly SortKey[], document: Stored): readonly unknown[] {
  const more = exact.get(document)
  const held = document as unknown as Readonly<Record<string, unknown>>
  return [...order.map(({ field }) => more?.get(field) ?? held[field] ?? null), document.id]
}
