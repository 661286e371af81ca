/** Connections to the database of the state, and what its errors mean to us. */
import type { Client, ClientBase, Pool, PoolClient } from 'pg'
import { AppError } from '../core/errors.ts'
import { hasLearnedMuch, keptName } from './postgres-plans.ts'

/** Longer than a transaction may take, so that who waits for one gets its turn. */
const lockMilliseconds = 35_000
/** Who stands still inside a transaction for so long keeps nothing, and may begin again. */
const stillMilliseconds = 2_000
const statementMilliseconds = 40_000
const connectMilliseconds = 8_000

/** What the pool says when all of its connections are in use for long: the database itself is well. */
const noConnectionFree = 'timeout exceeded when trying to connect'

/** How the database is reached. */
export interface ConnectionOptions {
  /**
   * `postgresql://user:password@host/database`, with several hosts `host1,host2`, of which the one that takes writes is
   * looked for; a secret. A second line is the database's own address behind a pooler that keeps no sessions.
   */
  readonly url: string
  /** At most so many connections. */
  readonly connections: number
}

/** Several connections to one end, each given to one piece of work at a time. */
export interface Door extends Queryable {
  connect(): Promise<PoolClient>
}

/**
 * Two doors: a write may wait for another daemon's lock while it holds its connection, and whoever has the
 * lock may still have to read.
 */
export interface Connections {
  readonly reads: Door
  readonly writes: Door
  /** What a transaction begins with, where the connection itself cannot be told how patient to be. */
  readonly patience: string
  queryable(client: PoolClient): Queryable
  /** A connection that belongs to nobody else, and keeps its session. */
  single(): Promise<Client>
  close(): Promise<void>
}

/** A statement with its values bound. */
export interface Statement {
  /** Has the plan kept, for who asks in the same words again. */
  readonly keep?: boolean
  readonly text: string
  readonly values: readonly unknown[]
  /** How many milliseconds it may take, where that is more than usual. */
  readonly patience?: number
}

/** What statements can be sent to: a connection, or a pool that picks one. */
export interface Queryable {
  rows(statement: Statement): Promise<readonly unknown[][]>
}

