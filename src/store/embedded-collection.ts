import type { Overlay } from './overlay.ts'
import type { AnyQuery } from './select.ts'
import type { Collection, Stored } from './store.ts'

/** What a collection stands on: the state itself, or a transaction over it. */
export interface CollectionWork {
  get(id: string): Stored | undefined
  select(query: AnyQuery): Stored[]
  count(query: AnyQuery): number
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
    return this.#work.select(query) as T[]
  }

  async first(query: AnyQuery): Promise<T | undefined> {
    return this.#work.select({ ...query, limit: 1 })[0] as T | undefined
  }

  async count(query: AnyQuery = {}): Promise<number> {
    return this.#work.count(query)
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
