/**
 * SQL over what a principal may read (D7). Each process holds the snapshot of one permission set
 * and serves nobody else; it ends with the first statement that runs out of memory or ignores its end.
 */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { AppError } from '../../core/errors.ts'
import type { ReadableRows } from '../../documents/run-sql.ts'
import { type PermittedTable, type PermittedTables, sqlName } from '../permitted.ts'
import type { Isolation } from '../sandbox/bubblewrap.ts'
import { type Child, endedEarly } from '../sandbox/child.ts'
import { maxLine } from '../sandbox/frames.mjs'
import { startWorker } from '../sandbox/node-program.ts'
import { type Load, FairQueue, type TurnTaker } from '../../core/fair-queue.ts'
import { Spare } from '../sandbox/spare.ts'
import type { AnalysisSettings } from '../settings.ts'
import { readAnswer, readPart, type SqlColumn } from './answer.ts'
import { missingTable, ranOutOfMemory, sqlError } from './sql-error.ts'

/** One statement and what it runs over. */
export interface SqlQuery {
  readonly sql: string
  /** Values for `?`, `$1` (an array) or `$name` (an object). */
  readonly parameters?: readonly unknown[] | Readonly<Record<string, unknown>>
  readonly tables: PermittedTables
  readonly maxRows: number
  readonly timeout?: number // milliseconds
  readonly signal: AbortSignal
  readonly spent?: TurnTaker['spent']
}

/** What a statement found. */
export interface SqlResult {
  readonly columns: readonly SqlColumn[]
  readonly rows: readonly (readonly unknown[])[]
  /** Whether there are rows beyond these. */
  readonly more: boolean
  readonly milliseconds: number
}

interface Session {
  readonly child: Child
  readonly key: string
  /** Whether it was told what tables there are. */
  knowsTables: boolean
  /** Doctype → revision of what is loaded. */
  readonly loaded: Map<string, string>
  forget?: NodeJS.Timeout
}

const worker = join(import.meta.dirname, 'worker.mjs')
const rowsPerMessage = 2000
const idleMilliseconds = 300_000
const maxStatement = 100_000
/** Tables that stay loaded though statements do not name them: each is looked at before every statement. */
const maxUnmentioned = 8
/** After this many milliseconds beyond its time a statement that ignores interruption is killed with its process. */
const grace = 500

/** The SQL engine. */
export class Sql {
  #isolation: Isolation
  #settings: AnalysisSettings['sql']
  #queue: FairQueue
  #spare: Spare<Child>
  #idle: Session[] = []
  #busy = new Set<Session>()
  #closed = false

