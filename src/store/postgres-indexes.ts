/**
 * The indexes by which questions are answered, built beside the work: nobody waits for one, and until it is
 * there the database answers in another way.
 */
import { createHash } from 'node:crypto'
import type { Client } from 'pg'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { TableSpec } from './table.ts'

/** What every document has is indexed for all collections at once; `creation` and the like. */
const common = new Set(['creation', 'modified', 'owner'])

/** What makes each index that the orders of collections need, by the name of the index. */
function wantedIndexes(specs: Iterable<TableSpec>): ReadonlyMap<string, string> {
  const wanted = new Map<string, string>()
  const text = (one: string): string => `'${one.replaceAll("'", "''")}'`
  const digest = (of: string): string => createHash('sha256').update(of).digest('hex').slice(0, 24)
  for (const { name: collection, ordered } of specs) {
    for (const field of ordered) {
      const shared = common.has(field)
      const name = `place_${digest(shared ? field : `${collection} ${field}`)}`
      const columns = `${shared ? 'collection, ' : ''}assistant_core.place(data -> ${text(field)}), id`
      const where = shared ? 'data IS NOT NULL' : `collection = ${text(collection)} AND data IS NOT NULL`
      const statement = `CREATE INDEX CONCURRENTLY ${name} ON assistant_core.document (${columns}) WHERE ${where}`
      wanted.set(name, statement)
    }
    const name = `words_${digest(collection)}`
    wanted.set(
      name,
      `CREATE INDEX CONCURRENTLY ${name} ON assistant_core.document USING gin (words) WHERE collection = ${text(collection)} AND data IS NOT NULL`,
    )
  }
  return wanted
}

/** A number that no other program should use: one daemon builds at a time. */
const builderLock = '7020098563374907240'
const restMilliseconds = 30_000
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
    const valid = await validOf(client)
    const missing = [...wantedIndexes(this.#specs.values())].filter(([name]) => valid.get(name) !== true)
    this.left = missing.length
    if (missing.length === 0) return true
    const lock = await client.query<{ held: boolean }>(`SELECT pg_try_advisory_lock(${builderLock}) AS held`)
    if (!lock.rows[0]!.held) return false
    for (const [name, statement] of missing) {
      // What an earlier attempt left unfinished is of no use.
      if (valid.has(name)) await patiently(client, `DROP INDEX CONCURRENTLY assistant_core.${name}`)
      await patiently(client, statement)
      this.left--
    }
    // The planner goes by what it knows of the values.
    await patiently(client, 'ANALYZE assistant_core.document')
    return true
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
