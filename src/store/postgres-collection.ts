import type { GroupAnswer, GroupQuestion } from '../core/groups.ts'
import type { WordAnswer, WordQuestion } from '../core/words.ts'
import type { Queryable } from './postgres-connection.ts'
import type { Known } from './postgres-known.ts'
import { countFound, findDocuments, findPage, groupDocuments } from './postgres-reading.ts'
import { findWords, wordsBeginning } from './postgres-search.ts'
import type { AnyQuery } from './select.ts'
import type { Collection, Page, Stored } from './store.ts'
import type { TableSpec } from './table.ts'
import type { PgSession } from './postgres-session.ts'

/** What a collection stands on: the database itself, or a transaction of ours. */
export interface PostgresWork {
  get(spec: TableSpec, id: string): Promise<Stored | undefined>
  read<R>(spec: TableSpec, work: (on: Queryable, view: Known) => Promise<R>): Promise<R>
  change<R>(spec: TableSpec, work: (session: PgSession) => Promise<R>): Promise<R>
}

/** A collection of the PostgreSQL store, inside or outside a transaction. */
export class PostgresCollection<T extends Stored> implements Collection<T> {
  readonly spec: TableSpec
  readonly #work: PostgresWork

  constructor(spec: TableSpec, work: PostgresWork) {
    this.spec = spec
    this.#work = work
  }

  async get(id: string): Promise<T | undefined> {
    return (await this.#work.get(this.spec, id)) as T | undefined
  }

  async find(query: AnyQuery = {}): Promise<readonly T[]> {
    return (await this.#find(query)) as T[]
  }

  async first(query: AnyQuery): Promise<T | undefined> {
    return (await this.#find({ ...query, limit: 1 }))[0] as T | undefined
  }

  async page(query: AnyQuery, upTo: number): Promise<Page<T>> {
    return (await this.#work.read(this.spec, (on, view) => findPage(on, view, query, upTo))) as Page<T>
  }

  async count(query: AnyQuery = {}): Promise<number> {
    return await this.#work.read(this.spec, (on, view) => countFound(on, view, query))
  }

  async aggregate(groups: GroupQuestion, query: AnyQuery = {}): Promise<GroupAnswer> {
    return await this.#work.read(this.spec, (on, view) => groupDocuments(on, view, groups, query))
  }

  async search(words: WordQuestion, query: AnyQuery = {}): Promise<WordAnswer<T>> {
    const found = await this.#work.read(this.spec, (on, view) => findWords(on, view, words, query))
    return found as WordAnswer<T>
  }

  async wordsBeginning(
    start: string,
    fields: WordQuestion['fields'],
    query: AnyQuery,
  ): Promise<readonly string[]> {
    return await this.#work.read(this.spec, (on, view) => wordsBeginning(on, view, start, fields, query))
  }

  async insert(document: T): Promise<T> {
    return (await this.#change((session) => session.insert(this.spec, document))) as T
  }

  async put(document: T): Promise<T> {
    return (await this.#change((session) => session.put(this.spec, document))) as T
  }

  async update(id: string, change: (document: T) => T | undefined): Promise<T | undefined> {
    const step = change as unknown as (document: Stored) => Stored | undefined
    return (await this.#change((session) => session.update(this.spec, id, step))) as T | undefined
  }

  async delete(id: string): Promise<boolean> {
    return await this.#change((session) => session.delete(this.spec, id))
  }

  #find(query: AnyQuery): Promise<Stored[]> {
    return this.#work.read(this.spec, (on, view) => findDocuments(on, view, query))
  }

  #change<R>(work: (session: PgSession) => Promise<R>): Promise<R> {
    return this.#work.change(this.spec, work)
  }
}
