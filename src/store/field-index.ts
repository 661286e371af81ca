import { Bag } from './bag.ts'
import type { Stored } from './store.ts'

/** What a field is looked up by; anything else (null, objects) is found by reading every document. */
export type IndexKey = string | number | boolean

/** The ids of the documents that hold a value in one field. */
export class FieldIndex {
  readonly field: string
  // Most values of a unique field have one document; a bag for each would cost more than the document.
  readonly #ids = new Map<IndexKey, string | Bag<string>>()
  /** How many documents hold a list, which stands under each of its members. */
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

  /** A document in place of another of the same id, or of none; undefined takes it away. */
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

  /** The ids under a value, in no order. */
  ids(key: IndexKey): Iterable<string> {
    const held = this.#ids.get(key)
    return typeof held === 'string' ? [held] : (held ?? [])
  }

  count(key: IndexKey): number {
    const held = this.#ids.get(key)
    return typeof held === 'string' ? 1 : (held?.size ?? 0)
  }

  /** A value that two documents share, if there is one. */
  shared(): IndexKey | undefined {
    for (const [key, held] of this.#ids) if (held instanceof Bag && held.size > 1) return key
    return undefined
  }
}

/** The keys under which a value stands in an index: itself, or each member of an array. */
export function indexKeys(value: unknown): readonly IndexKey[] {
  if (isIndexKey(value)) return [value]
  return Array.isArray(value) ? [...new Set(value.filter(isIndexKey))] : []
}

/** Whether a value can be looked up in an index. */
export function isIndexKey(value: unknown): value is IndexKey {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** A field of a document whose type is not known here. */
export function fieldOf(document: Stored, field: string): unknown {
  const value = (document as unknown as Record<string, unknown>)[field]
  // What is inherited is neither a text nor a number; to ask whether it is takes longer than to read it.
  if (typeof value === 'string' || typeof value === 'number') return value
  return Object.hasOwn(document, field) ? value : undefined
}
