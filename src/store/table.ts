import type { CollectionSpec, Stored } from './store.ts'
import { Expiry } from './expiry.ts'
import { FieldIndex } from './field-index.ts'
import { SortedDocuments } from './sorted-documents.ts'
import { Totals } from './totals.ts'
import { WordIndex } from './word-index.ts'

/** A spec without the document's type: how the machinery sees every collection. */
export interface TableSpec {
  readonly name: string
  readonly indexes: readonly string[]
  readonly unique: readonly string[]
  /** What `find` can sort by and compare without reading every document. */
  readonly ordered: readonly string[]
  /** Whose texts can be looked into without reading every document, where the store can. */
  readonly texts: readonly string[]
  readonly expires: string | undefined
}

/** The spec of a collection with every list present and in order, so that two can be compared. */
function tableSpec<T extends Stored>(spec: CollectionSpec<T>): TableSpec {
  const unique = [...new Set<string>(spec.unique ?? [])].sort()
  const indexes = [...new Set<string>([...(spec.indexes ?? []), ...unique])].sort()
  const ordered = [...new Set<string>(spec.ordered ?? [])].sort()
  const texts = [...new Set<string>(spec.texts ?? [])].sort()
  return { name: spec.name, indexes, unique, ordered, texts, expires: spec.expires }
}

/**
 * The spec of a collection that is asked for, which `known` is the spec of if it was asked for before. Throws for a
 * name that no collection has, and when the two differ: both are bugs of the caller.
 */
export function declaredSpec<T extends Stored>(
  spec: CollectionSpec<T>,
  known: TableSpec | undefined,
): TableSpec {
  const wanted = tableSpec(spec)
  if (known && JSON.stringify(known) !== JSON.stringify(wanted))
    throw new Error(`collection ${spec.name} is declared twice, and differently`)
  if (!/^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/.test(spec.name))
    throw new Error(`${JSON.stringify(spec.name)} is no name of a collection`)
  return wanted
}

/** The documents of one collection in memory, with what they are looked up by. */
export class Table {
  readonly name: string
  readonly totals = new Totals()
  #words: WordIndex | undefined
  readonly #documents = new Map<string, Stored>()
  /** From the declaration on: to put a million that come in no order into their places one by one takes seconds. */
  #sorted: SortedDocuments | undefined
  #indexes: readonly FieldIndex[] = []
  #orders: readonly SortedDocuments[] = []
  #spec: TableSpec | undefined
  #expiry: Expiry | undefined

  constructor(name: string, spec?: TableSpec) {
    this.name = name
    if (spec) this.declare(spec)
  }

  get size(): number {
    return this.#documents.size
  }

  get spec(): TableSpec | undefined {
    return this.#spec
  }

  /** The documents in the order of their ids. */
  get sorted(): SortedDocuments {
    return (this.#sorted ??= SortedDocuments.byId(this.#documents.values()))
  }

  get expiry(): Expiry | undefined {
    return this.#expiry
  }

  /** Builds the indexes. Documents read from disk lie here before anybody has said what they are looked up by. */
  declare(spec: TableSpec): void {
    // What has an order is looked up in it.
    const indexes = spec.indexes
      .filter((field) => !spec.ordered.includes(field) || spec.unique.includes(field))
      .map((field) => new FieldIndex(field))
    const expiry = spec.expires === undefined ? undefined : new Expiry(spec.expires)
    for (const document of this.#documents.values()) {
      for (const index of indexes) index.add(document)
      expiry?.add(document)
    }
    for (const index of indexes) {
      const shared = spec.unique.includes(index.field) ? index.shared() : undefined
      if (shared !== undefined) {
        throw new Error(
          `collection ${this.name}: ${index.field} is declared unique, but several documents hold ${JSON.stringify(shared)}`,
        )
      }
    }
    const { sorted } = this
    this.#orders = spec.ordered.map((field) => sorted.by(field))
    this.#indexes = indexes
    this.#expiry = expiry
    this.#spec = spec
  }

  /** The document, ended or not. */
  get(id: string): Stored | undefined {
    return this.#documents.get(id)
  }

  /** The document unless it has ended. */
  living(id: string, now: number): Stored | undefined {
    const document = this.#documents.get(id)
    return document && !this.isOver(document, now) ? document : undefined
  }

  /** Whether a document of this collection has ended. */
  isOver(document: Stored, now: number): boolean {
    return this.#expiry?.isOver(document, now) ?? false
  }

  /** Puts the document in place of what is under the id, or with undefined removes it; answers what was there. */
  set(id: string, document: Stored | undefined): Stored | undefined {
    const previous = this.#documents.get(id)
    if (previous) {
      for (const order of this.#orders) order.delete(previous)
      this.#expiry?.remove(previous)
    }
    if (previous || document) {
      this.totals.changed(previous, document)
      this.#words?.changed(previous, document)
      for (const index of this.#indexes) index.change(previous, document)
    }
    if (document) {
      this.#documents.set(id, document)
      this.#sorted?.put(document)
      for (const order of this.#orders) order.put(document)
      this.#expiry?.add(document)
    } else if (previous) {
      this.#documents.delete(id)
      this.#sorted?.delete(previous)
    }
    return previous
  }

  /** Every document under its id, ended ones included. */
  entries(): IterableIterator<[string, Stored]> {
    return this.#documents.entries()
  }

  /** The documents in the order of a field; undefined where nobody declared it. */
  ordered(field: string): SortedDocuments | undefined {
    return field === 'id' ? this.sorted : this.#orders.find((order) => order.field === field)
  }

  /** What searches look words up in; there from the first of them on. */
  get words(): WordIndex {
    return (this.#words ??= new WordIndex())
  }

  index(field: string): FieldIndex | undefined {
    return this.#indexes.find((index) => index.field === field)
  }
}
