/** Connections to the database of the state. */
import type { Client, ClientBase, Pool, PoolClient } from 'pg'
import type { Stop } from '#leaf/stop.ts'
import { noSession } from './errors.ts'
import { connectMilliseconds, hostsOf } from './hosts.ts'
import type { KnownHistory } from './history.ts'
import { hasLearnedMuch, keptName } from '../running/plans.ts'

/** Milliseconds to wait for a lock: longer than a transaction may take, so that a waiting one gets its turn. */
const lockMilliseconds = 35_000
/** Milliseconds that a transaction may stand idle; then it is rolled back and may be retried. */
const stillMilliseconds = 2_000
const statementMilliseconds = 40_000

const limits = {
  statement_timeout: statementMilliseconds,
  lock_timeout: lockMilliseconds,
  // The server ends the transaction of a daemon that stands still or whose machine is gone, since others may wait for it.
  idle_in_transaction_session_timeout: stillMilliseconds,
}

/** The application name by which daemons and commands recognize each other's connections. */
export const applicationName = 'assistant-core'

const localLimits = Object.entries(limits)
  .map(([name, value]) => `SET LOCAL ${name} = ${value}; `)
  .join('')

const config = {
  connectionTimeoutMillis: connectMilliseconds,
  // A timeout for a server that vanished silently, which cannot apply the limits.
  query_timeout: statementMilliseconds + 5_000,
  keepAlive: true,
  application_name: applicationName,
}

/** The options for reaching the database. */
export interface ConnectionOptions {
  /**
   * `postgresql://user:password@host/database`, with several hosts `host1,host2`, of which the one that takes writes is
   * used; a secret. A second line is the database's own address behind a pooler that keeps no sessions.
   */
  readonly url: string
  /** The most connections. */
  readonly connections: number
  /** The history that a server must have to be used. */
  readonly history: KnownHistory
}

/** A pool of connections for one purpose, each given to one piece of work at a time. */
export interface Door extends Queryable {
  connect(): Promise<PoolClient>
  /** True when more connections are open than now may be. */
  isSurplus(): boolean
}

/**
 * The two pools: a write may wait for another daemon's lock while it holds its connection, and the holder of the
 * lock may still have to read.
 */
export interface Connections {
  readonly reads: Door
  readonly writes: Door
  /** Connections that hold what writes wait for, where that is rows; none where it is not. */
  readonly keepers: Door
  /** SQL that sets the timeouts at the begin of a transaction, where the connection itself cannot be given them. */
  readonly patience: string
  queryable(client: PoolClient): Queryable
  /** Opens a connection that is not shared, and keeps its session. */
  single(purpose?: string): Promise<Client>
  /** Sets the most connections of the pools. */
  share(connections: number): void
  /** The connections that are open. */
  readonly open: number
  close(): Promise<void>
}

/** A statement with its values bound. */
export interface Statement {
  /** True to keep the plan for the next use of the same text. */
  readonly keep?: boolean
  readonly text: string
  readonly values: readonly unknown[]
  /** Milliseconds that it may take, where that is more than usual. */
  readonly patience?: number
  /** The signal that cancels it, where it is not part of a transaction. */
  readonly stop?: Stop
}

/** A target for statements: a connection, or a pool that picks one. */
export interface Queryable {
  /** The signal that ends the processing of the rows. */
  readonly stop?: Stop
  /** Others wait for a transaction in any case: what is made of its rows stands in no line. */
  readonly isTransaction?: true
  rows(statement: Statement): Promise<readonly unknown[][]>
}

