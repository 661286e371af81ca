/** Reads and writes documents on one connection, inside a database transaction. What is written is sent as late as possible. */
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { Expiry } from '../../expiry.ts'
import { storable } from '../../plain-json.ts'
import type { Queryable } from '../servers/connection.ts'
import type { IndexKey } from '../../embedded/field-index.ts'
import { ourError } from '../servers/errors.ts'
import { keyOf } from './keys.ts'
import { known, type Known } from '../known.ts'
import { Outgoing, type OutgoingMark, type OutgoingOptions } from '../telling/outgoing.ts'
import { addedKeys, holdersOf } from './pending.ts'
import type { Sizes } from '../picture.ts'
import { readStored } from '../reading.ts'
import { SeenDocuments } from './seen.ts'
import { sweeping } from '../sweep.ts'
import { makeTable } from '../tables.ts'
import type { Stored } from '../../store.ts'
import type { Writes } from '../../stored-collection.ts'
import type { TableSpec } from '../../embedded/table.ts'
import { Turns } from '#leaf/turns.ts'

export interface SessionOptions extends OutgoingOptions {
  /** The collections that have a table. */
  readonly collections: ReadonlySet<string>
  readonly clock: Clock
  readonly sizes: Sizes
  /** True to look at once whether an id or a value is taken: a try that took it to be free failed. */
  readonly isCareful: boolean
}

/** The place in a session to which the work since can be undone. */
export interface Mark extends OutgoingMark {
  readonly seen: number
}

/** A running database transaction. */
export class PgSession implements Writes {
  readonly #given: SessionOptions
  readonly #turns = new Turns()
  readonly #seen = new SeenDocuments()
  /** What is sent to the database, and what waits to be. */
  readonly out: Outgoing
  /** The collections whose tables were made, or were there after all. */
  readonly made = new Map<string, TableSpec>()
  constructor(options: SessionOptions) {
    this.#given = options
    this.out = new Outgoing(options)
  }

  /** Reads documents, all at once, that the work will ask for one by one. */
  async load(reads: readonly (readonly [TableSpec, string])[]): Promise<void> {
    const wanted = new Map(reads.map(([{ name }, id]) => [keyOf(name, id), [name, id] as const]))
    await Promise.all([...wanted.values()].map(([name, id]) => this.#read(name, id)))
  }

  get(spec: TableSpec, id: string): Promise<Stored | undefined> {
    return this.#inTurn(async () => this.#living(spec, await this.#read(spec.name, id)))
  }

  /** Runs reads that see the transaction's own writes. */
  read<R>(spec: TableSpec, work: (on: Queryable, view: Known) => Promise<R>): Promise<R> {
    return this.#inTurn(async () => {
      this.out.met.add(keyOf(spec.name))
      const before = this.out.pending.touch(spec.name) ? this.out.flush() : undefined
      before?.catch(() => undefined)
      const result = await work(this.out.queryable, this.#view(spec))
      await before
      return result
    })
  }

  insert(spec: TableSpec, document: Stored): Promise<Stored> {
    return this.#inTurn(async () => {
      const copy = storable(spec.name, document)
      const isKnown = this.#given.isCareful || this.#seen.has(spec.name, copy.id)
      const old = isKnown ? await this.#read(spec.name, copy.id) : undefined
      if (this.#living(spec, old))
        throw new AppError('conflict', `${spec.name} ${JSON.stringify(copy.id)} exists already`)
      await this.#write(spec, old ? 'update' : 'insert', old, copy)
      return copy
    })
  }

