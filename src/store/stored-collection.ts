import type { GroupAnswer, GroupQuestion } from '../core/groups.ts'
import type { WordAnswer, WordQuestion } from '../core/words.ts'
import type { AnyQuery } from './select.ts'
import type { Collection, Page, Stored } from './store.ts'
import type { TableSpec } from './table.ts'
import type { Turn } from './turns.ts'

/** How the documents of a collection are found. */
export interface CollectionReads {
  find(query: AnyQuery): Promise<readonly Stored[]>
  page(query: AnyQuery, upTo: number): Promise<Page<Stored>>
  count(query: AnyQuery): Promise<number>
  aggregate(groups: GroupQuestion, query: AnyQuery): Promise<GroupAnswer>
  search(words: WordQuestion, query: AnyQuery): Promise<WordAnswer<Stored>>
  beginning(start: string, fields: WordQuestion['fields'], query: AnyQuery): Promise<readonly string[]>
}

/** How documents of collections are written in a transaction. */
export interface Writes {
  insert(spec: TableSpec, document: Stored): Stored | Promise<Stored>
  put(spec: TableSpec, document: Stored): Stored | Promise<Stored>
  update(
    spec: TableSpec,
    id: string,
    change: (document: Stored) => Stored | undefined,
  ): Stored | undefined | Promise<Stored | undefined>
  delete(spec: TableSpec, id: string): boolean | Promise<boolean>
}

/** What a collection stands on: the state itself, or a transaction over it. */
export interface CollectionWork extends CollectionReads {
  get(id: string): Promise<Stored | undefined>
  change<R>(work: (writes: Writes) => R | Promise<R>): Promise<R>
}

/** A collection of either store, inside or outside a transaction. */
export class StoredCollection<T extends Stored> implements Collection<T> {
  readonly spec: TableSpec
  readonly #work: CollectionWork

  constructor(spec: TableSpec, work: CollectionWork) {
    this.spec = spec
    this.#work = work
  }

  // Asked more often than all else: no promise besides that of the work.
  get(id: string): Promise<T | undefined> {
    return this.#work.get(id) as Promise<T | undefined>
  }

  async find(query: AnyQuery = {}): Promise<readonly T[]> {
    return (await this.#work.find(query)) as readonly T[]
  }

  async first(query: AnyQuery): Promise<T | undefined> {
    return (await this.#work.find({ ...query, limit: 1 }))[0] as T | undefined
  }

  async page(query: AnyQuery, upTo: number): Promise<Page<T>> {
    return (await this.#work.page(query, upTo)) as Page<T>
  }

  async count(query: AnyQuery = {}): Promise<number> {
    return await this.#work.count(query)
  }

  async aggregate(groups: GroupQuestion, query: AnyQuery = {}): Promise<GroupAnswer> {
    return await this.#work.aggregate(groups, query)
  }

  async search(words: WordQuestion, query: AnyQuery = {}): Promise<WordAnswer<T>> {
    return (await this.#work.search(words, query)) as WordAnswer<T>
  }

  async wordsBeginning(
    start: string,
    fields: WordQuestion['fields'],
    query: AnyQuery,
  ): Promise<readonly string[]> {
    return await this.#work.beginning(start, fields, query)
  }

  async insert(document: T): Promise<T> {
    return (await this.#work.change((writes) => writes.insert(this.spec, document))) as T
  }

  async put(document: T): Promise<T> {
    return (await this.#work.change((writes) => writes.put(this.spec, document))) as T
  }

  async update(id: string, change: (document: T) => T | undefined): Promise<T | undefined> {
    const step = change as unknown as (document: Stored) => Stored | undefined
    return (await this.#work.change((writes) => writes.update(this.spec, id, step))) as T | undefined
  }

  async delete(id: string): Promise<boolean> {
    return await this.#work.change((writes) => writes.delete(this.spec, id))
  }
}

/** The collections of one store by their names. */
export type Collections = Map<string, StoredCollection<Stored>>

/** The spec of a collection that a transaction of its store works with. */
export function specIn<T extends Stored>(collections: Collections, collection: Collection<T>): TableSpec {
  const { spec } = collection as unknown as StoredCollection<Stored>
  if (collections.get(spec.name) !== (collection as unknown))
    throw new Error('the collection belongs to another store')
  return spec
}

/** What a transaction works on, as long as it runs. */
export function during<R>(running: Turn, subject: R): () => R {
  return () => {
    if (running.over) throw new Error('the transaction is over')
    return subject
  }
}
