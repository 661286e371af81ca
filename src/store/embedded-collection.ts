import type { GroupAnswer, GroupQuestion } from '../core/groups.ts'
import type { WordAnswer, WordQuestion } from '../core/words.ts'
import type { Overlay } from './overlay.ts'
import { beginning, searching } from './search.ts'
import { type AnyQuery, atOnce, count, gather, select, type Slices, type TableView } from './select.ts'
import type { Collection, Page, Stored } from './store.ts'

/** What a collection stands on: the state itself, or a transaction over it. */
export interface CollectionWork {
  get(id: string): Stored | undefined
  select(query: AnyQuery): Promise<Stored[]>
  count(query: AnyQuery): Promise<number>
  aggregate(groups: GroupQuestion, query: AnyQuery): Promise<GroupAnswer>
  search(words: WordQuestion, query: AnyQuery): Promise<WordAnswer<Stored>>
  beginning(start: string, most: number): Promise<readonly string[]>
  change<R>(work: (overlay: Overlay) => R): Promise<R>
}

/** A collection of the embedded store, inside or outside a transaction. */
export class EmbeddedCollection<T extends Stored> implements Collection<T> {
  readonly name: string
  readonly #work: CollectionWork

  constructor(name: string, work: CollectionWork) {
    this.name = name
    this.#work = work
  }

  async get(id: string): Promise<T | undefined> {
    return this.#work.get(id) as T | undefined
  }

  async find(query: AnyQuery = {}): Promise<readonly T[]> {
    return (await this.#work.select(query)) as T[]
  }

  async first(query: AnyQuery): Promise<T | undefined> {
    return (await this.#work.select({ ...query, limit: 1 }))[0] as T | undefined
  }

  async page(query: AnyQuery, upTo: number): Promise<Page<T>> {
    const { where, holds } = query
    return { found: await this.find(query), total: await this.#work.count({ where, holds, limit: upTo }) }
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
    _fields: WordQuestion['fields'],
    { limit }: { readonly limit: number },
  ): Promise<readonly string[]> {
    return await this.#work.beginning(start, limit)
  }

  async insert(document: T): Promise<T> {
    return await this.#work.change((overlay) => overlay.insert(this.name, document) as T)
  }

  async put(document: T): Promise<T> {
    return await this.#work.change((overlay) => overlay.put(this.name, document) as T)
  }

  async update(id: string, change: (document: T) => T | undefined): Promise<T | undefined> {
    const step = change as unknown as (document: Stored) => Stored | undefined
    return await this.#work.change((overlay) => overlay.update(this.name, id, step) as T | undefined)
  }

  async delete(id: string): Promise<boolean> {
    return await this.#work.change((overlay) => overlay.delete(this.name, id))
  }
}

/** Reads of a collection, run at once or in slices. */
export function readsOf(
  view: () => TableView,
  run: <R>(work: Slices<R>) => Promise<R>,
): Omit<CollectionWork, 'get' | 'change'> {
  return {
    select: (query) => run(select(view(), query)),
    count: (query) => run(count(view(), query)),
    aggregate: (groups, query) => run(gather(view(), groups, query)),
    search: (words, query) => run(searching(view(), words, query)),
    beginning: (start, most) => run(beginning(view(), start, most)),
  }
}

/** All slices without anybody in between. */
export async function whole<R>(work: Slices<R>): Promise<R> {
  return atOnce(work)
}
