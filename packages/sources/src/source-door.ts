/** Asks a database of others: as whom, for how long, and what its errors mean to the caller. */
import { DatabaseError, type Pool } from 'pg'
import { AppError } from '#leaf/errors.ts'
import type { Queryable } from '#state/postgres.ts'
import type { Source } from './source.ts'
import { lookOf, type SourceLook } from './catalogue.ts'
import type { Door, SourceAsking, Writing } from './door.ts'
import { inWriting, type Outcome, type TransactionThere } from './in-writing.ts'
import { isMysqlError, mysqlState } from './mysql-faults.ts'
import { askingInTurn, Shares, sharesOf } from './shares.ts'
import { grace, lookMilliseconds, patienceOf, type SecretOf } from './source-limits.ts'
import {
  beginning,
  inReadOnly,
  openPool,
  readOnly,
  settingsSql,
  tellCaller,
  toldSettings,
  writingConnection,
} from './source-pool.ts'
import { askReadOnly } from './source-question.ts'
import { type WriteKeys, writeKeysIn } from './write-keys.ts'

/** A source on PostgreSQL and its connections. */
export class SourceDoor implements Door {
  readonly pool: Pool
  readonly writeKeys: WriteKeys | undefined
  readonly marks = false
  readonly #source: Source
  readonly #shares: Shares
  /** What writes reads over its own connection, and one person writes once at a time. */
  readonly #writers = new Shares(1)
  /** Many doctypes are looked at when a site is read: not more at once than leave room for questions. */
  readonly #looks = new Shares(2)
  /** The statements that begin a question. */
  readonly #begins: readonly string[]

  constructor(source: Source, secretOf: SecretOf, onError: (error: Error) => void) {
    this.#source = source
    this.writeKeys = writeKeysIn(source)
    this.pool = openPool(source, secretOf, onError)
    this.#shares = sharesOf(source)
    // JIT compilation takes longer than most answers.
    const settings = { statement_timeout: patienceOf(source), jit: 'off', extra_float_digits: 1 }
    this.#begins = beginning(source, readOnly, settings)
  }

  look<R>(work: (at: SourceLook) => Promise<R>): Promise<R> {
    return this.#looks.run('', undefined, () => {
      const signal = AbortSignal.timeout(lookMilliseconds)
      return inReadOnly(this.pool, this.#source, signal, async (client) => {
        await tellCaller(client, undefined, lookMilliseconds)
        return await work(lookOf(client))
      })
    })
  }

  close(): Promise<void> {
    return this.pool.end()
  }

  writing: Writing = ({ asker, stop }, how, work) => {
    const milliseconds = patienceOf(this.#source)
    return this.#writers.run(asker?.user ?? '', stop, async () => {
      const signal = stop?.signal ?? new AbortController().signal
      const client = await this.pool.connect()
      return await inWriting(writingConnection(client, this.#source), signal, how, async () => {
        // Triggers may keep who did it, also where no rule of the table asks.
        await tellCaller(client, asker, milliseconds)
        const rows: Queryable['rows'] = async ({ text, values }) => {
          const limits = { rowMode: 'array' as const, query_timeout: milliseconds + grace }
          return (await client.query<unknown[]>({ text, values: [...values], ...limits })).rows
        }
        const number = async (): Promise<string> =>
          String((await rows({ text: 'SELECT txid_current()::text', values: [] }))[0]![0])
        return await work({ isTransaction: true, rows }, number)
      })
    })
  }

  async outcome({ transaction }: TransactionThere): Promise<Outcome> {
    const text = 'SELECT txid_status($1::bigint) AS status'
    const ask = this.look((at) => at.rows(text, [transaction]))
    // A database that was set back has not had it yet.
    const found = await ask.catch((error: unknown) => {
      if (error instanceof DatabaseError && error.code === '22023') return undefined
      throw error
    })
    return (found?.[0]?.[0] as Outcome | null | undefined) ?? 'unknown'
  }

  /** Returns where questions of somebody go. */
  queryable(asking: SourceAsking): Queryable {
    const told = asking.tells ? settingsSql(toldSettings(asking.asker)) : []
    return askingInTurn(this.#shares, this.#source, asking, (asked, milliseconds, signal) => {
      return askReadOnly(this.pool, signal, { ...asked, milliseconds }, { all: this.#begins, told })
    })
  }
}

/** Words an error of the database for the caller, who learns nothing of its inside. */
export function sourceRefusal(name: string, source: string, error: unknown): AppError {
  if (error instanceof AppError) return error
  const of = (code: AppError['code'], message: string): AppError =>
    new AppError(code, `${name}: ${message}`, { cause: error })
  const code = stateOf(error)
  if (code === undefined) return of('unavailable', `the source "${source}" cannot be reached`)
  if (code === '57014') return of('unavailable', `the source "${source}" took too long; ask for less`)
  // The words of the database would quote the value, perhaps of a row that the caller may not read.
  if (code.startsWith('22'))
    return of('invalid', `the source "${source}" refused a value; its operator has been told`)
  return of('unavailable', `the source "${source}" failed; its operator has been told`)
}

/** True for an error after which the table, or the source, has to be looked at again. */
export function isDoubtful(error: unknown): boolean {
  if (error instanceof AppError) return false
  const code = stateOf(error)
  return code === undefined || /^(?:42|08|53|57P|3D|28)/.test(code)
}

/** True for an error of a login that may not do what was asked, or does not find what it needs. */
export function isDenied(error: unknown): boolean {
  return stateOf(error)?.startsWith('42') ?? false
}

/** Returns the SQLSTATE of an error of a database; undefined where it was not the database that failed. */
function stateOf(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code ?? ''
  return isMysqlError(error) ? mysqlState(error) : undefined
}
