/** A source on MySQL or MariaDB and its connections. Importing this loads the driver. */
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise'
import { randomId } from '#leaf/secrets.ts'
import type { Queryable } from '#state/postgres.ts'
import type { Source } from './source.ts'
import type { SourceLook } from './catalogue.ts'
import type { Door, SourceAsking, Writing } from './door.ts'
import { inWriting, type Outcome, type TransactionThere } from './in-writing.ts'
import { mysqlLook } from './mysql-catalogue.ts'
import {
  endThere,
  giveBack,
  optionsOf,
  type AskedRows,
  askedOn,
  session,
  setCaller,
  writingSession,
} from './mysql-connection.ts'
import { isMysqlError, mysqlState } from './mysql-faults.ts'
import { askingInTurn, Shares, sharesOf } from './shares.ts'
import { grace, lookMilliseconds, patienceOf, type SecretOf } from './source-limits.ts'
import { hasMark, leaveMark, type WriteKeys, writeKeysIn } from './write-keys.ts'

/** The number of a login that was refused. */
const accessDenied = 1045

/** A source and its connections, whose sessions only read, except in transactions that say that they write. */
export class MysqlDoor implements Door {
  readonly writeKeys: WriteKeys | undefined
  readonly marks = true
  readonly #source: Source
  readonly #secretOf: SecretOf
  readonly #onError: (error: Error) => void
  readonly #shares: Shares
  readonly #looks = new Shares(2)
  readonly #writers = new Shares(1)
  /** What a session was set to. */
  readonly #sessions = new WeakMap<object, { isMaria: boolean; milliseconds: number }>()
  #pool: Promise<Pool> | undefined

  constructor(source: Source, secretOf: SecretOf, onError: (error: Error) => void) {
    this.#source = source
    this.#secretOf = secretOf
    this.#onError = onError
    this.#shares = sharesOf(source)
    this.writeKeys = writeKeysIn(source)
  }

