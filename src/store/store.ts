/**
 * The contract of the state (D3): typed collections of documents with declared indexes, atomic
 * updates, transactions across collections, expiry. Nothing outside this folder knows which
 * implementation it talks to. Stored values are plain JSON; what comes out is frozen.
 */

import type { Clock } from '../core/clock.ts'
import type { Condition, SortKey } from '../core/conditions.ts'
import type { GroupAnswer, GroupQuestion } from '../core/groups.ts'
import type { WordAnswer, WordQuestion } from '../core/words.ts'
import type { Ledger } from './ledger.ts'

/** Anything that is stored has an id, unique in its collection. */
export interface Stored {
  readonly id: string
}

/** What a collection is: its name, what it can be looked up by, and whether its documents end. */
export interface CollectionSpec<T extends Stored> {
  /** Lower-case words with dots, such as `oauth.token`; part of the stored format. */
  readonly name: string
  /** Fields that `find` can look up without reading every document; an array field is indexed by each member. */
  readonly indexes?: readonly (keyof T & string)[]
  /** Fields that `find` can sort by and compare with a value without reading every document. */
  readonly ordered?: readonly string[]
  /** Fields in whose texts `like` and `contains` may look without reading every document, where the store can. */
  readonly texts?: readonly string[]
  /** Indexed fields of which no two documents may share a value (absent and null values are not counted). */
  readonly unique?: readonly (keyof T & string)[]
  /** A field holding milliseconds since the epoch, after which the document does not exist any more. */
  readonly expires?: keyof T & string
}

/** Which documents, in which order: data, so that a store can run it where the documents lie. */
export interface Query<T extends Stored> {
  /** Fields that must equal a value (an array field: must contain it); an indexed one makes it fast. */
  readonly where?: { readonly [Field in keyof T]?: unknown }
  /** What else must hold of each document. */
  readonly holds?: Condition | undefined
  /** Documents that are alike in all of these come by id, as all do without it. */
  readonly order?: readonly SortKey[]
  /** Only what comes after a document that has these values in the order, its id last: stays right while others write. */
  readonly after?: readonly unknown[] | undefined
  readonly offset?: number
  readonly limit?: number
}

/** A part of what there is, and how much that is. */
export interface Page<T extends Stored> {
  readonly found: readonly T[]
  /** Without regard to where the page begins and ends. */
  readonly total: number
}

/** The documents of one kind, as seen inside or outside a transaction. */
export interface Collection<T extends Stored> {
  get(id: string): Promise<T | undefined>
  find(query?: Query<T>): Promise<readonly T[]>
  first(query: Query<T>): Promise<T | undefined>
  /** What a query asks for, and beside it how many there are in all, counted up to a number. */
  page(query: Query<T>, upTo: number): Promise<Page<T>>
  /** How many documents a query asks for; with a limit, no more are counted. */
  count(query?: Pick<Query<T>, 'where' | 'holds' | 'limit'>): Promise<number>
  /** Counts, sums and extremes over the documents that a query asks for. */
  aggregate(groups: GroupQuestion, query?: Pick<Query<T>, 'where' | 'holds'>): Promise<GroupAnswer>
  /** The documents that have words, best first; of a collection with an order. */
  search(words: WordQuestion, query?: Pick<Query<T>, 'holds' | 'offset' | 'limit'>): Promise<WordAnswer<T>>
  /** Words that begin so, in fields of documents of which a condition holds, or of others too; up to a number of them. */
  wordsBeginning(
    start: string,
    fields: WordQuestion['fields'],
    query: Pick<Query<T>, 'holds'> & { readonly limit: number },
  ): Promise<readonly string[]>
  /** Adds a document; AppError `conflict` when its id or a unique field is taken. */
  insert(document: T): Promise<T>
  /** Adds or replaces a document. */
  put(document: T): Promise<T>
  /**
   * Changes one document atomically: `change` gets the stored one and returns the new one, or
   * undefined to leave it. Answers the document as it is afterwards, undefined when there is none.
   */
  update(id: string, change: (document: T) => T | undefined): Promise<T | undefined>
  /** Removes a document; answers whether there was one. */
  delete(id: string): Promise<boolean>
}

/** One atomic piece of work over several collections: all of it is kept or nothing. */
export interface Transaction {
  /** The collection as this transaction sees it, its own writes included. */
  in<T extends Stored>(collection: Collection<T>): Collection<T>
  /** Has something done once the transaction is acknowledged; never when it is not kept. Must not throw. */
  onCommit(then: () => void): void
  /** Tells every daemon that shares the state, this one too where there may be others, once all is kept. Up to 7000 bytes. */
  announce(message: string): void
}

/** The state of the program. */
export interface Store {
  /** The time of all who share the state. */
  readonly clock: Clock
  /** The time by which something may be removed for good: a clock that jumped is not believed at once. */
  readonly believed: Clock
  /** Only of a state that several daemons may share. */
  readonly ledger?: Ledger
  /** The collection of that name; asking twice with the same name gives the same collection. */
  collection<T extends Stored>(spec: CollectionSpec<T>): Collection<T>
  /**
   * Runs the work as if nobody wrote in between, and keeps all of it or (when it throws) nothing. Where others do
   * write in between, the work is run anew: what it changes outside the transaction, it must set and not add to.
   * What it answers is acknowledged: it survives a crash of the program and of the machine.
   */
  transaction<R>(work: (transaction: Transaction) => Promise<R>): Promise<R>
  /**
   * Has announcements heard. Undefined stands for any number of them that may have been missed, as while the
   * way to the others was down. A state that nobody can share is silent.
   */
  hear(listener: (message: string | undefined) => void): void
  /** Facts for `status`, `doctor` and metrics. */
  stats(): StoreStats
  /** Writes what is pending and lets go of the state. */
  close(): Promise<void>
}

export interface StoreStats {
  readonly kind: 'embedded' | 'postgres'
  readonly documents: Readonly<Record<string, number>>
  /** Bytes on disk, where the store knows. */
  readonly bytes: number
  /** How many indexes are being built beside the work, where the store builds them so. */
  readonly building?: number
  /** What would make questions faster, where the store lacks it. */
  readonly lacks?: string
  /** How far the machine's clock is off; absent while it is not. */
  readonly clock?: string
  /** Why writes fail now, such as a full disk; absent when they do not. */
  readonly fault?: string
}
