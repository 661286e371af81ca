/**
 * The state in PostgreSQL, shared by any number of daemons. Every write is a SERIALIZABLE transaction: nobody holds a
 * lock that another waits for longer than for the row that both write, and of those that would come between what
 * the other read and wrote, one is begun anew. After some attempts it is run with nobody beside it.
 * A connection that breaks in the moment of keeping is told as unavailable, although all may have been kept.
 */
import type { Writable } from 'node:stream'
import { AppError, messageOf } from '../core/errors.ts'
import { streamBackup } from './backup.ts'
import { schemaAfter } from './migrate.ts'
import type { Queryable } from './postgres-connection.ts'
import { Database } from './postgres-database.ts'
import { Declarations } from './postgres-declarations.ts'
import { IndexBuilder } from './postgres-indexes.ts'
import { PostgresLedger } from './postgres-ledger.ts'
import type { PostgresStoreOptions } from './postgres-options.ts'
import { Listener } from './postgres-listener.ts'
import { migrateTables } from './postgres-migrate.ts'
import { picture, Sizes } from './postgres-picture.ts'
import { covers, databaseSpec, known, type Known } from './postgres-known.ts'
import { readDocument } from './postgres-reading.ts'
import { rowReads } from './postgres-search.ts'
import { PgSession } from './postgres-session.ts'
import { SharedTime } from './shared-time.ts'
import { type StateHead, openTables, readStateHead, readSpecs, requireOurs } from './postgres-tables.ts'
import { snapshotHeader, snapshotText } from './snapshot.ts'
import type { Collection, CollectionSpec, Store, Stored, StoreStats, Transaction } from './store.ts'
import { type Collections, during, specIn, StoredCollection } from './stored-collection.ts'
import type { TableSpec } from './table.ts'
import { follow, inTime, repeat, type Turn, Turns } from './turns.ts'

const sweepBatch = 500
/** How many looks at the database pass between two counts of everything in it. */
const looksPerCount = 12

/**
 * Opens the state in a database, whose tables are made when they are missing. AppError `unavailable` when it
 * cannot be reached or refuses us, `invalid` when a newer version wrote it.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const { url, connections = 8 } = options
  const database = await Database.open({ url, connections })
  const store = new PostgresStore(options, database)
  try {
    await store.open()
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The PostgreSQL store: the contract, and what the program does with the whole of it. */
export class PostgresStore implements Store {
  readonly clock: SharedTime
  readonly believed: SharedTime
  readonly #options: PostgresStoreOptions
  readonly #schema: number
  readonly #database: Database
  // Transactions of this process wait here, not each with a connection of its own.
  readonly #turns = new Turns()
  readonly #collections: Collections = new Map()
  /** How the collections can be looked up, as of the generation. */
  #specs = new Map<string, TableSpec>()
  #generation = -1
  readonly #sizes = new Sizes()
  /** Why the state is another version's now. */
  #foreign: string | undefined
  #looks = 0
  readonly #listener: Listener
  readonly #indexes: IndexBuilder
  readonly #declarations: Declarations
  readonly ledger: PostgresLedger
  #timers: NodeJS.Timeout[] = []
  #closed = false

