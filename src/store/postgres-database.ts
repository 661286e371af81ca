import { setTimeout as wait } from 'node:timers/promises'
import type { Client, PoolClient } from 'pg'
import { AppError } from '../core/errors.ts'
import {
  codeOf,
  type ConnectionOptions,
  type Connections,
  isCollision,
  openConnections,
  ourError,
  outage,
  type Queryable,
  type Statement,
  stoodStill,
} from './postgres-connection.ts'
import { hasLearnedMuch } from './postgres-plans.ts'
import { begin, beginFounding, type StateHead, headOf, headQuery } from './postgres-tables.ts'

/** So often a write is tried beside others, and so often in all. */
const attemptsBeside = 4
const attempts = 7
const fewConnections = 4

/** Whoever did the work may have said in its own words what the collision kept it from. */
function comesFromCollision(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) if (isCollision(at)) return true
  return false
}

/** A connection inside a transaction, and what its first statement told. */
interface Begun {
  readonly on: Queryable
  readonly head: StateHead
}

/** The database as the store works with it: what is lost is opened again, and what is wrong is known. */
export class Database {
  readonly #connections: Connections
  #fault: string | undefined
  #closed = false

  static async open(options: ConnectionOptions): Promise<Database> {
    return new Database(await openConnections(options))
  }

  /** Works with a database beside the daemons on it, through a few connections. */
  static async during<R>(url: string, work: (database: Database) => Promise<R>): Promise<R> {
    const database = await Database.open({ url, connections: fewConnections })
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }

  private constructor(connections: Connections) {
    this.#connections = connections
  }

  /** Why the last attempt failed; undefined when it did not. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Reads outside of transactions; once more when the connection turns out to be dead. */
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

  /** Runs one statement that reads, or is a transaction of its own and waits for nobody's; once more as `read` does, so it must bear that. */
  alone(statement: Statement): Promise<readonly unknown[][]> {
    return this.read((on) => on.rows(statement))
  }

  /** Reads on one connection, whose transaction is over afterwards. */
  async readOnOne<R>(work: (on: Queryable) => Promise<R>): Promise<R> {
    return await this.#on(
      () => this.#connections.reads.connect(),
      (client) => work(this.#connections.queryable(client)),
    )
  }

  /** Writes in one transaction, alone or beside others, anew when it collides with another's; answers when it is kept. */
  async write<R>(alone: boolean, work: (begun: Begun) => Promise<R>): Promise<R> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#write(alone || attempt > attemptsBeside, work)
      } catch (error) {
        if (!comesFromCollision(error) || attempt === attempts) throw error
        await wait(2 ** attempt)
      }
    }
  }

  async #write<R>(alone: boolean, work: (begun: Begun) => Promise<R>): Promise<R> {
    const text = `${begin(alone, this.#connections.patience)}; ${headQuery}`
    const beginOn = async (client: PoolClient): Promise<StateHead> => {
      // Several statements without values answer as a list.
      const results: unknown = await client.query({ text, rowMode: 'array' })
      return headOf((results as { rows: unknown[][] }[]).at(-1)!.rows[0])
    }
    let head: StateHead
    const connect = async (): Promise<PoolClient> => {
      const client = await this.#connections.writes.connect()
      try {
        head = await beginOn(client)
        return client
      } catch (error) {
        client.release(true)
        throw error
      }
    }
    const connectAgain = async (): Promise<PoolClient> => {
      try {
        return await connect()
      } catch (error) {
        // A connection that lay idle may have died with the server of before; nothing was done on it yet.
        if (outage(error) === undefined) throw error
        return await connect()
      }
    }
    return await this.#on(connectAgain, async (client) => {
      const result = await work({ on: this.#connections.queryable(client), head })
      await commit(client)
      return result
    })
  }

  /** Writes alone, where there may be no tables yet. */
  async found<R>(work: (on: Queryable) => Promise<R>): Promise<R> {
    return await this.#on(
      () => this.#connections.writes.connect(),
      async (client) => {
        await client.query(beginFounding)
        const result = await work(this.#connections.queryable(client))
        await commit(client)
        return result
      },
    )
  }

  /** A connection of the caller's own, which it ends. */
  async single(): Promise<Client> {
    this.requireOpen()
    try {
      return await this.#connections.single()
    } catch (error) {
      throw this.#noted(error)
    }
  }

  /** Something is wrong that no error told. */
  refuse(why: string): void {
    this.#fault = why
  }

  requireOpen(): void {
    if (this.#closed) throw new AppError('unavailable', 'the state is closed')
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#connections.close()
  }

  async #on<R>(connect: () => Promise<PoolClient>, work: (client: PoolClient) => Promise<R>): Promise<R> {
    this.requireOpen()
    let client: PoolClient | undefined
    let why: unknown
    // That it is gone is told behind why.
    const note = (error: unknown): void => void (why ??= error)
    try {
      client = await connect()
      client.on('error', note)
      const result = await work(client)
      this.#fault = undefined
      client.release(hasLearnedMuch(client))
      return result
    } catch (thrown) {
      // What the server said when it ended the connection says more than that it is gone.
      const error = codeOf(why) === stoodStill ? why : thrown
      // On a connection that does not answer, a statement more would only wait.
      const lost = outage(error) !== undefined
      const broken =
        lost ||
        (await client?.query('ROLLBACK').then(
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

async function commit(client: PoolClient): Promise<void> {
  // A transaction that had failed is rolled back by a commit, without an error.
  const { command } = await client.query('COMMIT')
  if (command !== 'COMMIT') throw new AppError('unavailable', 'the database did not keep the transaction')
}
