/** Connections to MySQL or MariaDB: how they are opened, what their sessions are set to, and what is asked on them. */
import type { Pool, PoolConnection, PoolOptions, ResultSetHeader, RowDataPacket } from 'mysql2/promise'
import type { Source } from './source.ts'
import type { SourceAsking } from './door.ts'
import { writingLimits } from './in-writing.ts'
import { callerOf, grace } from './source-limits.ts'

/** What questions are written for: see `#state/postgres/mysql-dialect.ts`. Texts sort by their first 32,000 characters. */
const modes = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'
export const session = `SET SESSION sql_mode = '${modes}', time_zone = '+00:00',
  max_sort_length = 65536, sort_buffer_size = 4194304, group_concat_max_len = 16777216, div_precision_increment = 30`

/** What is written besides: a value that does not fit is refused, a key of 0 is no wish for a number, and errors are in English. */
export const writingSession = `SET SESSION sql_mode = '${modes},STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', lc_messages = 'en_US',
  innodb_lock_wait_timeout = ${writingLimits.lock / 1000}, lock_wait_timeout = ${writingLimits.lock / 1000},
  wait_timeout = ${writingLimits.idle / 1000}`
const readingAgain = `SET SESSION sql_mode = '${modes}', innodb_lock_wait_timeout = DEFAULT, lock_wait_timeout = DEFAULT,
  wait_timeout = DEFAULT`

/** The statements that a connection keeps prepared; the server counts those of all. */
const mostPrepared = 50

/** Rows of arrays, from a statement with values bound to `$1`, `$2` …. */
export type AskedRows = readonly unknown[][]

/** Ends a connection, and what it does there. */
export function endThere(pool: Pool, connection: PoolConnection): void {
  connection.destroy()
  void pool.query(`KILL CONNECTION ${connection.threadId}`).catch(() => undefined)
}

/** Gives a connection back to those who read, unless its session cannot be set for them. */
export async function giveBack(connection: PoolConnection): Promise<void> {
  try {
    await connection.query({ sql: readingAgain, timeout: grace })
    connection.release()
  } catch {
    connection.destroy()
  }
}

export async function setCaller(connection: PoolConnection, asker: SourceAsking['asker']): Promise<void> {
  const text = 'SET @assistant_user = $1, @assistant_roles = $2, @assistant_client = $3'
  await askedOn(connection, text, callerOf(asker))
}

export function optionsOf({
  host,
  port = 3306,
  database,
  user,
  ssl = false,
  max_connections: most = 4,
}: Source): PoolOptions {
  return {
    // A path is the socket of a server on this machine.
    ...(host.startsWith('/') ? { socketPath: host } : { host, port }),
    database,
    user,
    ...(ssl && { ssl: { rejectUnauthorized: true, verifyIdentity: true } }),
    charset: 'utf8mb4',
    connectionLimit: most,
    maxIdle: most,
    idleTimeout: 30_000,
    connectTimeout: 5000,
    dateStrings: true,
    jsonStrings: true,
    supportBigNumbers: true,
    maxPreparedStatements: mostPrepared,
    disableEval: true,
    // A server cannot ask for files of this machine. Rows count that were found, also where a trigger leaves them as they were.
    flags: ['-LOCAL_FILES', 'FOUND_ROWS'],
    connectAttributes: { program_name: 'assistant-core' },
  }
}

/**
 * Runs a statement with its values bound, as one of the protocol that takes no second. One that writes gives the number drawn
 * for the first new row, once for each row.
 */
export async function askedOn(
  connection: PoolConnection,
  text: string,
  values: readonly unknown[] = [],
): Promise<AskedRows> {
  const { sql, bound } = positional(text, values)
  const [rows] = await connection.execute<RowDataPacket[][] | ResultSetHeader>(
    { sql, rowsAsArray: true },
    bound,
  )
  if (Array.isArray(rows)) return rows
  return Array.from({ length: rows.affectedRows }, () => [String(rows.insertId)])
}

type BoundValue = string | number | null

/**
 * Turns `$1` into `?`, of which each is a value of its own. The number of rows is written out, which a bound double cannot
 * tell; without one there is no limit.
 */
export function positional(
  text: string,
  values: readonly unknown[],
): { readonly sql: string; readonly bound: BoundValue[] } {
  const bound: BoundValue[] = []
  const tokens = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\b(LIMIT|OFFSET) \$(\d+)|\$(\d+)/g
  const sql = text.replace(tokens, (all, word?: string, count?: string, at?: string) => {
    if (word !== undefined) {
      const rows = values[Number(count) - 1]
      return `${word} ${typeof rows === 'number' ? Math.trunc(rows) : '18446744073709551615'}`
    }
    if (at === undefined) return all
    const value = values[Number(at) - 1]
    bound.push(typeof value === 'boolean' ? Number(value) : ((value ?? null) as BoundValue))
    return '?'
  })
  return { sql, bound }
}
