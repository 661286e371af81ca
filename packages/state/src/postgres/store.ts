/**
 * The state in PostgreSQL, shared by any number of daemons. Every write is a SERIALIZABLE transaction, and they run beside
 * each other: a transaction waits only for the lock of a row that both write, and of two that conflict in what they read
 * and wrote one is retried, which waits for what it collided at before it reads anything.
 * A connection that breaks during commit is reported as unavailable, although all may have been committed.
 */
import type { Writable } from 'node:stream'
import { AppError, messageOf } from '#leaf/errors.ts'
import { streamBackup } from '../backup.ts'
import { schemaAfter } from '../migrate.ts'
import { Database } from './servers/database.ts'
import { IndexBuilder } from './indexes.ts'
import { PostgresLedger } from './ledger/ledger.ts'
import { type PostgresStoreOptions, whenThereIsRoom } from './servers/options.ts'
import { Listener } from './telling/listener.ts'
import { migrateTables } from './migrate.ts'
import { picture, Sizes } from './picture.ts'
import { known, type Known } from './known.ts'
import { readDocument } from './reading.ts'
import { rowReads } from './translating/search.ts'
import type { PgSession } from './running/session.ts'
import { MadeTables, Transactions } from './running/transactions.ts'
import { SharedTime } from '../shared-time.ts'
import { type StateHead, openTables, prepareTables, readStateHead, requireOurs } from './tables.ts'
import { snapshotHeader, snapshotText } from '../embedded/snapshot.ts'
import type {
  Collection,
  CollectionSpec,
  ConnectionCounts,
  Store,
  Stored,
  StoreStats,
  Transaction,
  TransactionOptions,
} from '../store.ts'
import { type Collections, during, specIn, StoredCollection } from '../stored-collection.ts'
import { declaredSpec, type TableSpec } from '../embedded/table.ts'
import { follow, inTime, repeat, type Turn } from '#leaf/turns.ts'

const sweepBatch = 500
/** The number of looks at the database between two counts of everything in it. */
const looksPerCount = 12

/**
 * Opens the state in a database, whose tables are made when they are missing. AppError `unavailable` when it
 * cannot be reached or refuses us, `invalid` when a newer version wrote it.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  return await whenThereIsRoom(options, async () => {
    const store = new PostgresStore(options, await Database.open(options))
    try {
      await store.open()
      store.whenClosed = options.closed
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  })
}

/** The PostgreSQL store: it implements the contract, and adds what the program does with the whole state. */
export class PostgresStore implements Store {
  readonly clock: SharedTime
  readonly believed: SharedTime
  /** Called once the store is closed. */
  whenClosed: (() => void) | undefined
  readonly #options: PostgresStoreOptions
  readonly #schema: number
  readonly #database: Database
  readonly #transactions: Transactions
  readonly #collections: Collections = new Map()
  readonly #made = new MadeTables()
  readonly #sizes = new Sizes()
  /** The reason why the state now belongs to another version. */
  #foreign: string | undefined
  #looks = 0
  #connections: ConnectionCounts | undefined
  readonly #listener: Listener
  readonly #indexes: IndexBuilder
  readonly ledger: PostgresLedger
  #timers: NodeJS.Timeout[] = []
  #closed = false

