import { LargeMap } from '#leaf/large-map.ts'
import { Bag } from './bag.ts'
import type { Stored } from '../store.ts'

/** A value that an index can look up; anything else (null, objects) is found by reading every document. */
export type IndexKey = string | number | boolean

/** An index of one field: the ids of the documents that hold each value. */
export class FieldIndex {
  readonly field: string
  // A lone id is kept without a bag: most values of a unique field have one, and a bag would cost more than the document.
  readonly #ids = new LargeMap<IndexKey, string | Bag<string>>()
  /** The number of documents that hold a list, which is indexed under each of its members. */
  arrays = 0

  constructor(field: string) {
    this.field = field
  }

  add(document: Stored): void {
    const value = fieldOf(document, this.field)
    if (isIndexKey(value)) return this.#add(value, document.id)
    if (Array.isArray(value)) this.arrays++
    for (const key of indexKeys(value)) this.#add(key, document.id)
  }

  #add(key: IndexKey, id: string): void {
    const held = this.#ids.get(key)
    if (held === undefined) this.#ids.set(key, id)
    else if (typeof held === 'string') this.#ids.set(key, new Bag([held, id]))
    else held.add(id)
  }

  /** Replaces a document by another of the same id; undefined stands for none. */
  change(previous: Stored | undefined, document: Stored | undefined): void {
    if (previous && document) {
      const value = fieldOf(document, this.field)
      if (isIndexKey(value) && value === fieldOf(previous, this.field)) return
    }
    if (previous) this.remove(previous)
    if (document) this.add(document)
  }

  remove(document: Stored): void {
    const value = fieldOf(document, this.field)
    if (Array.isArray(value)) this.arrays--
    for (const key of indexKeys(value)) {
      const held = this.#ids.get(key)
      if (held === document.id) this.#ids.delete(key)
      else if (held instanceof Bag) {
        held.delete(document.id)
        if (held.size === 0) this.#ids.delete(key)
      }
    }
  }

  /** Returns the ids under a value, in no order. */
  ids(key: IndexKey): Iterable<string> {
    const held = this.#ids.get(key)
    return typeof held === 'string' ? [held] : (held ?? [])
  }

  count(key: IndexKey): number {
    const held = this.#ids.get(key)
    return typeof held === 'string' ? 1 : (held?.size ?? 0)
  }

  /** Returns a value that two documents share, if there is one. */
  shared(): IndexKey | undefined {
    for (const [key, held] of this.#ids) if (held instanceof Bag && held.size > 1) return key
    return undefined
  }
}

/** Returns the keys of a value in an index: itself, or each member of an array. */
export function indexKeys(value: unknown): readonly IndexKey[] {
  if (isIndexKey(value)) return [value]
  return Array.isArray(value) ? [...new Set(value.filter(isIndexKey))] : []
}

/** True when a value can be looked up in an index. */
export function isIndexKey(value: unknown): value is IndexKey {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** Reads a field of a document whose type is not known here. */
export function fieldOf(document: Stored, field: string): unknown {
  const value = (document as unknown as Record<string, unknown>)[field]
  // No inherited member is a text or a number, so these skip the check for an own property, which is slower than the read.
  if (typeof value === 'string' || typeof value === 'number') return value
  return Object.hasOwn(document, field) ? value : undefined
}
