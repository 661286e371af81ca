/**
 * The contract of the state (D3): typed collections of documents with declared indexes, atomic
 * updates, transactions across collections, expiry. Nothing outside this folder knows which
 * implementation it talks to. Stored values are plain JSON; returned values are frozen.
 */

import type { Clock } from '#leaf/clock.ts'
import type { Condition, SortKey } from './questions/conditions.ts'
import type { GroupAnswer, GroupQuestion } from './questions/groups.ts'
import type { Stop } from '#leaf/stop.ts'
import type { WordAnswer, WordQuestion } from './questions/words.ts'
import type { SharedLedger } from './ledger.ts'

export type {
  LastLines,
  Ledger,
  LedgerLine,
  LedgerLines,
  LedgerEnds,
  LedgerPlace,
  LedgerQuestion,
  LedgerRow,
  LedgerWriter,
  OlderServer,
  SharedLedger,
} from './ledger.ts'

/** The most bytes of a message that fit, sealed, into one PostgreSQL notification. */
export const longestAnnouncement = 5_900

/** A stored document: it has an id, unique in its collection. */
export interface Stored {
  readonly id: string
}

/** The declaration of a collection: its name, its indexes, and whether its documents expire. */
export interface CollectionSpec<T extends Stored> {
  /** The name: lower-case words with dots, such as `oauth.token`; part of the stored format. */
  readonly name: string
  /** Fields that `find` looks up by index; an array field by each member (PostgreSQL reads all documents with an array there). */
  readonly indexes?: readonly (keyof T & string)[]
  /** Fields that had an index, which is removed where there is one. */
  readonly former?: readonly string[]
  /** Fields that `find` can sort by and compare with a value without reading every document. */
  readonly ordered?: readonly string[]
  /** Fields whose texts `like` and `contains` can search without reading every document, where the store can. */
  readonly texts?: readonly string[]
  /** Indexed fields whose values no two documents may share (absent and null values are exempt). */
  readonly unique?: readonly (keyof T & string)[]
  /** True when many transactions change the same few documents of it: those that declare them take turns. */
  readonly contended?: boolean
  /** The field with the expiry time, in milliseconds since the epoch; after it the document no longer exists. */
  readonly expires?: keyof T & string
}

/** A query: which documents, in which order. It is data, so that a store can run it where the documents lie. */
export interface Query<T extends Stored> {
  /** Fields that must equal a value (an array field: must contain it); an indexed one makes it fast. */
  readonly where?: { readonly [Field in keyof T]?: unknown }
  /** A condition that each document must meet as well. */
  readonly holds?: Condition | undefined
  /** The sort keys; ties, and all documents when there are no keys, come by id. */
  readonly order?: readonly SortKey[]
  /** A cursor: the sort values of a document, its id last. Only documents after it are found; stays right while others write. */
  readonly after?: readonly unknown[] | undefined
  readonly offset?: number
  readonly limit?: number
  /** The approximate most bytes of documents; at least one document is found. */
  readonly bytes?: number
}

/** A page of results, and the total they are part of. */
export interface Page<T extends Stored> {
  readonly found: readonly T[]
  /** The number of matching documents, wherever the page begins and ends. */
  readonly total: number
  /** True when the limit on bytes ended the page. */
  readonly cut: boolean
}

/** The documents of one kind, as seen inside or outside a transaction. */
export interface Collection<T extends Stored> {
  /** Returns the same collection, whose queries are aborted with `stop`: they throw its reason. Not for transactions. */
  until(stop: Stop): Collection<T>
  get(id: string): Promise<T | undefined>
  find(query?: Query<T>): Promise<readonly T[]>
  first(query: Query<T>): Promise<T | undefined>
  /** Returns the documents of a query and their number in all, counted up to `upTo`. */
  page(query: Query<T>, upTo: number): Promise<Page<T>>
  /** Counts the documents of a query, up to its limit if it has one. */
  count(query?: Pick<Query<T>, 'where' | 'holds' | 'limit'>): Promise<number>
  /** Calculates counts, sums and extremes over the documents of a query. */
  aggregate(groups: GroupQuestion, query?: Pick<Query<T>, 'where' | 'holds'>): Promise<GroupAnswer>
  /** Finds the documents that have words, best first. Only for a collection with `ordered` fields. */
  search(words: WordQuestion, query?: Pick<Query<T>, 'holds' | 'offset' | 'limit'>): Promise<WordAnswer<T>>
  /** Returns words with a prefix, up to `limit`, from fields of documents that meet the condition (and perhaps of others). */
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
   * undefined to leave it. Returns the document as it is afterwards, undefined when there is none.
   */
  update(id: string, change: (document: T) => T | undefined): Promise<T | undefined>
  /** Removes a document; true when there was one. */
  delete(id: string): Promise<boolean>
}

