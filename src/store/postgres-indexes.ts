/**
 * The indexes by which questions are answered, built beside the work: nobody waits for one, and until it is
 * there the database answers in another way.
 */
import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { quoted, smallText } from './postgres-language.ts'
import type { TableSpec } from './table.ts'

/** What every document has is indexed for all collections at once; `creation` and the like. */
const common = new Set(['creation', 'modified', 'owner'])

/** What makes each index that collections need, by the name of the index; those of trigrams where their schema is known. */
function wantedIndexes(
  specs: Iterable<TableSpec>,
  trigrams: string | undefined,
): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>()
  const want = (kind: string, of: string, columns: string, where: string): void => {
    const name = `${kind}_${createHash('sha256').update(of).digest('hex').slice(0, 24)}`
    wanted.set(
      name,
      `CREATE INDEX CONCURRENTLY ${name} ON assistant_core.document ${columns} WHERE ${where}data IS NOT NULL`,
    )
  }
  for (const { name, ordered, texts } of specs) {
    const mine = `collection = ${quoted(name)} AND `
    for (const field of ordered) {
      const place = `assistant_core.place(data -> ${quoted(field)}), id`
      if (common.has(field)) want('place', field, `(collection, ${place})`, '')
      else want('place', `${name} ${field}`, `(${place})`, mine)
    }
    want('words', name, 'USING gin (words)', mine)
    if (trigrams === undefined || texts.length === 0) continue
    const columns = texts.map((field) => `(${smallText(field, 'data')}) ${trigrams}.gin_trgm_ops`)
    want('trigrams', [name, ...texts].join(' '), `USING gin (${columns.join(', ')})`, mine)
  }
  return wanted
}

/** What tells the planner which values fields hold: what it knows of an index for some collections alone, it does not look at. */
function wantedStatistics(specs: Iterable<TableSpec>): ReadonlyMap<string, string> {
  const fields = new Set([...specs].flatMap(({ ordered }) => ordered))
  return new Map(
    [...fields].map((field) => {
      const name = `values_${createHash('sha256').update(field).digest('hex').slice(0, 24)}`
      const place = `assistant_core.place(data -> ${quoted(field)})`
      return [
        name,
        `CREATE STATISTICS IF NOT EXISTS assistant_core.${name} ON (${place}) FROM assistant_core.document`,
      ]
    }),
  )
}

/** Where the database has trigrams: the schema that they are in. */
export const trigramsQuery = `SELECT quote_ident(n.nspname) AS schema FROM pg_extension e
  JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'`

/** What is told where it has none. */
export const noTrigrams =
  'the extension pg_trgm is missing: parts of texts are looked for in every document, until somebody who may says CREATE EXTENSION pg_trgm'

/** A number that no other program should use: one daemon builds at a time. */
const builderLock = '7020098563374907240'
const restMilliseconds = 30_000
/** What the planner takes the calculation of a place for, beside the comparison of two numbers (0.0025 each). */
const placeCost = 1000
/** Longer than any index takes. */
const patience = 86_400_000

/** Builds the indexes that are wanted and missing, one after the other, on a connection of its own. */
export class IndexBuilder {
  readonly #connect: () => Promise<Client>
  readonly #log: Log
  readonly #specs = new Map<string, TableSpec>()
  #timer: NodeJS.Timeout | undefined
  #client: Client | undefined
  #closed = false
  /** How many are still to be built, as far as is known. */
  left = 0
  /** What would make questions faster that the database does not let us have. */
  lacks: string | undefined

  constructor(connect: () => Promise<Client>, log: Log) {
    this.#connect = connect
    this.#log = log
  }

  /** Has the indexes of a collection built soon. */
  want(spec: TableSpec): void {
    if (spec.ordered.length === 0) return
    this.#specs.set(spec.name, spec)
    this.#begin(200)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#client?.end()
  }

  #begin(milliseconds: number): void {
    if (this.#closed || this.#client) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#run(), milliseconds).unref()
  }

  async #run(): Promise<void> {
    const asked = this.#specs.size
    let done = false
    try {
      const client = await this.#connect()
      this.#client = client
      done = await this.#build(client)
    } catch (error) {
      if (!this.#closed) this.#log.warn('an index could not be built', { reason: messageOf(error) })
    } finally {
      await this.#client?.end().catch(() => undefined)
      this.#client = undefined
    }
    if (!done || this.#specs.size > asked) this.#begin(done ? 0 : restMilliseconds)
  }

  /** Answers whether all are there; another daemon may be building, perhaps not all that this one wants. */
  async #build(client: Client): Promise<boolean> {
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0')
    const specs = [...this.#specs.values()]
    const trigrams = specs.some(({ texts }) => texts.length > 0) ? await this.#trigrams(client) : undefined
    const valid = await validOf(client)
    const missing = [...wantedIndexes(specs, trigrams)].filter(([name]) => valid.get(name) !== true)
    const untold = await this.#untold(client, specs)
    this.left = missing.length
    if (missing.length + untold.length === 0) return true
    const lock = await client.query<{ held: boolean }>(`SELECT pg_try_advisory_lock(${builderLock}) AS held`)
    if (!lock.rows[0]!.held) return false
    for (const [name, statement] of missing) {
      // What an earlier attempt left unfinished is of no use.
      if (valid.has(name)) await patiently(client, `DROP INDEX CONCURRENTLY assistant_core.${name}`)
      await patiently(client, statement)
      this.left--
    }
    for (const statement of untold) await client.query(statement)
    // The planner goes by what it knows of the values.
    await patiently(client, 'ANALYZE assistant_core.document')
    return true
  }

  /** What the planner has not been told yet. */
  async #untold(client: Client, specs: readonly TableSpec[]): Promise<readonly string[]> {
    const { rows } = await client.query<{ name: string; version: number; cost: number }>(
      `SELECT s.stxname AS name, current_setting('server_version_num')::int AS version, p.procost AS cost
        FROM pg_proc p LEFT JOIN pg_statistic_ext s ON s.stxrelid = 'assistant_core.document'::regclass
        WHERE p.oid = 'assistant_core.place(jsonb)'::regprocedure`,
    )
    const { version, cost } = rows[0]!
    // Reading by an index, which knows the places, is cheaper than it seems.
    const dear = cost === placeCost ? [] : [`ALTER FUNCTION assistant_core.place(jsonb) COST ${placeCost}`]
    // An older database keeps none of what is calculated.
    if (version < 140_000) return dear
    const told = new Set(rows.map(({ name }) => name))
    const wanted = [...wantedStatistics(specs)].filter(([name]) => !told.has(name))
    return [...dear, ...wanted.map(([, statement]) => statement)]
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

async function validOf(client: Client): Promise<ReadonlyMap<string, boolean>> {
  const { rows } = await client.query<{ name: string; valid: boolean }>(
    `SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid = 'assistant_core.document'::regclass`,
  )
  return new Map(rows.map(({ name, valid }) => [name, valid]))
}
