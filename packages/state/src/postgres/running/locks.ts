/**
 * What daemons lock to wait for each other: advisory locks and a lock on a table where the server has them, and rows of a table
 * where it has not, as engines that only speak PostgreSQL's language may not. That table, in a state, says which it is.
 */
import type { ClientBase, PoolClient } from 'pg'
import { AppError } from '#leaf/errors.ts'
import type { Queryable } from '../servers/connection.ts'
import { codeOf } from '../servers/errors.ts'

/** How daemons of one state lock. */
export type Locking = 'advisory' | 'rows'

/** Numbers that no other program should use as advisory locks, and the rows that stand for them. */
const locks = {
  /** For making or upgrading the tables. */
  founder: { number: '7020098563374907239', row: -1 },
  /** Of the one daemon that builds indexes at a time. */
  builder: { number: '7020098563374907240', row: -2 },
  /** For making a collection's table, while others write. */
  maker: { number: '7020098563374907241', row: -3 },
}

/** The rows that stand for documents to wait for. */
const rowsOfDocuments = 1024

const hasRows =
  "SELECT to_regclass('assistant_core.lock') IS NOT NULL, to_regclass('assistant_core.state') IS NOT NULL"
const taking = (rows: readonly number[]): string =>
  `SELECT n FROM assistant_core.lock WHERE n IN (${rows.join(', ')}) ORDER BY n FOR UPDATE`

/** Statements that the server does not know, and what it answers to them. */
const unknown = /^(0A000|42601|42883|42704)$/

/**
 * Returns how the daemons of a state lock, by its tables, or, where there are none yet, by what the server can; makes the
 * rows where they are needed. `other` is another session.
 */
export async function lockingOf(
  client: PoolClient,
  other: () => Promise<PoolClient>,
  wanted?: Locking,
): Promise<Locking> {
  const { rows } = await client.query<boolean[]>({ text: hasRows, rowMode: 'array' })
  const [isByRows, isThere] = rows[0]!
  // Who makes the rows may have come as far as their table: who finds none in it would wait for nobody.
  if (isByRows === true) return await withRows(client)
  const way = isThere === true ? 'advisory' : (wanted ?? (await ability(client, other)))
  if (way === 'advisory') return way
  await make(client, 'CREATE SCHEMA IF NOT EXISTS assistant_core')
  await make(
    client,
    'CREATE TABLE IF NOT EXISTS assistant_core.lock (n integer PRIMARY KEY, until double precision NOT NULL DEFAULT 0)',
  )
  return await withRows(client)
}

/** Tries whether the server has locks, and whether they keep another session waiting. */
async function ability(client: PoolClient, other: () => Promise<PoolClient>): Promise<Locking> {
  const second = await other()
  const attempt = `SELECT pg_try_advisory_xact_lock(${locks.founder.number})`
  try {
    await client.query(`BEGIN; LOCK TABLE pg_catalog.pg_class IN ACCESS SHARE MODE`)
    await client.query(`SELECT pg_advisory_xact_lock(${locks.founder.number})`)
    await second.query('BEGIN')
    const { rows } = await second.query<boolean[]>({ text: attempt, rowMode: 'array' })
    return rows[0]![0] === true ? 'rows' : 'advisory'
  } catch (error) {
    if (unknown.test(codeOf(error))) return 'rows'
    throw error
  } finally {
    for (const one of [client, second]) await one.query('ROLLBACK').catch(() => undefined)
    // Who counts connections takes it for one of a daemon.
    second.release(true)
  }
}

/** Makes the rows that are missing; waits for another daemon that makes them. */
async function withRows(client: PoolClient): Promise<Locking> {
  const all = [...Object.values(locks).map(({ row }) => row), ...Array(rowsOfDocuments).keys()]
  const values = all.map((n) => `(${n})`).join(', ')
  await client.query(`INSERT INTO assistant_core.lock (n) VALUES ${values} ON CONFLICT DO NOTHING`)
  return 'rows'
}

/** Makes what is missing. Of several daemons that make it at once, all but one may fail, and find it then. */
export async function make(client: ClientBase, text: string): Promise<void> {
  for (let left = 5; ; left--)
    try {
      await client.query(text)
      return
    } catch (error) {
      if (left === 0 || !/^(23505|42P0[67])$/.test(codeOf(error))) throw error
    }
}

