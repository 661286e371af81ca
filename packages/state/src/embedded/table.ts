import type { CollectionSpec, Stored } from '../store.ts'
import { Expiry } from '../expiry.ts'
import { FieldIndex } from './field-index.ts'
import { LargeMap } from '#leaf/large-map.ts'
import { atOnce, type Slices } from '#leaf/slices.ts'
import { SortedDocuments } from './sorted-documents.ts'
import { Totals } from './totals.ts'
import { WordIndex } from './word-index.ts'

/** A collection's spec without the document's type, as the stores use it. */
export interface TableSpec {
  readonly name: string
  readonly indexes: readonly string[]
  readonly unique: readonly string[]
  /** Fields that `find` can sort by and compare without reading every document. */
  readonly ordered: readonly string[]
  /** Fields whose texts can be searched without reading every document, where the store can. */
  readonly texts: readonly string[]
  readonly expires: string | undefined
  /** Fields that had an index once. */
  readonly former?: readonly string[]
  /** True when those who declare documents of it take turns. */
  readonly contended?: boolean
}

/** Normalizes a spec: every list is present and sorted, so that two specs can be compared. */
function tableSpec<T extends Stored>(spec: CollectionSpec<T>): TableSpec {
  const unique = [...new Set<string>(spec.unique ?? [])].sort()
  const indexes = [...new Set<string>([...(spec.indexes ?? []), ...unique])].sort()
  const ordered = [...new Set<string>(spec.ordered ?? [])].sort()
  const texts = [...new Set<string>(spec.texts ?? [])].sort()
  const { name, expires, contended, former } = spec
  return {
    name,
    indexes,
    unique,
    ordered,
    texts,
    expires,
    ...(contended && { contended }),
    ...(former && { former }),
  }
}

/**
 * Returns the spec of a declared collection; `known` is its spec from an earlier declaration. Throws for an invalid
 * name, and when the two differ: both are bugs of the caller.
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

/** The most documents whose sort orders are made at once. */
const few = 1000

/** The documents of one collection in memory, with their indexes. */
export class Table {
  readonly name: string
  readonly totals = new Totals()
  #words: WordIndex | undefined
  readonly #documents = new LargeMap<string, Stored>()
  /** The documents by id, not made before the declaration: to insert a million in no order one by one takes seconds. */
  #sorted: SortedDocuments | undefined
  #indexes: readonly FieldIndex[] = []
  #orders: SortedDocuments[] = []
  /** Fields whose sort orders are still to be made. */
  #unmade: string[] = []
  #making: Slices<void> | undefined
  /** The writes made while an order is being built: the document before, and the one after. */
  #written: [Stored | undefined, Stored | undefined][] | undefined
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
    return (this.#sorted ??= atOnce(SortedDocuments.byId(this.#documents.values())))
  }

  get expiry(): Expiry | undefined {
    return this.#expiry
  }

  /** Declares the spec and builds the indexes. Documents read from disk lie here before their spec is known. */
  declare(spec: TableSpec): void {
    // A field with a sort order is looked up in it.
    const indexes = spec.indexes
      .filter((field) => !spec.ordered.includes(field) || spec.unique.includes(field))
      .map((field) => new FieldIndex(field))
    const expiry = spec.expires === undefined ? undefined : new Expiry(spec.expires)
    if (indexes.length > 0 || expiry)
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
    this.#orders = []
    this.#unmade = [...spec.ordered]
    this.#indexes = indexes
    this.#expiry = expiry
    this.#spec = spec
    if (this.size <= few) {
      void this.sorted
      atOnce(this.prepare())
    }
  }

  get isPrepared(): boolean {
    return this.#sorted !== undefined && this.#unmade.length === 0
  }

  /** Makes the sort orders, which takes seconds for many documents. A caller continues where another stopped. */
  *prepare(): Slices<void> {
    while (!this.isPrepared) {
      this.#making ??= this.#make()
      if (this.#making.next().done) this.#making = undefined
      else yield
    }
  }

  /** Makes one sort order, including what is written meanwhile. */
  *#make(): Slices<void> {
    const written = (this.#written = [] as [Stored | undefined, Stored | undefined][])
    const from = this.#sorted
    const order = yield* from ? from.by(this.#unmade[0]!) : SortedDocuments.byId(this.#documents.values())
    for (const [previous, document] of written) {
      if (previous) order.delete(previous)
      if (document) order.put(document)
    }
    this.#written = undefined
    if (!from) this.#sorted ??= order
    else {
      this.#orders.push(order)
      this.#unmade.shift()
    }
  }

  /** Returns the document, expired or not. */
  get(id: string): Stored | undefined {
    return this.#documents.get(id)
  }

  /** Returns the document unless it has expired. */
  living(id: string, now: number): Stored | undefined {
    const document = this.#documents.get(id)
    return document && !this.isOver(document, now) ? document : undefined
  }

  /** True when a document of this collection has expired. */
  isOver(document: Stored, now: number): boolean {
    return this.#expiry?.isOver(document, now) ?? false
  }

  /** Sets the document of an id, or removes it when undefined; returns the previous one. */
  set(id: string, document: Stored | undefined): Stored | undefined {
    const previous = this.#documents.get(id)
    if (previous) {
      for (const order of this.#orders) order.delete(previous)
      this.#expiry?.remove(previous)
    }
    if (previous || document) {
      this.#written?.push([previous, document])
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

  /** Returns every document with its id, expired ones included. */
  entries(): Iterable<[string, Stored]> {
    return this.#documents[Symbol.iterator]()
  }

  /** Returns the documents in the order of a field; undefined when the order was not declared or is not made yet. */
  ordered(field: string): SortedDocuments | undefined {
    return field === 'id' ? this.sorted : this.#orders.find((order) => order.field === field)
  }

  /** The word index of searches, created at the first of them. */
  get words(): WordIndex {
    return (this.#words ??= new WordIndex())
  }

  index(field: string): FieldIndex | undefined {
    return this.#indexes.find((index) => index.field === field)
  }
}
