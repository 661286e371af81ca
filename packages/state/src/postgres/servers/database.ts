import type { Client, PoolClient } from 'pg'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import {
  applicationName,
  type Connections,
  openConnections,
  type Queryable,
  type Statement,
} from './connection.ts'
import { codeOf, OtherServer, ourError, outage, stoodStill } from './errors.ts'
import type { ConnectionCounts } from '../../store.ts'
import { KnownHistory } from './history.ts'
import { hasLearnedMuch } from '../running/plans.ts'
import { beginFounding, commit, end, keepRows, type Locking, lockingOf } from '../running/locks.ts'
import { begin, type Begun, headOf } from '../tables.ts'

const fewConnections = 4

/** The database, and the state folder with its known history. Without a log nothing is written there. */
interface DatabaseOptions {
  readonly url: string
  readonly connections?: number | undefined
  readonly folder?: string | undefined
  readonly log?: Log
  readonly acceptsOlder?: boolean | undefined
  readonly locking?: Locking | undefined
}

/** A transaction on a connection, whose statements are sent without waiting for one another. */
export interface Running {
  readonly on: Queryable
  /** Rejects when the transaction cannot begin; then its statements do too. */
  readonly begun: Promise<Begun>
  /** Sends the last statements together with the end; settles when all of it is committed. */
  commit(last: readonly (() => Promise<unknown>)[]): Promise<void>
}

/** The most times that a transaction is begun on servers that take turns behind a pooler. */
const mostServers = 4

/** The part of the server's connections that daemons share; the rest is for commands, poolers' own and people. */
const sharedPart = 0.9
/** The connections of a daemon that are in no pool: the one that listens. */
const besidePools = 1
const fewestConnections = 2
/** The name of the connection by which each daemon listens. */
const listenerName = `${applicationName} listener`

const countQuery = `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
  (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1)`

/** The database as the store uses it: lost connections are reopened, and the last fault is known. */
export class Database {
  readonly #connections: Connections
  readonly history: KnownHistory
  readonly #most: number
  /** The number of connections that may write at once. */
  writing: number
  /** How daemons of this state lock, known once it is opened. */
  locking: Locking = 'advisory'
  /** How they shall lock in a state that is still to be made. */
  readonly #wanted: Locking | undefined
  #fault: string | undefined
  #closed = false

  static async open(options: DatabaseOptions): Promise<Database> {
    const { url, connections = 8, folder, log, acceptsOlder, locking } = options
    const history = await KnownHistory.open(folder, log, acceptsOlder)
    const opened = await openConnections({ url, connections, history })
    return new Database(opened, history, connections, locking)
  }

  /** Runs work on a database beside its daemons, through a few connections; with a folder, under its daemon's history check. */
  static async during<R>(url: string, work: (database: Database) => Promise<R>, folder?: string): Promise<R> {
    const database = await Database.open({ url, connections: fewConnections, folder })
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }

  private constructor(connections: Connections, history: KnownHistory, most: number, wanted?: Locking) {
    this.#wanted = wanted
    this.#most = most
    this.writing = Math.ceil(most / 2)
    this.#connections = connections
    this.history = history
  }