  constructor(options: PostgresStoreOptions, database: Database) {
    this.#options = options
    this.clock = this.believed = new SharedTime(options.clock)
    this.#schema = schemaAfter(options.migrations ?? [])
    this.#database = database
    this.ledger = new PostgresLedger(database)
    this.#indexes = new IndexBuilder(() => database.single(), options.log)
    this.#declarations = new Declarations((specs) => {
      return this.#inSession(async (session) => {
        for (const spec of specs) await session.declare(spec)
      }, true)
    }, options.log)
    this.#listener = new Listener(() => database.single(), options.log)
  }

  /** Makes the tables where they are missing, and brings the documents up to date. */
  async open(): Promise<void> {
    const { migrations = [], backupFolder: folder } = this.#options
    await this.#database.found(async (on) => {
      const asked = this.#options.clock.now()
      const head = await openTables(on, this.#schema)
      this.#noteTime(asked, head)
      const report = await migrateTables(on, head, migrations, { clock: this.clock, folder })
      await this.#learn(on, await readStateHead(on))
      if (report.steps.length > 0) this.#options.log.info('the state is brought up to date', { ...report })
    })
    await this.#listener.open()
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
    const wanted = databaseSpec(spec, known?.spec)
    if (known) return known as unknown as Collection<T>
    const collection = new StoredCollection<Stored>(wanted, {
      get: (id) => this.#database.read((on) => readDocument(on, this.#view(wanted), id)),
      ...rowReads((work) => this.#database.read((on) => work(on, this.#view(wanted)))),
      change: async (work) => {
        const missing = this.#declarations.isMissing(wanted, this.#specs.get(wanted.name))
        if (missing) await this.#declarations.now([wanted])
        return await this.#inSession(async (session) => work(session))
      },
    })
    this.#collections.set(spec.name, collection)
    this.#indexes.want(wanted)
    if (!covers(this.#specs.get(spec.name), wanted)) this.#declarations.soon(wanted)
    return collection as unknown as Collection<T>
  }

  async transaction<R>(work: (transaction: Transaction) => Promise<R>): Promise<R> {
    await this.#turns.take()
    let then: (() => void)[] = []
    const endings = this.ledger.endings()
    let result: R
    try {
      result = await this.#inSession(async (session, on) => {
        const running: Turn = { over: false }
        then = []
        endings.over(false)
        const transaction: Transaction = {
          in: (collection) => this.#within(collection, session, running),
          onCommit: (step) => void then.push(step),
          announce: (message) => session.announce(message),
        }
        let done: R
        try {
          done = await inTime(work(transaction), this.#options.transactionMilliseconds ?? 30_000)
        } finally {
          running.over = true
          // What the work did not wait for is under way still.
          await session.settled()
        }
        if (!session.failure) await endings.write(transaction, on)
        return done
      })
      endings.over(true)
    } finally {
      endings.over(false)
      this.#turns.done()
    }
    follow(then, this.#options.log)
    return result
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
      ...(lacks !== undefined && { lacks }),
      ...(told !== undefined && { clock: told }),
      ...(fault !== undefined && { fault }),
    }
  }

  /** Removes documents that have ended; answers how many. Happens by itself. */
  async sweep(): Promise<number> {
    let swept = 0
    for (let count = sweepBatch; count === sweepBatch && !this.#closed; swept += count)
      count = await this.#inSession((session) => session.sweep(sweepBatch))
    return swept
  }

  /** Looks whether the database answers and counts what is in it. Happens by itself. */
  async look(): Promise<void> {
    await this.#learnAnew()
    await this.#database.read((on) => this.#sizes.count(on))
  }

  /** Writes the state of this moment to a stream, which is ended. */
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
    await this.#turns.take()
    this.#closed = true
    this.#declarations.close()
    this.#turns.done()
    await Promise.all([this.#listener.close(), this.#indexes.close()])
    await this.#database.close()
    this.#options.closed?.()
  }

  /** Runs work in a transaction of the database, and answers when what it changed is kept. */
  async #inSession<R>(work: (session: PgSession, on: Queryable) => Promise<R>, alone = false): Promise<R> {
    const asked = this.#options.clock.now()
    const { result, session } = await this.#database.write(alone, async ({ on, head }) => {
      requireOurs(head, this.#schema)
      this.ledger.server = head.server
      this.#noteTime(asked, head)
      if (this.clock.fault !== undefined) throw new AppError('unavailable', this.clock.fault)
      if (head.generation !== this.#generation) await this.#learn(on, head)
      const session = new PgSession({ on, specs: this.#specs, clock: this.clock, sizes: this.#sizes })
      const result = await work(session, on)
      if (session.failure) throw session.failure.error
      return { result, session }
    })
    this.#sizes.grow(session.growth)
    if (session.rebuilt.size > 0) this.#specs = new Map([...this.#specs, ...session.rebuilt])
    return result
  }

  #within<T extends Stored>(collection: Collection<T>, session: PgSession, running: Turn): Collection<T> {
    const spec = specIn(this.#collections, collection)
    const open = during(running, session)
    return new StoredCollection<Stored>(spec, {
      get: async (id) => open().get(spec, id),
      ...rowReads((work) => open().read(spec, work)),
      change: async (work) => {
        if (this.#declarations.isMissing(spec, open().specOf(spec.name))) await open().declare(spec)
        return await work(open())
      },
    }) as unknown as Collection<T>
  }

  #view(spec: TableSpec): Known {
    return known(spec, this.#specs.get(spec.name), { now: this.clock.now(), sizes: this.#sizes })
  }

  /** Takes over how the collections can be looked up, and refuses a state that a newer version has taken over. */
  async #learn(on: Queryable, head: StateHead): Promise<void> {
    requireOurs(head, this.#schema)
    this.#specs = await readSpecs(on)
    this.#generation = head.generation
  }

  #noteTime(asked: number, head: StateHead): void {
    this.clock.noteAloud(asked, this.#options.databaseClock?.now() ?? head.time, this.#options.log)
  }

  async #learnAnew(): Promise<void> {
    const asked = this.#options.clock.now()
    await this.#database.read(async (on) => {
      const head = await readStateHead(on)
      this.#noteTime(asked, head)
      try {
        if (head.generation === this.#generation) requireOurs(head, this.#schema)
        else await this.#learn(on, head)
        this.#foreign = undefined
      } catch (error) {
        if (error instanceof AppError) this.#foreign = error.message
        throw error
      }
    })
  }

  async #glance(): Promise<void> {
    // A server that is gone without a word lets statements wait long; who asks how we are need not.
    const silence = setTimeout(
      () => this.#database.refuse('the database does not answer'),
      this.#options.silenceMilliseconds ?? 5_000,
    )
    try {
      await Promise.all([this.#learnAnew(), this.#listener.look()])
    } finally {
      clearTimeout(silence)
    }
    if (++this.#looks % looksPerCount === 0) await this.#database.read((on) => this.#sizes.count(on))
  }
}
