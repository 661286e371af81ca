/** Reading and writing documents on one connection, inside a transaction of the database. */
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { Expiry } from './expiry.ts'
import { storable } from './plain-json.ts'
import { ourError, type Queryable, type Statement } from './postgres-connection.ts'
import { makeEntries } from './postgres-declarations.ts'
import {
  adding,
  endAt,
  entriesOf,
  type Entry,
  idBytes,
  isTaken,
  replacing,
  textOf,
} from './postgres-entries.ts'
import { channel } from './postgres-listener.ts'
import { covers, known, type Known } from './postgres-known.ts'
import type { Sizes } from './postgres-picture.ts'
import { parsed } from './postgres-reading.ts'
import { keptAfterEnd } from './shared-time.ts'
import { readSpecs } from './postgres-tables.ts'
import type { Stored } from './store.ts'
import type { Writes } from './stored-collection.ts'
import type { TableSpec } from './table.ts'
import { Turns } from './turns.ts'

export interface SessionOptions {
  readonly on: Queryable
  readonly specs: ReadonlyMap<string, TableSpec>
  readonly clock: Clock
  readonly sizes: Sizes
}

/** One transaction of the database under way. */
export class PgSession implements Writes {
  readonly #given: SessionOptions
  readonly #specs: Map<string, TableSpec>
  readonly #turns = new Turns()
  /** What lies under an id, ended or not, by collection: what was read once holds until the end. */
  readonly #seen = new Map<string, Map<string, Stored | undefined>>()
  /** By how much the number of documents of each collection grew. */
  readonly growth = new Map<string, number>()
  /** The collections whose entries were made anew. */
  readonly rebuilt = new Map<string, TableSpec>()
  #failure: { readonly error: unknown } | undefined

  constructor(options: SessionOptions) {
    this.#given = options
    this.#specs = new Map(options.specs)
  }

  /** What a statement of the database failed with: from then on it keeps nothing of this. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  /** How a collection can be looked up, as far as this has come. */
  specOf(name: string): TableSpec | undefined {
    return this.#specs.get(name)
  }

  get(spec: TableSpec, id: string): Promise<Stored | undefined> {
    return this.#inTurn(async () => this.#living(spec, await this.#read(spec.name, id)))
  }

  /** Reads that see what this has written. */
  read<R>(spec: TableSpec, work: (on: Queryable, view: Known) => Promise<R>): Promise<R> {
    return this.#inTurn(() => work(this.#guarded, this.#view(spec)))
  }