/** A transaction over several collections: all of it is committed or nothing. */
export interface Transaction {
  /** Returns the collection as this transaction sees it, its own writes included. */
  in<T extends Stored>(collection: Collection<T>): Collection<T>
  /** Registers a callback for when the transaction is acknowledged; it never runs after a rollback. Must not throw. */
  onCommit(then: () => void): void
  /**
   * Sends a message on commit to every daemon that shares the state, this one too where there may be others; nobody else
   * learns what it says. Up to `longestAnnouncement` bytes.
   */
  announce(message: string): void
  /** Returns milliseconds since the epoch, with a fraction: of two that changed one document, the later has the later time. */
  time(): Promise<number>
}

/** What a transaction is known to need before it begins. */
export interface TransactionOptions {
  /** Documents that it reads by their ids: they are read at once. It waits for those of contended collections. */
  readonly reads?: readonly (readonly [Collection<Stored>, string])[]
}

/** The state of the program. */
export interface Store {
  /** The clock that all who share the state go by. */
  readonly clock: Clock
  /** The clock for removing something for good: it does not at once believe a machine's clock that jumped. */
  readonly believed: Clock
  /** The shared ledger; only of a state that several daemons may share. */
  readonly ledger?: SharedLedger
  /** Returns the collection of that name; the same name gives the same collection. */
  collection<T extends Stored>(spec: CollectionSpec<T>): Collection<T>
  /**
   * Runs the work as if nobody wrote in between, and commits all of it or (when it throws) nothing. Where others do
   * write in between, the work is retried: what it changes outside the transaction, it must set and not add to.
   * What it returns is acknowledged: all that it wrote and read survives a crash of the program and of the machine.
   */
  transaction<R>(work: (transaction: Transaction) => Promise<R>, options?: TransactionOptions): Promise<R>
  /**
   * Subscribes to announcements, each given once and only those of daemons. Undefined stands for any number of them that
   * may have been missed, as while the connection was down, and comes after a message that no daemon can have sent,
   * some seconds apart: reacting to it must do no harm. A state that nobody can share is silent.
   */
  hear(listener: (message: string | undefined) => void): void
  /** Throws AppError `unavailable` while memory or disk is nearly used up; call it before growth. Only of a state in memory. */
  requireRoom?(): void
  /** Returns figures for `status`, `doctor` and metrics. */
  stats(): StoreStats
  /** Writes what is pending and releases the state. */
  close(): Promise<void>
}

/** The connections to the server of a shared state. */
export interface ConnectionCounts {
  /** Those that this daemon has open now, and the most that it may have. */
  readonly open: number
  readonly most: number
  /** Those that the server gives to all. */
  readonly given: number
  /** The daemons that share the state. */
  readonly daemons: number
}

export interface StoreStats {
  readonly kind: 'embedded' | 'postgres'
  readonly documents: Readonly<Record<string, number>>
  /** The bytes on disk, where the store knows. */
  readonly bytes: number
  /** The number of indexes being built in the background, where the store builds them so. */
  readonly building?: number
  /** The connections to the server, of a state that others may share. */
  readonly connections?: ConnectionCounts
  /** Something missing that would make queries faster. */
  readonly lacks?: string
  /** The number of announcements received that cannot be shown to come from a daemon of this state. */
  readonly unproven?: number
  /** A text on how far the machine's clock is off; absent while it is right. */
  readonly clock?: string
  /** A text on committed data that the database's server lacks, for which it is not used. */
  readonly older?: string | undefined
  /** The reason why writes fail now, such as a full disk; absent when they do not. */
  readonly fault?: string
  /** The reason why nothing new is stored, though documents can be read and removed: memory or disk is nearly used up. */
  readonly shortage?: string
}