/** Prepares the pools; nothing is connected yet. AppError `invalid` when the text is no address of a database. */
export async function openConnections(options: ConnectionOptions): Promise<Connections> {
  const [line = '', ...more] = options.url.split(/\s*\n\s*/)
  const hosts = hostsOf(line)
  const isPooled = more.length > 0
  const direct = isPooled ? hostsOf(more.join(' ')) : hosts
  const writing = Math.max(2, Math.floor(options.connections / 2))
  const { Client, Pool } = await import('pg')
  const config = {
    connectionTimeoutMillis: connectMilliseconds,
    // For a server that is gone without a word, when nothing of the limits below arrives.
    query_timeout: statementMilliseconds + 5_000,
    keepAlive: true,
    application_name: applicationName,
  }
  const limits = {
    statement_timeout: statementMilliseconds,
    lock_timeout: lockMilliseconds,
    // The server ends the transaction of a daemon that stands still, or whose machine is gone: others may wait for it.
    idle_in_transaction_session_timeout: stillMilliseconds,
  }
  const queryable = (client: PoolClient): Queryable => queryableOf(client, !isPooled)
  const pools: Pool[] = []
  const open = (max: number): Door => {
    const verify = (client: Client, answer: (error?: Error) => void): void =>
      void hosts.verify(client).then(() => answer(), answer)
    const more = isPooled ? {} : { ...limits, onConnect }
    const pool = new Pool({ ...config, ...more, max, idleTimeoutMillis: 30_000, verify })
    pools.push(pool)
    // A connection that breaks while idle is dropped by the pool; one in use fails its statement.
    pool.on('error', () => undefined)
    pool.on('connect', (client) => void client.on('error', () => undefined))
    const connect = (): Promise<PoolClient> =>
      hosts.reach((connectionString) => {
        pool.options.connectionString = connectionString
        return pool.connect()
      })
    return { connect, rows: (statement) => rowsOn(connect, queryable, statement) }
  }
  return {
    reads: open(Math.max(2, options.connections - writing)),
    writes: open(writing),
    patience: isPooled
      ? Object.entries(limits)
          .map(([name, value]) => `SET LOCAL ${name} = ${value}; `)
          .join('')
      : '',
    queryable,
    single: () =>
      direct.reach(async (connectionString) => {
        const client = new Client({ ...config, ...limits, connectionString })
        // What breaks before anybody listens must not end the process.
        client.on('error', () => undefined)
        await client.connect()
        await direct.verify(client)
        return client
      }),
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}

// Compiling what is asked once takes longer than most answers. Said here, since no pooler takes it with the address.
const onConnect = (client: ClientBase): Promise<unknown> => client.query('SET jit = off')

/** By which daemons and commands know each other's connections. */
export const applicationName = 'assistant-core'

async function rowsOn(
  connect: () => Promise<PoolClient>,
  on: (client: PoolClient) => Queryable,
  statement: Statement,
): Promise<readonly unknown[][]> {
  const client = await connect()
  try {
    const rows = await on(client).rows(statement)
    client.release(hasLearnedMuch(client))
    return rows
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** A connection as what statements are sent to. Who gets another session with each transaction cannot name statements. */
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

/** The hosts of one address, tried in turn until one takes writes. */
class Hosts {
  readonly #urls: readonly string[]
  readonly #mustWrite: boolean
  #at = 0

  constructor(urls: readonly string[], mustWrite: boolean) {
    this.#urls = urls
    this.#mustWrite = mustWrite
  }

  async reach<R>(open: (url: string) => Promise<R>): Promise<R> {
    for (let left = this.#urls.length; ; left--) {
      const at = this.#at
      try {
        return await open(this.#urls[at]!)
      } catch (error) {
        if (outage(error) === undefined) throw error
        // Somebody else may have gone on meanwhile.
        if (this.#at === at) this.#at = (at + 1) % this.#urls.length
        if (left === 1) throw error
      }
    }
  }

  /** Refuses a host that is read-only, as a standby is. */
  async verify(client: Client): Promise<void> {
    if (!this.#mustWrite) return
    try {
      const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
      if (rows[0]?.transaction_read_only === 'off') return
    } catch (error) {
      client.end(() => undefined)
      throw error
    }
    client.end(() => undefined)
    throw Object.assign(new Error('no host of the address takes writes'), { code: readOnly })
  }
}

/** The hosts of an address, each as an address with what we decide about it. Its text is never part of a message. */
function hostsOf(text: string): Hosts {
  const wrong = (what: string): AppError => new AppError('invalid', `store.url_file: ${what}`)
  const [, before = '', hosts = '', after = ''] =
    /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? []
  const urls = hosts.split(',').map((host) => before + host + after)
  if (!urls.every((url) => URL.canParse(url)))
    throw wrong('the file must hold one address such as postgresql://user:password@host/database')
  let wanted: string | null = null
  const checked = urls.map((one) => {
    const url = new URL(one)
    if (url.protocol !== 'postgresql:' && url.protocol !== 'postgres:')
      throw wrong('the address must begin with postgresql://')
    wanted = url.searchParams.get('target_session_attrs')
    url.searchParams.delete('target_session_attrs')
    const host = url.searchParams.get('host') ?? url.hostname
    if (!isLocal(host) && !url.searchParams.has('sslmode') && !url.searchParams.has('ssl'))
      url.searchParams.set('sslmode', 'verify-full')
    return url.href
  })
  if (wanted !== null && wanted !== 'read-write')
    throw wrong('target_session_attrs must be read-write: the service writes')
  return new Hosts(checked, checked.length > 1 || wanted !== null)
}

function isLocal(host: string): boolean {
  return (
    host === '' || host === 'localhost' || host === '[::1]' || host.startsWith('127.') || host.startsWith('/')
  )
}

/** The SQLSTATE of a host that takes no writes. */
const readOnly = '25006'

/** The SQLSTATE of a transaction that was ended because its daemon stood still. */
export const stoodStill = '25P03'

/** Whether doing all of it again may help: it was ended because of somebody else's work, and nothing of it was kept. */
export function isCollision(error: unknown): boolean {
  return ['40P01', '40001', stoodStill].includes(codeOf(error)) || isPlaceTaken(error)
}

/** Whether lines of the ledger were refused because others lie at their place. */
export function isPlaceTaken(error: unknown): boolean {
  return codeOf(error) === '23505' && (error as { constraint?: string }).constraint === 'ledger_place'
}

/** SQLSTATE that stand for an outage, and what each says in words without any secret. */
const outages: readonly (readonly [RegExp, string])[] = [
  [/^(28P01|28000)$/, 'the database refuses this user or password'],
  [/^3D000$/, 'there is no such database'],
  [/^53100$/, "the database's disk is full"],
  [/^53300$/, 'the database has no connection left'],
  [/^25006$/, 'the database is read-only'],
  [/^57P0[1235]$/, 'the database is starting or stopping'],
]

/** Why the database cannot be used, in words without any secret; undefined for every other error. */
export function outage(error: unknown): string | undefined {
  const code = codeOf(error)
  const known = outages.find(([codes]) => codes.test(code))?.[1]
  if (known !== undefined) return known
  if (/^(08|53|58)/.test(code)) return `the database reports ${code}`
  if (
    /^(E[A-Z]{3,}|[A-Z_]*CERT[A-Z_]*|ERR_(TLS|SSL)[A-Z_]*|[A-Z_]+_(SIGNATURE|VERIFY_[A-Z_]+))$/.test(code)
  ) {
    return `the database cannot be reached (${code})`
  }
  const message = error instanceof Error ? error.message : ''
  // What has a code is what the code says: a database that ends a wait for others answers very well.
  if (code !== '' || message === noConnectionFree) return undefined
  if (/SSL/.test(message)) return 'the database does not speak TLS as it should'
  if (/timeout/i.test(message)) return 'the database does not answer in time'
  const lost = /terminated|not queryable|connection|calling end on the pool/i.test(message)
  return lost ? 'the connection to the database was lost' : undefined
}

/** An error of the database as one of ours; what is nobody's doing stays as it is and is a bug. */
export function ourError(error: unknown): unknown {
  if (error instanceof AppError) return error
  const why = outage(error)
  if (why !== undefined)
    return new AppError('unavailable', `the state is not available: ${why}`, { cause: error })
  const code = codeOf(error)
  const waited = error instanceof Error && error.message === noConnectionFree
  if (waited || isCollision(error) || code === '55P03' || code === '57014') {
    const busy = 'the state is busy with the writes of others; try again'
    return new AppError('unavailable', busy, { cause: error })
  }
  if (code === '42501') {
    const may = "the state's database does not allow its user to do this; it must own the schema"
    return new AppError('unavailable', may, { cause: error })
  }
  return error
}

/** PostgreSQL's SQLSTATE or the system's code of an error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