  insert(spec: TableSpec, document: Stored): Promise<Stored> {
    return this.#inTurn(async () => {
      const copy = storable(spec.name, document)
      const old = await this.#read(spec.name, copy.id)
      if (this.#living(spec, old))
        throw new AppError('conflict', `${spec.name} ${JSON.stringify(copy.id)} exists already`)
      await this.#write(spec, old, copy)
      return copy
    })
  }

  put(spec: TableSpec, document: Stored): Promise<Stored> {
    return this.#inTurn(async () => {
      const copy = storable(spec.name, document)
      await this.#write(spec, await this.#read(spec.name, copy.id), copy)
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
      await this.#write(spec, document, copy)
      return copy
    })
  }

  delete(spec: TableSpec, id: string): Promise<boolean> {
    return this.#inTurn(async () => this.#living(spec, await this.#remove(spec.name, id)) !== undefined)
  }

  /** Removes documents that ended long ago; answers how many. */
  sweep(most: number): Promise<number> {
    return this.#inTurn(async () => {
      const rows = await this.#rows({
        text: `DELETE FROM assistant_core.document d USING (
            SELECT collection, id FROM assistant_core.document WHERE ends < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
          ) AS ended WHERE d.collection = ended.collection AND d.id = ended.id RETURNING d.collection`,
        values: [this.#given.clock.now() - keptAfterEnd, most],
      })
      for (const [name] of rows) this.#grow(name as string, -1)
      return rows.length
    })
  }

  /**
   * Makes sure that a collection can be looked up as it is declared. Indexes that another daemon declared
   * stay: during an update two versions of the site may share the database. The caller writes alone.
   */
  declare(wanted: TableSpec): Promise<void> {
    return this.#inTurn(async () => {
      const known = (await readSpecs(this.#guarded)).get(wanted.name)
      if (known && covers(known, wanted)) {
        this.#specs.set(wanted.name, known)
        return
      }
      const indexes = [...new Set([...(known?.indexes ?? []), ...wanted.indexes])].sort()
      const spec: TableSpec = { ...wanted, indexes }
      await makeEntries(this.#guarded, spec)
      await this.#rows({
        text: `INSERT INTO assistant_core.collection (name, spec) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET spec = excluded.spec`,
        values: [spec.name, JSON.stringify({ ...spec, name: undefined })],
      })
      await this.#rows({ text: 'UPDATE assistant_core.state SET generation = generation + 1', values: [] })
      this.#specs.set(spec.name, spec)
      this.rebuilt.set(spec.name, spec)
    })
  }

  /** Has a message told to every daemon when this is kept. */
  announce(message: string): void {
    const telling = this.#inTurn(() =>
      this.#rows({ text: 'SELECT pg_notify($1, $2)', values: [channel, message] }),
    )
    // What goes wrong is the failure of the whole.
    telling.catch(() => undefined)
  }

  /** Settles when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#turns.take()
    this.#turns.done()
  }

  /** What lies under an id, ended or not. */
  async #read(name: string, id: string): Promise<Stored | undefined> {
    const seen = this.#seen.get(name)
    if (seen?.has(id)) return seen.get(id)
    const text = 'SELECT body FROM assistant_core.document WHERE collection = $1 AND id = $2'
    const [row] = await this.#rows({ keep: true, text, values: [name, idBytes(id)] })
    const document = row && parsed(row[0])
    this.#note(name, id, document)
    return document
  }

  /** Writes a document over what `#read` found. */
  async #write(spec: TableSpec, old: Stored | undefined, document: Stored): Promise<void> {
    const { name } = spec
    const stored = this.#specs.get(name) ?? spec
    const before = new Map(old ? entriesOf(stored, old).map((entry) => [textOf(entry), entry]) : [])
    const after = new Map(entriesOf(stored, document).map((entry) => [textOf(entry), entry]))
    const gone = [...before.values()].filter((entry) => !after.has(textOf(entry)))
    const added = [...after.values()].filter((entry) => !before.has(textOf(entry)))
    await this.#requireFree(spec, document.id, added)
    const values = [name, idBytes(document.id), JSON.stringify(document), endAt(stored, document)]
    await this.#rows(old ? replacing(values, gone, added) : adding(values, added)).catch((error: unknown) => {
      throw isTaken(error) ? taken(name, 'a unique value of it', error) : error
    })
    if (old === undefined) this.#grow(name, 1)
    this.#note(name, document.id, document)
  }

  /** Refuses values that others hold. Those that have ended give theirs free, and never come back beside the new one. */
  async #requireFree(spec: TableSpec, id: string, added: readonly Entry[]): Promise<void> {
    const single = added.filter((entry) => entry.single)
    if (single.length === 0) return
    const rows = await this.#rows({
      keep: true,
      text: `SELECT e.field, e.key, d.body FROM assistant_core.entry e
        JOIN unnest($3::text[], $4::bytea[]) AS w (field, key) ON w.field = e.field AND w.key = e.key
        JOIN assistant_core.document d ON d.collection = e.collection AND d.id = e.id
        WHERE e.collection = $1 AND e.id <> $2`,
      values: [spec.name, idBytes(id), single.map(({ field }) => field), single.map(({ key }) => key)],
    })
    for (const [field, key, body] of rows) {
      const holder = parsed(body)
      if (!this.#living(spec, holder)) await this.#remove(spec.name, holder.id)
      else {
        const wanted = single.find((entry) => entry.field === field && entry.key.equals(key as Buffer))
        throw taken(spec.name, `${field as string} ${JSON.stringify(wanted?.value)}`)
      }
    }
  }

  async #remove(name: string, id: string): Promise<Stored | undefined> {
    const [row] = await this.#rows({
      keep: true,
      text: 'DELETE FROM assistant_core.document WHERE collection = $1 AND id = $2 RETURNING body',
      values: [name, idBytes(id)],
    })
    this.#note(name, id, undefined)
    if (!row) return undefined
    this.#grow(name, -1)
    return parsed(row[0])
  }

  #view(spec: TableSpec): Known {
    return known(spec, this.#specs.get(spec.name), { now: this.#given.clock.now(), sizes: this.#given.sizes })
  }

  #living(spec: TableSpec, document: Stored | undefined): Stored | undefined {
    return document && !expiryOf(spec)?.isOver(document, this.#given.clock.now()) ? document : undefined
  }

  #note(name: string, id: string, document: Stored | undefined): void {
    const seen = this.#seen.get(name)
    if (seen) seen.set(id, document)
    else this.#seen.set(name, new Map([[id, document]]))
  }

  #grow(name: string, by: number): void {
    this.growth.set(name, (this.growth.get(name) ?? 0) + by)
  }

  /** One piece of work after the other: each looks first and writes then. */
  async #inTurn<R>(work: () => Promise<R>): Promise<R> {
    await this.#turns.take()
    try {
      if (this.#failure) throw this.#failure.error
      return await work()
    } catch (error) {
      throw ourError(error)
    } finally {
      this.#turns.done()
    }
  }

  get #guarded(): Queryable {
    return { rows: (statement) => this.#rows(statement) }
  }

  async #rows(statement: Statement): Promise<readonly unknown[][]> {
    try {
      return await this.#given.on.rows(statement)
    } catch (error) {
      // The database has given the whole transaction up.
      this.#failure ??= { error }
      throw error
    }
  }
}

function expiryOf({ expires }: TableSpec): Expiry | undefined {
  return expires === undefined ? undefined : new Expiry(expires)
}

function taken(name: string, what: string, cause?: unknown): AppError {
  return new AppError('conflict', `${name}: ${what} is taken`, cause === undefined ? {} : { cause })
}
