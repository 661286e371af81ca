/**
 * The indexes for queries, built in the background: nobody waits for one, and until it is there the
 * database answers in another way.
 */
import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { quoted, smallText } from './language.ts'
import { building, type Locking } from './running/locks.ts'
import type { TableSpec } from '../embedded/table.ts'

/** Makes a name short enough for the database, from a hash of what it stands for. */
function shortName(kind: string, of: string): string {
  return `${kind}_${createHash('sha256').update(of).digest('hex').slice(0, 24)}`
}

/** Returns the name of the table of a collection's documents. */
export function tableOf(collection: string): string {
  return shortName('document', collection)
}

/** Returns a collection's indexes by name, each as the SQL after the name; trigram indexes only where their schema is known. */
export function indexesOf(
  { name, indexes = [], ordered = [], texts = [], expires }: Pick<TableSpec, 'name'> & Partial<TableSpec>,
  trigrams?: string,
): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>()
  const want = (kind: string, of: string, columns: string): void =>
    void wanted.set(shortName(kind, of), `ON assistant_core.${tableOf(name)} ${columns}`)
  for (const field of new Set([...indexes, ...ordered, ...(expires === undefined ? [] : [expires])]))
    want('place', `${name} ${field}`, `(assistant_core.place(data -> ${quoted(field)}), id)`)
  if (texts.length === 0) return wanted
  want('words', name, 'USING gin (words)')
  if (trigrams === undefined) return wanted
  const columns = texts.map((field) => `(${smallText(field, 'data')}) ${trigrams}.gin_trgm_ops`)
  want('trigrams', [name, ...texts].join(' '), `USING gin (${columns.join(', ')})`)
  return wanted
}

/** The query for the schema of the trigram extension, if the database has it. */
export const trigramsQuery = `SELECT quote_ident(n.nspname) AS schema FROM pg_extension e
  JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'`

/** The message for a database without it. */
export const noTrigrams =
  'the extension pg_trgm is missing: parts of texts are looked for in every document, until somebody who may says CREATE EXTENSION pg_trgm'

const restMilliseconds = 30_000
/** Milliseconds to wait for a statement: longer than any index takes. */
const patience = 86_400_000

/** Where indexes are built. */
interface Building {
  readonly locking: Locking
  single(): Promise<Client>
}

/** Builds the missing indexes, one after the other, on a connection of its own. */
export class IndexBuilder {
  readonly #database: Building
  readonly #log: Log
  readonly #specs = new Map<string, TableSpec>()
  #timer: NodeJS.Timeout | undefined
  #client: Client | undefined
  #closed = false
  #running = false
  /** The number of requests so far: those made during a build are handled after it. */
  #wants = 0
  /** The number of indexes still to be built, as far as is known. */
  left = 0
  /** Something that would make queries faster but is missing from the database. */
  lacks: string | undefined

  constructor(database: Building, log: Log) {
    this.#database = database
    this.#log = log
  }

  /** Schedules the building of a collection's indexes. */
  want(spec: TableSpec): void {
    this.#specs.set(spec.name, spec)
    this.#wants++
    this.#begin(200)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#client?.end()
  }

  #begin(milliseconds: number): void {
    if (this.#closed || this.#running) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#run(), milliseconds).unref()
  }

  async #run(): Promise<void> {
    this.#running = true
    const asked = this.#wants
    let done = false
    try {
      this.#client = await this.#database.single()
      if (!this.#closed) done = await this.#build(this.#client)
    } catch (error) {
      if (!this.#closed) this.#log.warn('an index could not be built', { reason: messageOf(error) })
    } finally {
      await this.#client?.end().catch(() => undefined)
      this.#client = undefined
      this.#running = false
    }
    if (!done || this.#wants > asked) this.#begin(done ? 0 : restMilliseconds)
  }

  /** Builds what is missing; true when all are there. Another daemon may be building, perhaps not all that this one wants. */
  async #build(client: Client): Promise<boolean> {
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0')
    const specs = [...this.#specs.values()]
    const trigrams = specs.some(({ texts }) => texts.length > 0) ? await this.#trigrams(client) : undefined
    const valid = await validOf(client)
    // A table made later is made with its indexes.
    const there = specs.filter(({ name }) => valid.has(tableOf(name)))
    const missing = there.flatMap((spec) =>
      [...indexesOf(spec, trigrams)]
        .filter(([name]) => valid.get(name) !== true)
        .map(([name, text]) => ({ name, text, table: tableOf(spec.name) })),
    )
    const former = there.flatMap((spec) => [
      ...indexesOf({ name: spec.name, ordered: spec.former ?? [] }).keys(),
    ])
    const useless = former.filter((name) => valid.has(name))
    this.left = missing.length
    if (missing.length + useless.length === 0) return true
    const [begin, end] = building(this.#database.locking)
    const lock = await client.query<{ held: boolean }>(begin)
    if (!lock.rows[0]!.held) return false
    try {
      await this.#make(client, { missing, useless, valid })
    } finally {
      if (end !== undefined) await client.query(end)
    }
    return true
  }

  async #make(
    client: Client,
    {
      missing,
      useless,
      valid,
    }: {
      readonly missing: readonly { readonly name: string; readonly text: string; readonly table: string }[]
      readonly useless: readonly string[]
      readonly valid: ReadonlyMap<string, boolean>
    },
  ): Promise<void> {
    for (const name of useless) await patiently(client, `DROP INDEX CONCURRENTLY assistant_core.${name}`)
    for (const { name, text } of missing) {
      // An index that an earlier attempt left unfinished is useless.
      if (valid.has(name)) await patiently(client, `DROP INDEX CONCURRENTLY assistant_core.${name}`)
      await patiently(client, `CREATE INDEX CONCURRENTLY ${name} ${text}`)
      this.left--
    }
    // The planner needs statistics on the values.
    for (const table of new Set(missing.map(({ table }) => table)))
      await patiently(client, `ANALYZE assistant_core.${table}`)
  }

  async #trigrams(client: Client): Promise<string | undefined> {
    const look = async (): Promise<string | undefined> =>
      (await client.query<{ schema: string }>(trigramsQuery)).rows[0]?.schema
    const there = await look()
    if (there !== undefined) return there
    try {
      await client.query('CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA assistant_core')
    } catch (error) {
      if (this.lacks === undefined) this.#log.info(noTrigrams, { reason: messageOf(error) })
    }
    const made = await look()
    this.lacks = made === undefined ? noTrigrams : undefined
    return made
  }
}

async function patiently(client: Client, text: string): Promise<void> {
  await client.query(Object.assign({ text }, { query_timeout: patience }))
}

/** Reads which tables and indexes exist; true for those that can be used. */
async function validOf(client: Client): Promise<ReadonlyMap<string, boolean>> {
  const { rows } = await client.query<{ name: string; valid: boolean }>(
    `SELECT c.relname AS name, COALESCE(i.indisvalid, true) AS valid FROM pg_class c
      LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = 'assistant_core'::regnamespace`,
  )
  return new Map(rows.map(({ name, valid }) => [name, valid]))
}