/** Returns SQL that begins a transaction that makes the tables, or starts to work on them. */
export function beginFounding(locking: Locking): string {
  const { number, row } = locks.founder
  const lock = locking === 'rows' ? taking([row]) : `SELECT pg_advisory_xact_lock(${number})`
  return `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${lock}`
}

/** Returns SQL by which a transaction takes part in what `lockAll` keeps from it. */
export function sharing(locking: Locking): string {
  return locking === 'rows'
    ? 'SELECT FROM assistant_core.state FOR KEY SHARE'
    : 'LOCK TABLE assistant_core.state IN ROW SHARE MODE'
}

/** Keeps everybody from writing until the transaction ends. */
export async function lockAll(on: Queryable, patience?: number): Promise<void> {
  const text =
    (await wayOf(on)) === 'rows'
      ? 'SELECT FROM assistant_core.state FOR UPDATE'
      : 'LOCK TABLE assistant_core.state IN EXCLUSIVE MODE'
  await on.rows({ text, values: [], ...(patience !== undefined && { patience }) })
}

/** Lets one transaction at a time make the table of a collection. */
export async function lockMaker(on: Queryable): Promise<void> {
  const { number, row } = locks.maker
  const text = (await wayOf(on)) === 'rows' ? taking([row]) : `SELECT pg_advisory_xact_lock(${number})`
  await on.rows({ text, values: [] })
}

/** SQL that takes locks, by their numbers, for the session and before the transaction of which they are waited for. */
export function lockingFirst(numbers: readonly string[], patience: string): string {
  const all = numbers.map((number) => `pg_advisory_lock(${number})`).join(', ')
  return all === '' ? '' : `BEGIN; ${patience}SELECT ${all}; COMMIT; `
}

/** Returns SQL that ends a transaction and gives up what was locked before it. */
export function end(how: 'COMMIT' | 'ROLLBACK', numbers: readonly string[]): string {
  return numbers.length === 0 ? how : `${how}; SELECT pg_advisory_unlock_all()`
}

/** Commits a transaction, and gives up what was locked before it. */
export async function commit(client: PoolClient, locks: readonly string[]): Promise<void> {
  const result: unknown = await client.query(end('COMMIT', locks))
  const [{ command }] = (Array.isArray(result) ? result : [result]) as [{ command: string }]
  // COMMIT rolls a failed transaction back, without an error.
  if (command !== 'COMMIT') throw new AppError('unavailable', 'the database did not keep the transaction')
}

/** Locks the rows for these numbers on a connection of their own; returns the function that gives them up. */
export async function keepRows(client: PoolClient, numbers: readonly string[]): Promise<() => void> {
  const rows = [...new Set(numbers.map((number) => Number(BigInt.asUintN(10, BigInt(number)))))]
  try {
    await client.query(`BEGIN; ${taking(rows)}`)
  } catch (error) {
    client.release(true)
    throw error
  }
  return () =>
    void client.query('ROLLBACK').then(
      () => client.release(),
      () => client.release(true),
    )
}

/** Seconds after which a daemon that builds indexes counts as gone, where its lock is a row. */
const buildingSeconds = 3_600

/** Returns SQL by which a session becomes the one that builds, answering whether it is, and by which it ends that. */
export function building(locking: Locking): readonly [begin: string, end: string | undefined] {
  const { number, row } = locks.builder
  if (locking === 'advisory') return [`SELECT pg_try_advisory_lock(${number}) AS held`, undefined]
  const now = 'extract(epoch FROM clock_timestamp())'
  const set = `UPDATE assistant_core.lock SET until = `
  return [
    `WITH taken AS (${set}${now} + ${buildingSeconds} WHERE n = ${row} AND until < ${now} RETURNING n)
      SELECT count(*) = 1 AS held FROM taken`,
    `${set}0 WHERE n = ${row}`,
  ]
}

async function wayOf(on: Queryable): Promise<Locking> {
  const [row] = await on.rows({ text: hasRows, values: [] })
  return row![0] === true ? 'rows' : 'advisory'
}
