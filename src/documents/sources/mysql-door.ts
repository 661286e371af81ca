/** A source on MySQL or MariaDB and its connections. Importing this loads the driver. */
import {
  createPool,
  type Pool,
  type PoolConnection,
  type PoolOptions,
  type RowDataPacket,
} from 'mysql2/promise'
import type { Queryable } from '#state/postgres.ts'
import type { Source } from '../../site/sources.ts'
import type { SourceLook } from './catalogue.ts'
import type { Door, SourceAsking } from './door.ts'
import { mysqlLook } from './mysql-catalogue.ts'
import { askingInTurn, Shares, sharesOf } from './shares.ts'
import { callerOf, grace, lookMilliseconds, type SecretOf } from './source-limits.ts'

/** What questions are written for: see `#state/postgres/mysql-dialect.ts`. Texts sort by their first 32,000 characters. */
const session = `SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES', time_zone = '+00:00',
  max_sort_length = 65536, sort_buffer_size = 4194304, group_concat_max_len = 16777216, div_precision_increment = 30`

/** The statements that a connection keeps prepared; the server counts those of all. */
const mostPrepared = 50

/** Rows of arrays, from a statement with values bound to `$1`, `$2` …. */
type Rows = readonly unknown[][]

/** A source and its connections, whose sessions only read. */
export class MysqlDoor implements Door {
  readonly #source: Source
  readonly #secretOf: SecretOf
  readonly #onError: (error: Error) => void
  readonly #shares: Shares
  readonly #looks = new Shares(2)
  /** What a session was set to. */
  readonly #sessions = new WeakMap<object, { isMaria: boolean; milliseconds: number }>()
  #pool: Promise<Pool> | undefined

  constructor(source: Source, secretOf: SecretOf, onError: (error: Error) => void) {
    this.#source = source
    this.#secretOf = secretOf
    this.#onError = onError
    this.#shares = sharesOf(source)
  }

  look<R>(work: (at: SourceLook) => Promise<R>): Promise<R> {
    return this.#looks.run('', undefined, () => {
      const signal = AbortSignal.timeout(lookMilliseconds)
      return this.#with(lookMilliseconds, signal, async (connection) => {
        const { isMaria } = this.#sessions.get(connection.connection)!
        return await work(mysqlLook((text, values) => rowsOf(connection, text, values), isMaria))
      })
    })
  }

  queryable(asking: SourceAsking): Queryable {
    return askingInTurn(this.#shares, this.#source, asking, ({ text, values }, milliseconds, signal) => {
      const late = AbortSignal.timeout(milliseconds + grace)
      const ended = signal ? AbortSignal.any([signal, late]) : late
      return this.#with(milliseconds, ended, async (connection) => {
        if (asking.tells)
          await rowsOf(
            connection,
            'SET @assistant_user = $1, @assistant_roles = $2, @assistant_client = $3',
            callerOf(asking.asker),
          )
        return await rowsOf(connection, text, values)
      })
    })
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await (await pool?.catch(() => undefined))?.end()
  }

  /** Runs work on a connection; when the signal fires, both the connection and its statement there are ended. */
  async #with<R>(
    milliseconds: number,
    signal: AbortSignal,
    work: (connection: PoolConnection) => Promise<R>,
  ): Promise<R> {
    const pool = await this.#open()
    const connection = await pool.getConnection().catch((error: unknown) => {
      // The password may have been changed, and is read again.
      if ((error as { readonly errno?: unknown }).errno === accessDenied)
        void this.close().catch(this.#onError)
      throw error
    })
    let isEnded = false
    let leave = (): void => undefined
    const left = new Promise<never>((_, reject) => (leave = () => reject(signal.reason as Error)))
    left.catch(() => undefined)
    const stop = (): void => {
      isEnded = true
      connection.destroy()
      void pool.query(`KILL CONNECTION ${connection.threadId}`).catch(() => undefined)
      leave()
    }
    if (signal.aborted) {
      connection.release()
      throw signal.reason as Error
    }
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await Promise.race([this.#begin(connection, milliseconds).then(() => work(connection)), left])
    } finally {
      signal.removeEventListener('abort', stop)
      if (!isEnded) connection.release()
    }
  }

  #open(): Promise<Pool> {
    const pool = (this.#pool ??= this.#secret().then((password) => {
      const opened = createPool({ ...optionsOf(this.#source), ...(password !== undefined && { password }) })
      // A connection in use that breaks fails its statement; without a listener, its error would end the daemon.
      opened.on('connection', (connection) => void connection.on('error', this.#onError))
      return opened
    }))
    pool.catch(() => (this.#pool = undefined))
    return pool
  }

  async #secret(): Promise<string | undefined> {
    const { password_file: file } = this.#source
    return file === undefined ? undefined : await this.#secretOf(file)
  }

  /** Sets the session, which no setting of the server changes the meaning of, and the time that a statement may take. */
  async #begin(connection: PoolConnection, milliseconds: number): Promise<void> {
    let state = this.#sessions.get(connection.connection)
    if (!state) {
      const { role } = this.#source
      if (role !== undefined) await connection.query(`SET ROLE \`${role}\``)
      await connection.query('SET SESSION TRANSACTION READ ONLY')
      await connection.query(session)
      const [[version] = []] = await rowsOf(connection, 'SELECT VERSION()')
      state = { isMaria: /maria/i.test(version as string), milliseconds: 0 }
      this.#sessions.set(connection.connection, state)
    }
    if (state.milliseconds === milliseconds) return
    const limit = state.isMaria
      ? `max_statement_time = ${milliseconds / 1000}`
      : `max_execution_time = ${milliseconds}`
    await connection.query(`SET SESSION ${limit}`)
    state.milliseconds = milliseconds
  }
}

const accessDenied = 1045

function optionsOf({
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
    // A server cannot ask for files of this machine.
    flags: ['-LOCAL_FILES'],
    connectAttributes: { program_name: 'assistant-core' },
  }
}

/** Runs a statement with its values bound, as one of the protocol that takes no second. */
async function rowsOf(
  connection: PoolConnection,
  text: string,
  values: readonly unknown[] = [],
): Promise<Rows> {
  const { sql, bound } = positional(text, values)
  const [rows] = await connection.execute<RowDataPacket[][]>({ sql, rowsAsArray: true }, bound)
  return Array.isArray(rows) ? rows : []
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