  constructor(isolation: Isolation, settings: AnalysisSettings['sql']) {
    this.#isolation = isolation
    this.#settings = settings
    this.#queue = new FairQueue(settings.max_concurrent)
    this.#spare = new Spare(
      () => this.#start(),
      (child) => child.kill(),
    )
  }

  load(): Load {
    return this.#queue.load()
  }

  /** Starts the engine once, so that a machine where it cannot run is known before a tool is offered. */
  async probe(): Promise<void> {
    await this.#spare.ready()
  }

  /**
   * Runs one SELECT. AppError `invalid` for a statement that cannot run (with line, column and what
   * there is instead) or takes too long or too much, `unavailable` when the caller leaves.
   */
  async query(query: SqlQuery): Promise<SqlResult> {
    if (query.sql.length > maxStatement)
      throw new AppError('invalid', `the statement is longer than ${maxStatement} characters`)
    const work = async (): Promise<SqlResult> => {
      const session = await this.#session(query.tables)
      try {
        return await session.child.workFor(query, () => this.#run(session, query))
      } catch (error) {
        throw endedEarly(error, 'the statement')
      } finally {
        this.#release(session)
      }
    }
    return await this.#queue.use({ user: query.tables.key, signal: query.signal }, work)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#spare.close()
    const sessions = [...this.#idle, ...this.#busy]
    this.#idle = []
    for (const { child } of sessions) child.kill()
    await Promise.all(sessions.map(({ child }) => child.ended))
  }

  async #run(session: Session, query: SqlQuery): Promise<SqlResult> {
    const { tables } = query.tables
    // All that there is, so that SHOW TABLES and DESCRIBE tell the truth before anything is read.
    if (!session.knowsTables) await this.#tell(session, { op: 'catalogue', tables: tables.map(describe) })
    session.knowsTables = true
    const mentioned = tables.filter((table) => mentions(query.sql, table.name))
    await this.#revalidate(session, tables, mentioned)
    for (const table of mentioned) await this.#load(session, table)
    for (;;) {
      const answer = await this.#ask(session, query)
      if (!('error' in answer)) return answer
      // A table whose name is computed is loaded when the engine misses its rows.
      const missing = missingTable(answer.error, tables)
      if (missing && !session.loaded.has(missing.name)) await this.#load(session, missing)
      else {
        if (ranOutOfMemory(answer.error)) session.child.kill()
        throw sqlError(answer.error, query.sql, tables)
      }
    }
  }

  /** A statement may read every table that is loaded, under a name that it computes: none of them is old. */
  async #revalidate(
    session: Session,
    tables: readonly PermittedTable[],
    mentioned: readonly PermittedTable[],
  ): Promise<void> {
    const others = [...session.loaded.keys()].filter((name) =>
      mentioned.every((table) => table.name !== name),
    )
    for (const [age, name] of others.toReversed().entries()) {
      const table = tables.find((one) => one.name === name)!
      if (age < maxUnmentioned && (await table.read()).revision === session.loaded.get(name)) continue
      session.loaded.delete(name)
      await this.#tell(session, { op: 'outline', table: describe(table) })
    }
  }

  async #ask(session: Session, query: SqlQuery): Promise<SqlResult | { error: string }> {
    const timeout = Math.min(query.timeout ?? Infinity, this.#settings.timeout_seconds * 1000)
    const late = `took longer than ${timeout / 1000} s and was stopped`
    const timer = setTimeout(() => session.child.kill(late), timeout + grace)
    const started = performance.now()
    try {
      await session.child.send({
        op: 'query',
        sql: query.sql,
        parameters: query.parameters ?? [],
        maxRows: Math.min(query.maxRows, this.#settings.max_rows),
        maxBytes: this.#settings.max_result_bytes,
        timeout,
      })
      const answer = readAnswer(await session.child.receive())
      if (answer === undefined) throw unanswered(session)
      if ('refused' in answer) throw new AppError('invalid', answer.refused)
      if ('late' in answer)
        throw new AppError('invalid', `the statement ${late}; narrow it with WHERE or aggregate`)
      if ('error' in answer) return answer
      const { columns, parts, more } = answer
      const rows: (readonly unknown[])[] = []
      for (let part = 0; part < parts; part++) {
        const read = readPart(await session.child.receive(), columns.length)
        if (read === undefined) throw unanswered(session)
        rows.push(...read)
        // Others have their turn between two parts.
        await setImmediate()
      }
      return { columns, rows, more, milliseconds: performance.now() - started }
    } finally {
      clearTimeout(timer)
    }
  }

  async #load(session: Session, table: PermittedTable): Promise<void> {
    const snapshot = await table.read()
    await snapshot.show?.()
    const { name } = table
    const before = session.loaded.get(name)
    session.loaded.delete(name)
    if (before !== snapshot.revision) await this.#fill(session, table, snapshot)
    session.loaded.set(name, snapshot.revision) // Last in the map is last named.
  }

  async #fill(session: Session, table: PermittedTable, snapshot: ReadableRows): Promise<void> {
    const { name } = table
    await this.#tell(session, { op: 'create', table: describe(table) })
    for await (const rows of snapshot.pages())
      // A document has up to a thousand rows in a table.
      for (let start = 0; start < rows.length; start += rowsPerMessage)
        await this.#tell(session, { op: 'rows', name, rows: rows.slice(start, start + rowsPerMessage) })
    await this.#tell(session, { op: 'filled', name })
  }

  async #tell(session: Session, message: Readonly<Record<string, unknown>>): Promise<void> {
    await session.child.send(message)
    const answer = (await session.child.receive()) as { ok?: unknown; failed?: unknown }
    if (answer.ok === true) return
    session.child.kill()
    throw new AppError('invalid', 'the rows do not fit into the memory that SQL may use')
  }

  async #session({ key: owner, tables }: PermittedTables): Promise<Session> {
    // Who may read other columns than before gets another process.
    const key = `${owner}\n${JSON.stringify(tables.map(describe))}`
    const at = this.#idle.findIndex((session) => session.key === key && session.child.alive)
    const session: Session =
      at === -1
        ? { child: await this.#spare.take(), key, knowsTables: false, loaded: new Map() }
        : this.#idle.splice(at, 1)[0]!
    clearTimeout(session.forget)
    this.#busy.add(session)
    return session
  }

  #release(session: Session): void {
    this.#busy.delete(session)
    if (!session.child.alive) return
    if (this.#closed) return session.child.kill()
    this.#idle.push(session)
    clearTimeout(session.forget)
    session.forget = setTimeout(() => this.#forget(session), idleMilliseconds).unref()
    while (this.#idle.length > this.#settings.max_idle) this.#idle.shift()!.child.kill()
  }

  /** Rows that nobody asks about do not stay in memory. */
  #forget(session: Session): void {
    const at = this.#idle.indexOf(session)
    if (at === -1) return
    this.#idle.splice(at, 1)
    session.child.kill()
  }

  #start(): Promise<Child> {
    const { memory_mb: memory, threads } = this.#settings
    return startWorker({
      isolation: this.#isolation,
      worker,
      packages: ['@duckdb/node-api'],
      args: [`${memory}MB`, String(threads)],
      heapMb: 256,
      // DuckDB does not count everything against its own limit; what it allocates beyond this fails in it.
      dataMb: memory * 2 + 512,
      maxMessageBytes: maxLine,
      what: 'the SQL engine',
    })
  }
}

function unanswered({ child }: Session): AppError {
  child.kill()
  return new AppError('unavailable', 'the statement ended without an answer')
}

function describe({ name, columns }: PermittedTable): Readonly<Record<string, unknown>> {
  return { name, alias: sqlName(name), columns }
}

/** Whether a statement may mean the table: too many cost time, one too few is loaded when it is missed. */
function mentions(sql: string, doctype: string): boolean {
  return [doctype.toLowerCase(), sqlName(doctype)].some((name) => sql.toLowerCase().includes(name))
}