  look<R>(work: (at: SourceLook) => Promise<R>): Promise<R> {
    return this.#looks.run('', undefined, () => {
      return this.#with(lookMilliseconds, undefined, async (connection) => {
        // A view is looked at as nobody, and not as whoever asked last.
        await setCaller(connection, undefined)
        const { isMaria } = this.#sessions.get(connection.connection)!
        const ask = (text: string, values?: readonly unknown[]): Promise<AskedRows> =>
          askedOn(connection, text, values)
        const may = async (sql: string): Promise<boolean> => {
          await connection.query('START TRANSACTION READ WRITE')
          try {
            await connection.prepare(sql)
            // Kept, it would be taken whatever the login may by then.
            connection.unprepare(sql)
            return true
          } catch (error) {
            if (isMysqlError(error) && mysqlState(error) === '42501') return false
            throw error
          } finally {
            await connection.query('ROLLBACK')
          }
        }
        return await work(mysqlLook(ask, may, { isMaria, writes: this.writeKeys !== undefined }))
      })
    })
  }

  queryable(asking: SourceAsking): Queryable {
    return askingInTurn(this.#shares, this.#source, asking, ({ text, values }, milliseconds, signal) => {
      return this.#with(milliseconds, signal, async (connection) => {
        if (asking.tells) await setCaller(connection, asking.asker)
        return await askedOn(connection, text, values)
      })
    })
  }

  writing: Writing = ({ asker, stop }, how, work) =>
    this.#writers.run(asker?.user ?? '', stop, () =>
      this.#inWriting(asker, stop?.signal, how, (on) =>
        work(on, async () => {
          const id = randomId()
          await leaveMark(on, this.writeKeys!, id)
          return id
        }),
      ),
    )

  async outcome(of: TransactionThere): Promise<Outcome> {
    const keys = this.writeKeys
    if (!keys) return 'unknown'
    const look = (on: Queryable): Promise<boolean | undefined> => hasMark(on, keys, of)
    const how = { dry: true, last: () => Promise.resolve() }
    const mark = await this.#inWriting(undefined, undefined, how, look).catch((error: unknown) => {
      if (isMysqlError(error) && mysqlState(error) === '40001') return 'in progress'
      throw error
    })
    if (mark === 'in progress') return mark
    return mark === undefined ? 'unknown' : mark ? 'committed' : 'aborted'
  }

  /**
   * Runs work in a transaction that writes, where each statement sees what was committed before it, as on PostgreSQL: a row is
   * locked, and then read as it is. A statement that only reads gives its rows, any other a row for each that it changed.
   */
  async #inWriting<R>(
    asker: SourceAsking['asker'],
    signal: AbortSignal | undefined,
    how: Parameters<Writing>[1],
    work: (on: Queryable) => Promise<R>,
  ): Promise<R> {
    const milliseconds = patienceOf(this.#source)
    const pool = await this.#open()
    const connection = await this.#connect(pool)
    const gone = new AbortController()
    const release = (error?: Error): void => {
      if (gone.signal.aborted) return
      if (error) {
        gone.abort(error)
        endThere(pool, connection)
      } else void giveBack(connection)
    }
    // A connection that was ended answers nothing any more, and one that is late is ended.
    const answered = async <T>(statement: Promise<T>): Promise<T> => {
      gone.signal.throwIfAborted()
      let leave = (): void => undefined
      const left = new Promise<never>((_, reject) => {
        leave = () => reject(gone.signal.reason as Error)
        gone.signal.addEventListener('abort', leave, { once: true })
      })
      const late = setTimeout(() => release(new Error('the database took too long')), milliseconds + grace)
      try {
        return await Promise.race([statement, left])
      } finally {
        clearTimeout(late)
        gone.signal.removeEventListener('abort', leave)
      }
    }
    const rows: Queryable['rows'] = ({ text, values }) => answered(askedOn(connection, text, values))
    const begin = async (): Promise<void> => {
      await this.#begin(connection, milliseconds)
      await connection.query(writingSession)
      await setCaller(connection, asker)
      await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED')
      await connection.query('START TRANSACTION READ WRITE')
    }
    const writes = {
      begin: () => answered(begin()),
      end: (how: string) => answered(connection.query(how)),
      // Of a deadlock the server says itself that nothing was kept.
      saysUndone: (error: unknown) => isMysqlError(error) && mysqlState(error) === '40001',
      release,
    }
    return await inWriting(writes, signal ?? gone.signal, how, () => work({ isTransaction: true, rows }))
  }

  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = undefined
    await (await pool?.catch(() => undefined))?.end()
  }

  /** Runs work on a connection; when the signal fires, or it is late, both the connection and its statement there are ended. */
  async #with<R>(
    milliseconds: number,
    signal: AbortSignal | undefined,
    work: (connection: PoolConnection) => Promise<R>,
  ): Promise<R> {
    const pool = await this.#open()
    const connection = await this.#connect(pool)
    let isEnded = false
    let leave = (): void => undefined
    const left = new Promise<never>((_, reject) => {
      leave = () => reject((signal?.reason as Error | undefined) ?? new Error('the source did not answer'))
    })
    left.catch(() => undefined)
    const stop = (): void => {
      isEnded = true
      endThere(pool, connection)
      leave()
    }
    if (signal?.aborted) {
      connection.release()
      throw signal.reason as Error
    }
    signal?.addEventListener('abort', stop, { once: true })
    const late = setTimeout(stop, milliseconds + grace)
    try {
      return await Promise.race([this.#begin(connection, milliseconds).then(() => work(connection)), left])
    } finally {
      signal?.removeEventListener('abort', stop)
      clearTimeout(late)
      if (!isEnded) connection.release()
    }
  }

  async #connect(pool: Pool): Promise<PoolConnection> {
    return await pool.getConnection().catch((error: unknown) => {
      // The password may have been changed, and is read again.
      if ((error as { readonly errno?: unknown }).errno === accessDenied)
        void this.close().catch(this.#onError)
      throw error
    })
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
      const [[version] = []] = await askedOn(connection, 'SELECT VERSION()')
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