  constructor(options: PostgresStoreOptions, database: Database) {
    this.#options = options
    this.clock = this.believed = new SharedTime(options.clock)
    this.#schema = schemaAfter(options.migrations ?? [])
    this.#database = database
    this.ledger = new PostgresLedger(database)
    this.#indexes = new IndexBuilder(database, options.log)
    this.#listener = new Listener(database, options.log, options.announcements)
    this.#transactions = new Transactions({
      database,
      listener: this.#listener,
      ledger: this.ledger,
      indexes: this.#indexes,
      sizes: this.#sizes,
      made: this.#made,
      clock: this.clock,
      asked: () => options.clock.now(),
      checked: (asked, head) => {
        requireOurs(head, this.#schema)
        this.#noteTime(asked, head)
        if (this.clock.fault !== undefined) throw new AppError('unavailable', this.clock.fault)
      },
    })
  }

  /** Makes the missing tables and migrates the documents. */
  async open(): Promise<void> {
    const { migrations = [], folder } = this.#options
    await prepareTables((work) => this.#database.found(work))
    await this.#database.found(async (on) => {
      const asked = this.#options.clock.now()
      const head = await openTables(on, this.#schema)
      this.#noteTime(asked, head)
      const report = await migrateTables(on, head, migrations, { clock: this.clock, folder })
      await this.#made.learn(on, await readStateHead(on))
      if (report.steps.length > 0) this.#options.log.info('the state is brought up to date', { ...report })
    })
    await this.#listener.open()
    this.#connections = await this.#database.count()
    await this.#database.read((on) => this.#sizes.count(on))
    const failed = (what: string) => (error: unknown) => {
      if (!this.#closed) this.#options.log.warn(what, { reason: messageOf(error) })
    }
    const { sweepMilliseconds = 30_000, lookMilliseconds = 5_000 } = this.#options
    this.#timers = [
      repeat(sweepMilliseconds, () => this.sweep(), failed('ended documents were not removed')),
      repeat(lookMilliseconds, () => this.#glance(), failed('the database of the state does not answer')),
    ]
  }

  collection<T extends Stored>(spec: CollectionSpec<T>): Collection<T> {
    const known = this.#collections.get(spec.name)
    const wanted = declaredSpec(spec, known?.spec)
    if (known) return known as unknown as Collection<T>
    const collection = new StoredCollection<Stored>(wanted, {
      get: (id) => this.#database.read((on) => readDocument(on, this.#view(wanted), id)),
      reads: () => rowReads((work) => this.#database.read((on) => work(on, this.#view(wanted)))),
      change: async (work) => {
        let result: unknown
        await this.#transactions.run([], async (session) => {
          await session.declare(wanted)
          result = await work(session)
        })
        return result as never
      },
    })
    this.#collections.set(spec.name, collection)
    this.#indexes.want(wanted)
    return collection as unknown as Collection<T>
  }

  async transaction<R>(
    work: (transaction: Transaction) => Promise<R>,
    { reads = [] }: TransactionOptions = {},
  ): Promise<R> {
    let then: (() => void)[] = []
    let result: R
    const declared = reads.map(([collection, id]) => [specIn(this.#collections, collection), id] as const)
    await this.#transactions.run(declared, async (session) => {
      const running: Turn = { over: false }
      then = []
      const transaction: Transaction = {
        in: (collection) => this.#within(collection, session, running),
        onCommit: (step) => void then.push(step),
        announce: (message) => session.out.announce(message),
        time: () => session.time(),
      }
      try {
        result = await inTime(work(transaction), this.#options.transactionMilliseconds ?? 30_000)
      } finally {
        running.over = true
        // Statements that the work did not await are still under way.
        await session.settled()
      }
      return transaction
    })
    follow(then, this.#options.log)
    return result!
  }

  hear(listener: (message: string | undefined) => void): void {
    this.#listener.hear(listener)
  }

  stats(): StoreStats {
    const fault = this.#foreign ?? this.#database.fault ?? this.clock.fault
    const { told } = this.clock
    const { left: building, lacks } = this.#indexes
    return {
      kind: 'postgres',
      documents: this.#sizes.documents([...this.#collections.keys()]),
      bytes: this.#sizes.bytes,
      building,
      ...(this.#connections && { connections: this.#connections }),
      ...(lacks !== undefined && { lacks }),
      unproven: this.#listener.unproven,
      older: this.#database.history.lacking?.what,
      ...(told !== undefined && { clock: told }),
      ...(fault !== undefined && { fault }),
    }
  }

  /** Removes expired documents and returns their number. Runs by itself. */
  async sweep(): Promise<number> {
    let swept = 0
    const specs = [...this.#collections.values()].map(({ spec }) => spec)
    for (let most = sweepBatch; most === sweepBatch && !this.#closed;) {
      let counts: readonly number[] = []
      await this.#transactions.run([], async (session) => {
        counts = await Promise.all(specs.map((spec) => session.sweep(spec, sweepBatch)))
      })
      most = Math.max(0, ...counts)
      swept += counts.reduce((sum, count) => sum + count, 0)
    }
    return swept
  }

  /** Checks that the database answers, and counts what is in it. Runs by itself. */
  async look(): Promise<void> {
    await this.#learnAnew()
    await this.#database.read((on) => this.#sizes.count(on))
  }

  /** Writes the state of this moment to a stream and ends the stream. */
  async streamTo(stream: Writable): Promise<void> {
    await this.#database.readOnOne(async (on) => {
      const documents = await picture(on)
      await streamBackup(snapshotText(snapshotHeader(documents.head.schema, this.clock), documents), stream)
      await documents.end()
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    for (const timer of this.#timers) clearInterval(timer)
    await this.#transactions.idle()
    this.#closed = true
    await Promise.all([this.#listener.close(), this.#indexes.close()])
    await this.#database.close()
    this.whenClosed?.()
  }

  #within<T extends Stored>(collection: Collection<T>, session: PgSession, running: Turn): Collection<T> {
    const spec = specIn(this.#collections, collection)
    const open = during(running, session)
    // A read before another daemon made the collection's table would not conflict with what that one writes.
    const declared = async (): Promise<PgSession> => {
      await open().declare(spec)
      return open()
    }
    return new StoredCollection<Stored>(spec, {
      get: async (id) => (await declared()).get(spec, id),
      reads: () => rowReads(async (work) => (await declared()).read(spec, work)),
      change: async (work) => work(await declared()),
    }) as unknown as Collection<T>
  }

  #view(spec: TableSpec): Known {
    return known(spec, this.clock.now(), this.#sizes)
  }

  #noteTime(asked: number, head: StateHead): void {
    this.clock.noteAloud(asked, this.#options.databaseClock?.now() ?? head.time, this.#options.log)
  }

  async #learnAnew(): Promise<void> {
    const asked = this.#options.clock.now()
    await this.#database.read(async (on) => {
      try {
        const head = await readStateHead(on)
        this.#noteTime(asked, head)
        requireOurs(head, this.#schema)
        if (head.server !== this.#made.server) await this.#made.learn(on, head)
        this.#foreign = undefined
      } catch (error) {
        if (error instanceof AppError) this.#foreign = error.message
        throw error
      }
    })
  }

  async #glance(): Promise<void> {
    // A server that vanished silently leaves statements waiting long; a health check need not wait.
    const silence = setTimeout(
      () => this.#database.refuse('the database does not answer'),
      this.#options.silenceMilliseconds ?? 5_000,
    )
    try {
      const counted = this.#database.count().then((counts) => (this.#connections = counts))
      await Promise.all([this.#learnAnew(), this.#listener.look(), this.#database.history.keep(), counted])
    } finally {
      clearTimeout(silence)
    }
    if (++this.#looks % looksPerCount === 0) await this.#database.read((on) => this.#sizes.count(on))
  }
}
