import type { GroupAnswer, GroupQuestion } from './questions/groups.ts'
import type { Stop } from '#leaf/stop.ts'
import type { WordAnswer, WordQuestion } from './questions/words.ts'
import type { AnyQuery } from './embedded/select.ts'
import type { Collection, Page, Stored } from './store.ts'
import type { TableSpec } from './embedded/table.ts'
import type { Turn } from '#leaf/turns.ts'

/** A query, and the signal that aborts it. */
export interface StoppableQuery extends AnyQuery {
  readonly stop?: Stop | undefined
}

/** The read operations of a collection. */
export interface CollectionReads {
  find(query: StoppableQuery): Promise<readonly Stored[]>
  page(query: StoppableQuery, upTo: number): Promise<Page<Stored>>
  count(query: StoppableQuery): Promise<number>
  aggregate(groups: GroupQuestion, query: StoppableQuery): Promise<GroupAnswer>
  search(words: WordQuestion, query: StoppableQuery): Promise<WordAnswer<Stored>>
  beginning(start: string, fields: WordQuestion['fields'], query: StoppableQuery): Promise<readonly string[]>
}

/** The write operations of a transaction on its collections. */
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

/** The operations a collection runs on: those of the state itself, or of a transaction over it. */
export interface CollectionWork {
  /** Makes those that read: most transactions only get and put, and name a collection each time. */
  reads(): CollectionReads
  get(id: string): Promise<Stored | undefined>
  change<R>(work: (writes: Writes) => R | Promise<R>): Promise<R>
}

/** A collection of either store, inside or outside a transaction. */
export class StoredCollection<T extends Stored> implements Collection<T> {
  readonly spec: TableSpec
  readonly #work: CollectionWork
  readonly #stop: Stop | undefined

  constructor(spec: TableSpec, work: CollectionWork, stop?: Stop) {
    this.spec = spec
    this.#work = work
    this.#stop = stop
  }

  until(stop: Stop): Collection<T> {
    return new StoredCollection<T>(this.spec, this.#work, stop)
  }

  // These are called more often than all else: no promise besides that of the work.
  get(id: string): Promise<T | undefined> {
    return this.#work.get(id) as Promise<T | undefined>
  }

  async find(query: AnyQuery = {}): Promise<readonly T[]> {
    return (await this.#work.reads().find(this.#asked(query))) as readonly T[]
  }

  async first(query: AnyQuery): Promise<T | undefined> {
    return (await this.#work.reads().find(this.#asked({ ...query, limit: 1 })))[0] as T | undefined
  }

  async page(query: AnyQuery, upTo: number): Promise<Page<T>> {
    return (await this.#work.reads().page(this.#asked(query), upTo)) as Page<T>
  }

  async count(query: AnyQuery = {}): Promise<number> {
    return await this.#work.reads().count(this.#asked(query))
  }

  async aggregate(groups: GroupQuestion, query: AnyQuery = {}): Promise<GroupAnswer> {
    return await this.#work.reads().aggregate(groups, this.#asked(query))
  }

  async search(words: WordQuestion, query: AnyQuery = {}): Promise<WordAnswer<T>> {
    return (await this.#work.reads().search(words, this.#asked(query))) as WordAnswer<T>
  }

  async wordsBeginning(
    start: string,
    fields: WordQuestion['fields'],
    query: AnyQuery,
  ): Promise<readonly string[]> {
    return await this.#work.reads().beginning(start, fields, this.#asked(query))
  }

  insert(document: T): Promise<T> {
    return this.#work.change((writes) => writes.insert(this.spec, document)) as Promise<T>
  }

  put(document: T): Promise<T> {
    return this.#work.change((writes) => writes.put(this.spec, document)) as Promise<T>
  }

  update(id: string, change: (document: T) => T | undefined): Promise<T | undefined> {
    const step = change as unknown as (document: Stored) => Stored | undefined
    return this.#work.change((writes) => writes.update(this.spec, id, step)) as Promise<T | undefined>
  }

  delete(id: string): Promise<boolean> {
    return this.#work.change((writes) => writes.delete(this.spec, id))
  }

  #asked(query: AnyQuery): StoppableQuery {
    return this.#stop ? { ...query, stop: this.#stop } : query
  }
}

/** The collections of one store by their names. */
export type Collections = Map<string, StoredCollection<Stored>>

/** Returns the spec of a collection used in a transaction; throws when the collection is another store's. */
export function specIn<T extends Stored>(collections: Collections, collection: Collection<T>): TableSpec {
  const { spec } = collection as unknown as StoredCollection<Stored>
  if (collections.get(spec.name)?.spec !== spec) throw new Error('the collection belongs to another store')
  return spec
}

/** Returns a function that gives `subject` while the transaction runs and throws afterwards. */
export function during<R>(running: Turn, subject: R): () => R {
  return () => {
    if (running.over) throw new Error('the transaction is over')
    return subject
  }
}