  /** The reason why the last attempt failed; undefined when it did not. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Reads outside of transactions; retries once when the connection turns out to be dead. */
  async read<R>(work: (on: Queryable) => Promise<R>): Promise<R> {
    this.requireOpen()
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await work(this.#connections.reads)
        this.#fault = undefined
        return result
      } catch (error) {
        if (attempt > 1 || outage(error) === undefined) throw this.#noted(error)
      }
    }
  }

  /** Runs one statement that reads, or is its own transaction and waits for no other. It must bear the retry of `read`. */
  alone(statement: Statement): Promise<readonly unknown[][]> {
    return this.read((on) => on.rows(statement))
  }

  /** Reads on one connection, whose transaction has ended afterwards. */
  async readOnOne<R>(work: (on: Queryable) => Promise<R>): Promise<R> {
    return await this.#on(
      () => this.#connections.reads.connect(),
      (client) => work(this.#connections.queryable(client)),
    )
  }

  /**
   * Runs work in one transaction, which begins when what is locked, by numbers, is free. The work may be run anew while
   * nothing can have been committed.
   */
  async write<R>(locks: readonly string[], work: (running: Running) => Promise<R>): Promise<R> {
    let other: number | undefined
    const isByRows = this.locking === 'rows' && locks.length > 0
    for (let attempt = 1; ; attempt++) {
      let isBegun = false
      const begun = (): void => void (isBegun = true)
      const giveUp = isByRows ? await this.#keepRows(locks) : undefined
      try {
        return await this.#attempt({ locks: isByRows ? [] : locks, other, begun }, work)
      } catch (error) {
        const isOther = error instanceof OtherServer
        if (isOther) other = error.server
        // An idle connection may have died with the former server; nothing was done on it yet.
        const isDead =
          attempt === 1 && !isBegun && error instanceof AppError && outage(error.cause) !== undefined
        if (attempt === mostServers || !(isOther || isDead)) throw error
      } finally {
        giveUp?.()
      }
    }
  }

  async #keepRows(numbers: readonly string[]): Promise<() => void> {
    try {
      return await keepRows(await this.#connections.keepers.connect(), numbers)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  async #attempt<R>(
    how: { readonly locks: readonly string[]; readonly other: number | undefined; begun(): void },
    work: (running: Running) => Promise<R>,
  ): Promise<R> {
    const { locks, other } = how
    return await this.#on(
      () => this.#connections.writes.connect(),
      async (client) => {
        const on = this.#connections.queryable(client)
        const ask = async (text: string, values: readonly unknown[] = []): Promise<readonly unknown[]> =>
          (await on.rows({ text, values }))[0] ?? []
        if (other !== undefined) await this.history.require(other, ask)
        const begun = this.#begin(client, locks).then((head) => {
          how.begun()
          return head
        })
        begun.catch(() => undefined)
        const finish = async (last: readonly (() => Promise<unknown>)[]): Promise<void> => {
          await begun
          const sent = [...last.map((send) => send()), commit(client, locks)]
          for (const result of await Promise.allSettled(sent))
            if (result.status === 'rejected') throw result.reason
        }
        return await work({ on, begun, commit: finish })
      },
      end('ROLLBACK', locks),
    )
  }

  async #begin(client: PoolClient, locks: readonly string[]): Promise<Begun> {
    const text = begin(this.locking, locks, this.#connections.patience)
    // Several statements without values return a list of results.
    const results: unknown = await client.query({ text, rowMode: 'array' })
    const [number, head] = (results as { rows: unknown[][] }[]).slice(-2).map(({ rows }) => rows[0])
    const begun = { ...headOf(head), number: String(number?.[0]) }
    // Behind a pooler, another server may have taken the place of the verified one.
    if (begun.server !== this.history.server) throw new OtherServer(begun.server)
    return begun
  }

  /** Writes alone, under the founding lock, where there may be no tables yet. */
  async found<R>(work: (on: Queryable) => Promise<R>): Promise<R> {
    return await this.#on(
      () => this.#connections.writes.connect(),
      async (client) => {
        this.locking = await lockingOf(client, () => this.#connections.reads.connect(), this.#wanted)
        await client.query(beginFounding(this.locking))
        const result = await work(this.#connections.queryable(client))
        await commit(client, [])
        return result
      },
    )
  }

  /** Opens a connection of the caller's own, which the caller ends. */
  async single(purpose?: string): Promise<Client> {
    this.requireOpen()
    try {
      return await this.#connections.single(purpose)
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** Counts the daemons of the state, and takes for this one no more connections than are left for each. */
  async count(): Promise<ConnectionCounts> {
    const [row] = await this.alone({ text: countQuery, values: [listenerName] })
    const [given, daemons] = row!.map(Number) as [number, number]
    const share = Math.floor((given * sharedPart) / Math.max(1, daemons)) - besidePools
    const most = Math.max(fewestConnections, Math.min(this.#most, share))
    this.#connections.share(most)
    this.writing = Math.ceil(most / 2)
    return {
      open: this.#connections.open + besidePools,
      most: most + besidePools,
      given,
      daemons: Math.max(1, daemons),
    }
  }

  /** Records a fault that no error told. */
  refuse(why: string): void {
    this.#fault = why
  }

  requireOpen(): void {
    if (this.#closed) throw new AppError('unavailable', 'the state is closed')
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.history.keep()
    await this.#connections.close()
  }

  async #on<R>(
    connect: () => Promise<PoolClient>,
    work: (client: PoolClient) => Promise<R>,
    undo = 'ROLLBACK',
  ): Promise<R> {
    this.requireOpen()
    let client: PoolClient | undefined
    let why: unknown
    // The first error says why; later ones only that the connection is gone.
    const note = (error: unknown): void => void (why ??= error)
    try {
      client = await connect()
      client.on('error', note)
      const result = await work(client)
      this.#fault = undefined
      client.release(hasLearnedMuch(client) || this.#connections.writes.isSurplus())
      return result
    } catch (thrown) {
      // The server's reason for ending the connection says more than that it is gone.
      const error = codeOf(why) === stoodStill ? why : thrown
      // On a connection that does not answer, another statement would only wait.
      const lost = outage(error) !== undefined
      const broken =
        lost ||
        (await client?.query(undo).then(
          () => false,
          () => true,
        ))
      client?.release(broken)
      throw this.#noted(error)
    } finally {
      client?.off('error', note)
    }
  }

  #noted(error: unknown): unknown {
    const why = this.#closed ? undefined : outage(error)
    if (why !== undefined) this.#fault = why
    return ourError(error)
  }
}
