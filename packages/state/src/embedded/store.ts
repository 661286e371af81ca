import type { Writable } from 'node:stream'
import { Low } from 'lowdb'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { inOwnTurns, inTurns, type Slices } from '#leaf/slices.ts'
import type { Stop } from '#leaf/stop.ts'
import { streamBackup } from '../backup.ts'
import { openPrivateFolder } from '#leaf/files.ts'
import { lockState, type StateLock } from '../lock.ts'
import { type Migration, schemaAfter } from '../migrate.ts'
import { Overlay } from './overlay.ts'
import { noRoom, Room, weightOf } from './room.ts'
import { prepared, tableReads } from './search.ts'
import { keptAfterEnd, SeenTime } from '../shared-time.ts'
import { State, type StoredChange } from './state.ts'
import { inOrder, StateFile } from './state-file.ts'
import type { Collection, CollectionSpec, Store, Stored, StoreStats, Transaction } from '../store.ts'
import { type Collections, during, specIn, StoredCollection } from '../stored-collection.ts'
import { declaredSpec } from './table.ts'
import { follow, inTime, type Turn, Turns } from '#leaf/turns.ts'
import { upgrade } from '../upgrade.ts'

const sweepBatch = 500
const restMilliseconds = 60_000

export interface EmbeddedStoreOptions {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  /** The folder's lock when the caller has taken it already; it is then not released by `close`. */
  readonly lock?: StateLock
  /** Milliseconds between two removals of expired documents. */
  readonly sweepMilliseconds?: number
  /** Milliseconds that the work of a transaction may take before it is given up: nobody else writes meanwhile. */
  readonly transactionMilliseconds?: number
  /** The journal's size in bytes below which no new snapshot is made. */
  readonly compactBytes?: number
  /** The migrations that bring an older state up to date; each step is kept whole or not at all. */
  readonly migrations?: readonly Migration[]
}

/**
 * Opens the state in a folder, which is made when it is missing. Everything is held in memory and every
 * transaction is on disk before it is acknowledged. AppError `conflict` when another process holds the
 * state, `invalid` when it is damaged or was written by a newer version.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  await openPrivateFolder(options.folder, options.log)
  const lock = options.lock ?? (await lockState(options.folder, options.clock))
  try {
    const store = new EmbeddedStore(options, lock)
    await store.open()
    return store
  } catch (error) {
    if (!options.lock) lock.release()
    throw error
  }
}

/** The embedded store: it implements the contract, and adds what only a store that owns its files can do. */
export class EmbeddedStore implements Store {
  readonly clock: Clock
  readonly believed: Clock = { now: () => this.#seen.look() }
  readonly #seen: SeenTime
  readonly #lock: StateLock
  readonly #options: EmbeddedStoreOptions
  readonly #file: StateFile
  readonly #low: Low<State>
  readonly #turns = new Turns()
  #told = 0
  readonly #room: Room
  readonly #collections: Collections = new Map()
  #undone = 0
  #compacting: Promise<void> | undefined
  #compactionRests = false
  #sweeper: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: EmbeddedStoreOptions, lock: StateLock) {
    this.clock = options.clock
    this.#seen = new SeenTime(options.clock)
    this.#lock = lock
    this.#options = options
    const { folder, log, migrations = [] } = options
    const schema = schemaAfter(migrations)
    this.#room = new Room(folder, log)
    const [room, undone] = [this.#room, () => void this.#undone++]
    this.#file = new StateFile({ folder, room, clock: this.believed, log, schema, undone })
    this.#low = new Low(this.#file, new State(schema))
  }

  /** Reads the state and migrates it to the present schema. */
  async open(): Promise<void> {
    try {
      await this.#low.read()
    } catch (error) {
      this.#room.close()
      throw error
    }
    const odd = this.#file.seen === undefined ? undefined : this.#seen.begin(this.#file.seen)
    if (odd !== undefined) this.#options.log.warn(odd)
    try {
      await upgrade(this.#options, this.#low, this.#file)
    } catch (error) {
      this.#room.close()
      await this.#file.journal.close()
      throw error
    }
    this.#sweeper = setInterval(() => {
      this.sweep().catch((error: unknown) =>
        this.#options.log.warn('ended documents were not removed', { error }),
      )
    }, this.#options.sweepMilliseconds ?? 30_000).unref()
  }

  collection<T extends Stored>(spec: CollectionSpec<T>): Collection<T> {
    const known = this.#collections.get(spec.name)
    const table = this.#low.data.table(spec.name)
    const wanted = declaredSpec(spec, known && table.spec)
    if (known) return known as unknown as Collection<T>
    table.declare(wanted)
    const inOrder = <R>(work: Slices<R>, stop?: Stop): Promise<R> => inTurns(prepared(table, work), stop)
    const reads = tableReads(() => ({ table, now: this.clock.now() }), inOrder)
    // Even if nobody queries the table: writes have to be kept aside until it is prepared.
    void inTurns(table.prepare())
    const collection = new StoredCollection<Stored>(wanted, {
      get: async (id) => table.living(id, this.clock.now()),
      // A query may read much and takes turns; a mere lookup sees one moment.
      reads: () => reads,
      change: (work) => this.#change((overlay) => Promise.resolve(work(overlay))),
    })
    this.#collections.set(spec.name, collection)
    return collection as unknown as Collection<T>
  }

  async transaction<R>(work: (transaction: Transaction) => Promise<R>): Promise<R> {
    const then: (() => void)[] = []
    const result = await this.#change(async (overlay, running) => {
      const transaction: Transaction = {
        in: (collection) => this.#within(collection, overlay, running),
        onCommit: (work) => void then.push(work),
        announce: () => undefined,
        // After all that were given before.
        time: async () => (this.#told = Math.max(this.clock.now(), this.#told + 0.001)),
      }
      return await inTime(work(transaction), this.#options.transactionMilliseconds ?? 30_000)
    })
    follow(then, this.#options.log)
    return result
  }

  requireRoom(): void {
    const { shortage } = this.#room
    if (shortage !== undefined) throw noRoom(shortage)
  }

  hear(): void {
    // One process holds the lock, so there is nobody to hear.
  }

  stats(): StoreStats {
    const { told, fault = this.#file.journal.lines.fault } = this.#seen
    const { shortage } = this.#room
    return {
      kind: 'embedded',
      documents: this.#low.data.counts(),
      bytes: this.#file.bytes,
      ...(told !== undefined && { clock: told }),
      ...(fault !== undefined && { fault }),
      ...(shortage !== undefined && { shortage }),
    }
  }

  /** Removes expired documents and returns their number. Runs by itself. */
  async sweep(): Promise<number> {
    let swept = 0
    for (const table of this.#low.data.tables.values()) {
      for (;;) {
        const before = this.#seen.look() - keptAfterEnd
        const ended = table.expiry?.over(before, sweepBatch) ?? []
        if (ended.length === 0 || this.#closed) break
        await this.#change((overlay) => {
          for (const id of ended) {
            // The document may have been put again since.
            if (table.get(id) && !table.living(id, before)) overlay.remove(table.name, id)
          }
          return Promise.resolve()
        })
        swept += ended.length
      }
    }
    return swept
  }

  /** Makes a new snapshot and drops the journal before it, while requests go on. Runs by itself. */
  async compact(): Promise<void> {
    this.#lock.requireHeld()
    this.#compacting ??= this.#low.write().finally(() => {
      this.#compacting = undefined
    })
    await this.#compacting
  }

