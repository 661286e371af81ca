/**
 * SQL over the tables that a principal may read (D7). Each process holds the snapshot of one permission set
 * and serves nobody else; it ends with the first statement that runs out of memory or ignores its deadline.
 */
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { longestTimer } from '#leaf/deadline.ts'
import { AppError } from '#leaf/errors.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import { type PermittedTable, type PermittedTables, type ReadableRows, sqlName } from '../tables.ts'
import type { Isolation } from '../isolation/bubblewrap.ts'
import { type Child, endedEarly } from '../isolation/child.ts'
import { maxLine } from '../isolation/frames.mjs'
import { startWorker } from '../isolation/node-program.ts'
import { type Load, FairQueue, type TurnTaker } from '#leaf/fair-queue.ts'
import { Spare } from '../isolation/spare.ts'
import type { SandboxSettings } from '../settings.ts'
import { readAnswer, readPart, type SqlColumn } from './answer.ts'
import { missingTable, ranOutOfMemory, sqlError } from './sql-error.ts'

/** A statement and its tables. */
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

/** The result of a statement. */
export interface SqlResult {
  readonly columns: readonly SqlColumn[]
  readonly rows: readonly (readonly unknown[])[]
  /** True if there are rows beyond these. */
  readonly more: boolean
  readonly milliseconds: number
}

interface Session {
  readonly child: Child
  readonly key: string
  /** True if the process knows the names of all tables. */
  knowsTables: boolean
  /** Maps a doctype to the revision of its loaded rows. */
  readonly loaded: Map<string, string>
  forget?: NodeJS.Timeout
}

const worker = join(import.meta.dirname, 'worker.mjs')
/** The most characters of a message: they, and not the rows, decide how long writing takes. */
const messageCharacters = 500_000
const idleMilliseconds = 300_000
const maxStatement = 100_000
/** The most tables that stay loaded without being named: each is checked before every statement. */
const maxUnmentioned = 8
/** Milliseconds after its deadline at which a statement that ignores interruption is killed with its process. */
const grace = 500

/** The SQL engine: runs statements in processes of their own. */
export class Sql {
  #isolation: Isolation
  #settings: SandboxSettings['sql']
  #queue: FairQueue
  #spare: Spare<Child>
  #idle: Session[] = []
  #busy = new Set<Session>()
  #closed = false

  constructor(isolation: Isolation, settings: SandboxSettings['sql']) {
    this.#isolation = isolation
    this.#settings = settings
    this.#queue = new FairQueue(settings.max_concurrent)
    this.#spare = new Spare(() => this.#start())
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
    const work = async (signal: AbortSignal): Promise<SqlResult> => {
      const session = await this.#session(query.tables)
      try {
        return await session.child.workFor({ ...query, signal }, () => this.#run(session, query))
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
    const { tables, user } = query.tables
    // All tables, so that SHOW TABLES and DESCRIBE are right before any rows are loaded.
    if (!session.knowsTables)
      await this.#tell(session, { op: 'catalogue', user, tables: tables.map(describe) })
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

  /** Drops outdated rows of every loaded table, since a statement may read any of them under a computed name. */
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
    const longest = longestTimer - grace
    const timeout = Math.min(query.timeout ?? longest, this.#settings.timeout_seconds * 1000, longest)
    const late = `took longer than ${timeout / 1000} s and was stopped`
    const started = performance.now()
    return await session.child.within(timeout + grace, late, async () => {
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
      if ('late' in answer) {
        // Its intermediate results may stay allocated, as after running out of memory.
        session.child.kill()
        throw new AppError('invalid', `the statement ${late}; narrow it with WHERE or aggregate`)
      }
      if ('error' in answer) return answer
      const { columns, parts, more } = answer
      const rows: (readonly unknown[])[] = []
      for (let part = 0; part < parts; part++) {
        const read = readPart(await session.child.receive(), columns.length)
        if (read === undefined) throw unanswered(session)
        rows.push(...read)
        // Lets others run between two parts.
        await setImmediate()
      }
      return { columns, rows, more, milliseconds: performance.now() - started }
    })
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
      for (const message of messagesOf(name, rows)) await this.#tell(session, message)
    await this.#tell(session, { op: 'filled', name })
  }

  async #tell(session: Session, message: Readonly<Record<string, unknown>> | WrittenJson): Promise<void> {
    await session.child.send(message)
    const answer = (await session.child.receive()) as { ok?: unknown; failed?: unknown }
    if (answer.ok === true) return
    session.child.kill()
    throw new AppError('invalid', 'the rows do not fit into the memory that SQL may use')
  }

  async #session({ key: owner, tables }: PermittedTables): Promise<Session> {
    // A principal with other columns than before gets another process.
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

  /** Ends an idle process, so that unused rows do not stay in memory. */
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
      // DuckDB does not count everything against its own limit; allocations beyond this fail in it.
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

/** True if a statement may name the table: an extra table costs time, a missing one is loaded when the engine misses it. */
function mentions(sql: string, doctype: string): boolean {
  return [doctype.toLowerCase(), sqlName(doctype)].some((name) => sql.toLowerCase().includes(name))
}

/** Yields the rows of a table as messages to the engine. */
function* messagesOf(name: string, rows: readonly (readonly unknown[])[]): Generator<WrittenJson> {
  let written: string[] = []
  let size = 0
  const message = (): WrittenJson => {
    const text = `{"op":"rows","name":${JSON.stringify(name)},"rows":[${written.join()}]}`
    ;[written, size] = [[], 0]
    return new WrittenJson(text, () => JSON.parse(text))
  }
  for (const row of rows) {
    const json = JSON.stringify(row)
    written.push(json)
    if ((size += json.length) >= messageCharacters) yield message()
  }
  if (size > 0) yield message()
}
