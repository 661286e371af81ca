import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Queryable } from './postgres-connection.ts'
import { endAt, entriesOf, isTaken } from './postgres-entries.ts'
import { covers } from './postgres-known.ts'
import { parsed } from './postgres-reading.ts'
import type { TableSpec } from './table.ts'

/** How the collections of this process become known to the database: together at a start, and once each. */
export class Declarations {
  readonly #declare: (specs: readonly TableSpec[]) => Promise<void>
  readonly #log: Log
  readonly #wanted = new Map<string, TableSpec>()
  readonly #done = new Set<string>()
  readonly #underWay = new Map<string, Promise<void>>()
  #closed = false

  constructor(declare: (specs: readonly TableSpec[]) => Promise<void>, log: Log) {
    this.#declare = declare
    this.#log = log
  }

  /** Collections are declared one after the other at a start; they are made ready together. */
  soon(spec: TableSpec): void {
    this.#wanted.set(spec.name, spec)
    if (this.#wanted.size > 1) return
    setImmediate(() => {
      const specs = [...this.#wanted.values()].filter(({ name }) => !this.#done.has(name))
      this.#wanted.clear()
      if (this.#closed || specs.length === 0) return
      // Until then reads look at every document, and a write tries again and tells.
      this.now(specs).catch((error: unknown) => {
        if (!this.#closed) this.#log.warn('collections could not be made ready', { reason: messageOf(error) })
      })
    })
  }

  /**
   * Whether a write must declare its collection first. Once is enough: what a daemon of another version declared
   * since is written by, and read without indexes, or the two would make the same entries anew in turns.
   */
  isMissing(spec: TableSpec, stored: TableSpec | undefined): boolean {
    return stored === undefined || (!covers(stored, spec) && !this.#done.has(spec.name))
  }

  /** What is being declared already is waited for: a second time could come after another daemon's, and undo it. */
  async now(specs: readonly TableSpec[]): Promise<void> {
    const missing = specs.filter(({ name }) => !this.#underWay.has(name))
    if (missing.length > 0) {
      const work = this.#run(missing)
      for (const { name } of missing) this.#underWay.set(name, work)
    }
    await Promise.all(specs.flatMap(({ name }) => this.#underWay.get(name) ?? []))
  }

  close(): void {
    this.#closed = true
  }

  async #run(specs: readonly TableSpec[]): Promise<void> {
    try {
      await this.#declare(specs)
      for (const { name } of specs) this.#done.add(name)
    } finally {
      for (const { name } of specs) this.#underWay.delete(name)
    }
  }
}

const madeAtOnce = 500

/** Makes what the documents of a collection are looked up by anew. */
export async function makeEntries(on: Queryable, spec: TableSpec): Promise<void> {
  const { name } = spec
  await on.rows({ text: 'DELETE FROM assistant_core.entry WHERE collection = $1', values: [name] })
  if (spec.ordered.length > 0 && spec.unique.length === 0 && spec.expires === undefined) return
  let after: Buffer = Buffer.alloc(0)
  for (;;) {
    const rows = await on.rows({
      text: `SELECT id, body FROM assistant_core.document WHERE collection = $1 AND id > $2 ORDER BY id LIMIT ${madeAtOnce}`,
      values: [name, after],
    })
    if (rows.length === 0) return
    const documents = rows.map(([id, body]) => ({ id: id as Buffer, document: parsed(body) }))
    const entries = documents.flatMap(({ id, document }) =>
      entriesOf(spec, document).map((entry) => ({ ...entry, id })),
    )
    await on.rows({
      text: `UPDATE assistant_core.document d SET ends = e.ends
        FROM unnest($2::bytea[], $3::double precision[]) AS e (id, ends)
        WHERE d.collection = $1 AND d.id = e.id AND d.ends IS DISTINCT FROM e.ends`,
      values: [name, documents.map(({ id }) => id), documents.map(({ document }) => endAt(spec, document))],
    })
    await on
      .rows({
        text: `INSERT INTO assistant_core.entry (collection, field, key, id, single)
        SELECT $1, e.* FROM unnest($2::text[], $3::bytea[], $4::bytea[], $5::boolean[]) AS e`,
        values: [
          name,
          entries.map(({ field }) => field),
          entries.map(({ key }) => key),
          entries.map(({ id }) => id),
          entries.map(({ single }) => single),
        ],
      })
      .catch((error: unknown) => {
        if (!isTaken(error)) throw error
        throw new Error(
          `collection ${name}: ${spec.unique.join(' or ')} is declared unique, but several documents hold the same value`,
          { cause: error },
        )
      })
    after = documents.at(-1)!.id
  }
}