/** Prepares the pools without connecting yet. AppError `invalid` when the text is not the address of a database. */
export async function openConnections(options: ConnectionOptions): Promise<Connections> {
  const [line = '', ...more] = options.url.split(/\s*\n\s*/)
  const hosts = hostsOf(line, options.history)
  const isPooled = more.length > 0
  const direct = isPooled ? hostsOf(more.join(' '), options.history) : hosts
  const { Client, Pool } = await import('pg')
  const queryable = (client: PoolClient): Queryable => queryableOf(client, !isPooled)
  const pools: Pool[] = []
  // Cancels go through the write pool: the read pool may be full of the statements to cancel.
  const beside = (): Door | undefined => (isPooled ? undefined : doors.writes)
  const open = (max: number): Door => {
    const verify = (client: Client, answer: (error?: Error) => void): void =>
      void hosts.verify(client).then(() => answer(), answer)
    const more = isPooled ? {} : { onConnect: limitSession }
    // Statements of a transaction that need no answer of one another are sent at once.
    const pool = new Pool({ ...config, ...more, max, pipeline: true, idleTimeoutMillis: 30_000, verify })
    pools.push(pool)
    // A connection that breaks while idle is dropped by the pool; one in use fails its statement.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => void client.on('error', () => undefined))
    const connect = (): Promise<PoolClient> => hosts.take(pool)
    const isSurplus = (): boolean => pool.totalCount > pool.options.max
    return {
      connect,
      isSurplus,
      rows: (statement) => rowsOn(connect, { queryable, beside, isSurplus }, statement),
    }
  }
  const [reading, writing] = sharesOf(options.connections)
  const doors = { reads: open(reading), writes: open(writing), keepers: open(writing) }
  return {
    ...doors,
    patience: isPooled ? localLimits : '',
    queryable,
    single: (purpose = '') =>
      direct.reach(async (connectionString) => {
        const application_name = `${applicationName}${purpose}`
        const client = new Client({ ...config, connectionString, application_name })
        await openSingle(client)
        await direct.verify(client)
        return client
      }),
    share: (connections) => sharesOf(connections).forEach((most, at) => resize(pools[at]!, most)),
    get open() {
      return pools.reduce((sum, pool) => sum + pool.totalCount, 0)
    },
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

/** Opens a connection that is in no pool. */
async function openSingle(client: Client): Promise<void> {
  // An error before anybody listens must not end the process.
  client.on('error', () => undefined)
  await client.connect()
  await limitSession(client)
}

/** Sets the most connections of a pool. Those in use that are too many are closed when they are given back. */
function resize(pool: Pool, most: number): void {
  pool.options.max = most
  const surplus = Math.min(pool.idleCount, pool.totalCount - most)
  for (let n = 0; n < surplus; n++)
    pool.connect().then(
      (client) => client.release(true),
      () => undefined,
    )
}

/** Returns how many connections read, and how many write. */
function sharesOf(connections: number): readonly [reading: number, writing: number] {
  const writing = Math.max(1, Math.ceil(connections / 2))
  return [Math.max(1, connections - writing), writing]
}

/** Sets the limits of a session, and looks whether they hold: a pooler takes none with the address, and may ignore them. */
async function limitSession(client: ClientBase): Promise<void> {
  // JIT compilation takes longer than most answers.
  const all = Object.entries({ jit: 'off', ...limits })
  const settings = all.map(([name, value]) => `SET ${name} = ${value};`).join(' ')
  const asked = all.map(([name]) => `(SELECT setting FROM pg_settings WHERE name = '${name}')`).join(', ')
  const results: unknown = await client.query({ text: `${settings} SELECT ${asked}`, rowMode: 'array' })
  const held = (results as { rows: unknown[][] }[]).at(-1)!.rows[0]!
  const lost = all.find(([, value], at) => String(held[at]) !== String(value))
  if (lost)
    throw Object.assign(new Error(`the database does not keep ${lost[0]} for a session`), { code: noSession })
}

async function rowsOn(
  connect: () => Promise<PoolClient>,
  how: Pick<Connections, 'queryable'> & Pick<Door, 'isSurplus'> & { readonly beside: () => Door | undefined },
  statement: Statement,
): Promise<readonly unknown[][]> {
  const { stop } = statement
  const client = await connect()
  const leave = stop?.onEnd(() => cancel(client, how.beside()))
  try {
    const rows = stop?.reason ? [] : await how.queryable(client).rows(statement)
    // The cancel may arrive late, so no other statement may run on this connection.
    client.release(stop?.reason !== undefined || hasLearnedMuch(client) || how.isSurplus())
    if (!stop?.reason) return rows
  } catch (error) {
    client.release(true)
    if (!stop?.reason) throw error
  } finally {
    leave?.()
  }
  throw stop.reason
}

/** Cancels a connection's statement through another. Behind a pooler its server is unknown: there the statement runs on. */
function cancel(client: PoolClient & { readonly processID?: number }, beside: Door | undefined): void {
  const statement = { text: 'SELECT pg_cancel_backend($1)', values: [client.processID] }
  void beside?.rows(statement).catch(() => undefined)
}

/** Wraps a connection for statements. They get no names where each transaction gets another session. */
function queryableOf(client: PoolClient, named: boolean): Queryable {
  return {
    rows: async ({ keep, text, values, patience }) => {
      const config = {
        name: named && keep === true ? keptName(client, text) : '',
        text,
        values: [...values],
        query_timeout: patience,
        rowMode: 'array' as const,
      }
      return (await client.query<unknown[]>(config)).rows
    },
  }
}