  put(spec: TableSpec, document: Stored): Promise<Stored> {
    return this.#inTurn(async () => {
      const copy = storable(spec.name, document)
      const old = this.#seen.get(spec.name, copy.id)
      const kind = old ? 'update' : this.#seen.has(spec.name, copy.id) ? 'insert' : 'put'
      await this.#write(spec, kind, old, copy)
      return copy
    })
  }

  update(
    spec: TableSpec,
    id: string,
    change: (document: Stored) => Stored | undefined,
  ): Promise<Stored | undefined> {
    return this.#inTurn(async () => {
      const document = this.#living(spec, await this.#read(spec.name, id))
      if (!document) return undefined
      const changed = change(document)
      if (changed === undefined || changed === document) return document
      if (changed.id !== id) {
        throw new Error(`collection ${spec.name}: an update must not change the id ${id}`)
      }
      const copy = storable(spec.name, changed)
      await this.#write(spec, 'update', document, copy)
      return copy
    })
  }

  delete(spec: TableSpec, id: string): Promise<boolean> {
    return this.#inTurn(async () => {
      // Whether an insert that waits is possible shows when it is sent.
      if (this.out.pending.has(spec.name, id)) await this.out.flush()
      const old = await this.#read(spec.name, id)
      if (!old) return false
      this.#remove(spec, old)
      return this.#living(spec, old) !== undefined
    })
  }

  /** Removes documents of a collection that expired long ago; returns their number. */
  sweep(spec: TableSpec, most: number): Promise<number> {
    return this.#inTurn(async () => {
      const statement = sweeping(spec, most, this.#given.clock.now())
      const rows = statement ? await this.out.rows(statement) : []
      this.out.grow(spec.name, -rows.length)
      return rows.length
    })
  }

  /** Makes a missing table. Other daemons' indexes stay: during an update two versions of the site may share the database. */
  async declare(spec: TableSpec): Promise<void> {
    if (this.#given.collections.has(spec.name) || this.made.has(spec.name)) return
    await this.#inTurn(() => makeTable(this.out.queryable, spec))
    this.made.set(spec.name, spec)
  }

  /** Returns the time of the database at the begin: of two that change one document, the later has the later time. */
  async time(): Promise<number> {
    return (await this.#given.begun).time
  }

  mark(): Mark {
    return { ...this.out.mark(), seen: this.#seen.changes }
  }

  /** Undoes what was done since the mark; false when some of it was sent already. */
  undo(mark: Mark): boolean {
    if (!this.out.undo(mark)) return false
    this.#seen.undo(mark.seen)
    return true
  }

  /** Settles when no work is under way any more. */
  async settled(): Promise<void> {
    await this.#turns.take()
    this.#turns.done()
  }

  /** Settles when what the work took to be free is known to be free. */
  async confirm(): Promise<void> {
    if (!this.out.failure && this.out.pending.assume) await this.flush()
  }

  /** Sends the writes that wait. */
  flush(): Promise<void> {
    return this.#inTurn(() => this.out.flush())
  }

  /** Reads the document of an id, expired or not. */
  async #read(name: string, id: string): Promise<Stored | undefined> {
    if (this.#seen.has(name, id)) return this.#seen.get(name, id)
    this.out.met.add(keyOf(name, id))
    const document = await readStored(this.out.queryable, name, id)
    this.#seen.set(name, id, document)
    return document
  }

  async #write(
    spec: TableSpec,
    kind: 'insert' | 'update' | 'put',
    old: Stored | undefined,
    document: Stored,
  ): Promise<void> {
    if (this.#given.isCareful)
      for (const field of spec.unique) {
        const added = addedKeys(field, document, old)
        if (added.length > 0) await this.#requireFree(spec, document.id, field, added)
      }
    this.out.pending.add({ kind, spec, id: document.id, document, old, isChecked: this.#given.isCareful })
    this.#seen.set(spec.name, document.id, document)
  }

  /** Throws when other documents hold the values. Expired ones release theirs, and are removed so that they never come back. */
  async #requireFree(spec: TableSpec, id: string, field: string, wanted: readonly IndexKey[]): Promise<void> {
    if (this.out.pending.touch(spec.name)) await this.out.flush()
    for (const { holder, value } of await holdersOf(this.out.queryable, spec, { id, field, wanted })) {
      if (this.#living(spec, holder))
        throw new AppError('conflict', `${spec.name}: ${field} ${JSON.stringify(value)} is taken`)
      this.#remove(spec, holder)
    }
  }

  #remove(spec: TableSpec, old: Stored): void {
    this.out.pending.add({ kind: 'delete', spec, id: old.id, document: undefined, old, isChecked: true })
    this.#seen.set(spec.name, old.id, undefined)
  }

  #view(spec: TableSpec): Known {
    return known(spec, this.#given.clock.now(), this.#given.sizes)
  }

  #living(spec: TableSpec, document: Stored | undefined): Stored | undefined {
    return document && !expiryOf(spec)?.isOver(document, this.#given.clock.now()) ? document : undefined
  }

  /** Runs one piece of work after the other, because each reads first and then writes. */
  async #inTurn<R>(work: () => Promise<R>): Promise<R> {
    await this.#turns.take()
    try {
      if (this.out.failure) throw this.out.failure.error
      return await work()
    } catch (error) {
      throw ourError(error)
    } finally {
      this.#turns.done()
    }
  }
}

function expiryOf({ expires }: TableSpec): Expiry | undefined {
  return expires === undefined ? undefined : new Expiry(expires)
}