  /** Writes the state of this moment to a stream and ends the stream. */
  async streamTo(stream: Writable): Promise<void> {
    this.#requireOpen()
    await inOrder(this.#low.data)
    await streamBackup(this.#file.picture(this.#low.data, 0), stream)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    clearInterval(this.#sweeper)
    this.#room.close()
    await this.#turns.take()
    this.#closed = true
    this.#turns.done()
    await this.#compacting?.catch(() => undefined)
    await this.#file.journal.close()
    if (!this.#options.lock) this.#lock.release()
  }

  /** Runs work with no other write in between, and resolves when its changes are on disk. */
  async #change<R>(work: (overlay: Overlay, running: Turn) => Promise<R>): Promise<R> {
    const running: Turn = { over: false }
    let result: R
    let durable: Promise<void>
    await this.#turns.take()
    try {
      this.#requireOpen()
      const overlay = new Overlay(this.#low.data, () => this.clock.now())
      const undone = this.#undone
      result = await work(overlay, running)
      if (undone !== this.#undone) {
        throw new AppError('unavailable', 'what this was based on could not be written; try again')
      }
      durable = this.#commit(overlay)
    } finally {
      running.over = true
      // The next change may begin while the disk is busy with this one: so they share a write.
      this.#turns.done()
    }
    await durable
    this.#compactIfDue()
    return result
  }

  #commit(overlay: Overlay): Promise<void> {
    const { journal } = this.#file
    const changes = overlay.changes()
    // Even a transaction that only read may return what others are still writing, so it waits for the disk.
    if (changes.length === 0) return journal.lines.settled()
    journal.lines.requireWritable()
    this.#lock.requireHeld()
    this.#seen.requireRight()
    const growth = this.#growthOf(changes)
    this.#room.requireFor(growth)
    const line = journal.lineOf(changes, this.#seen.mark())
    const undo = this.#low.data.apply(changes)
    this.#room.grew(growth)
    return journal.append(line, () => void this.#low.data.apply(undo))
  }

  #growthOf(changes: readonly StoredChange[]): number {
    let growth = 0
    for (const { collection, id, document } of changes)
      growth += weightOf(document) - weightOf(this.#low.data.table(collection).get(id))
    return growth
  }

  #within<T extends Stored>(collection: Collection<T>, overlay: Overlay, running: Turn): Collection<T> {
    const spec = specIn(this.#collections, collection)
    const { name } = spec
    const open = during(running, overlay)
    const inOrder = <R>(work: Slices<R>): Promise<R> => inOwnTurns(prepared(this.#low.data.table(name), work))
    return new StoredCollection<Stored>(spec, {
      get: async (id) => open().get(name, id),
      reads: () => tableReads(() => open().view(name), inOrder),
      change: async (work) => work(open()),
    }) as unknown as Collection<T>
  }

  #requireOpen(): void {
    if (this.#closed) throw new AppError('unavailable', 'the state is closed')
  }

  #compactIfDue(): void {
    if (this.#compacting || this.#closed || this.#compactionRests) return
    if (!this.#file.isDue(this.#options.compactBytes ?? 32 << 20)) return
    this.compact().catch((error: unknown) => {
      this.#options.log.warn('no new snapshot of the state could be made', { error })
      // The journal grows on meanwhile; a full disk is not tried at every write, each time with a segment more.
      this.#compactionRests = true
      setTimeout(() => (this.#compactionRests = false), restMilliseconds).unref()
    })
  }
}
