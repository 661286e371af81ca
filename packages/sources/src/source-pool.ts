/** Connections to a database of others. */
import { type ClientConfig, DatabaseError, escapeIdentifier, escapeLiteral, Pool, type PoolClient } from 'pg'
import type { Caller } from './door.ts'
import type { Source } from './source.ts'
import { type inWriting, writingLimits } from './in-writing.ts'
import { callerOf, grace, lookMilliseconds, patienceOf, type SecretOf } from './source-limits.ts'
import { exactTypes } from './sql-values.ts'

/** Opens a pool of connections to a source; the password is read when it is needed. */
export function openPool(source: Source, secretOf: SecretOf, onError: (error: Error) => void): Pool {
  const pool = new Pool({
    ...connectionOf(source, secretOf),
    max: source.max_connections ?? 4,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  })
  pool.on('error', onError)
  // A connection in use that breaks fails its statement; without a listener, its error would end the daemon.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

function connectionOf(source: Source, secretOf: SecretOf): ClientConfig {
  const { host, port = 5432, database, user, password_file: file, ssl = false } = source
  return {
    host,
    port,
    database,
    user,
    ...(file !== undefined && { password: () => secretOf(file) }),
    ssl: ssl ? { rejectUnauthorized: true } : false,
    application_name: 'assistant-core',
    // A commit, too, has an end: who waits for a network that has gone would wait for ever.
    query_timeout: Math.max(patienceOf(source), lookMilliseconds) + grace,
    types: exactTypes,
  }
}

/**
 * Runs work in a transaction that writes nothing, as the role that the source names. Settings hold in it alone: behind a
 * pooler, other programs get the same session after it.
 */
export async function inReadOnly<R>(
  pool: Pool,
  source: Source,
  signal: AbortSignal,
  work: (client: PoolClient) => Promise<R>,
): Promise<R> {
  const all = async (client: PoolClient): Promise<R> => {
    await client.query(beginning(source, readOnly).join('; '))
    return await work(client)
  }
  // Read-only work leaves nothing to commit: rolling back also resets the session settings.
  return await untilEnded(pool, signal, all, undo)
}

/** Undoes a transaction; a connection that does not answer even that is of no use to the next. */
export function undo(client: PoolClient): Promise<unknown> {
  const text = { text: 'ROLLBACK', query_timeout: grace }
  return client.query(text)
}

/** Parameters of the session, by their names. */
type Settings = Readonly<Record<string, string | number>>

/** Runs work on a connection, which is ended when the signal fires; else nobody waits for its `end`. */
export async function untilEnded<R>(
  pool: Pool,
  signal: AbortSignal | undefined,
  work: (client: PoolClient) => Promise<R>,
  end: (client: PoolClient) => Promise<unknown>,
): Promise<R> {
  const client = await pool.connect()
  if (signal?.aborted) {
    // The caller left while it waited for the connection, and its signal does not fire again.
    client.release()
    throw signal.reason as Error
  }
  // Ending the connection is the one way to stop a statement without a second one.
  const stop = () => client.release(new Error('the call has ended'))
  signal?.addEventListener('abort', stop, { once: true })
  try {
    return await work(client)
  } finally {
    signal?.removeEventListener('abort', stop)
    if (!signal?.aborted)
      void end(client).then(
        () => client.release(),
        (error: Error) => client.release(error),
      )
  }
}

export const readOnly = 'BEGIN TRANSACTION READ ONLY'

/** Returns the statements that begin a transaction as the role that the source names. */
export function beginning(source: Source, how: string, settings: Settings = {}): readonly string[] {
  const role = source.role === undefined ? [] : [`SET LOCAL ROLE ${escapeIdentifier(source.role)}`]
  return [how, ...role, ...settingsSql(settings)]
}

/** Returns the statements that set parameters until the transaction ends. */
export function settingsSql(settings: Settings): readonly string[] {
  return Object.entries(settings).map(([name, value]) => {
    const parts = name.split('.').map(escapeIdentifier).join('.')
    return `SET LOCAL ${parts} = ${typeof value === 'string' ? escapeLiteral(value) : value}`
  })
}

/** Returns a connection as one that writes, as the role that the source names. */
export function writingConnection(client: PoolClient, source: Source): Parameters<typeof inWriting>[0] {
  // What is checked at the end of a transaction is checked with the statement, while its words can be told.
  const how = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET CONSTRAINTS ALL IMMEDIATE'
  const { lock, idle } = writingLimits
  const limits = { lock_timeout: lock, idle_in_transaction_session_timeout: idle }
  const settings = { ...limits, jit: 'off', extra_float_digits: 1 }
  return {
    // One message, as each takes its way.
    begin: () => client.query(beginning(source, how, settings).join('; ')),
    end: (how) => (how === 'COMMIT' ? client.query(how) : undo(client)),
    saysUndone: (error) => error instanceof DatabaseError && !/^(?:57P|08)/.test(error.code ?? ''),
    release: (error) => client.release(error),
  }
}

/** Returns the settings that tell the caller to row-level security, and the output formats, which are the same in every session. */
export function toldSettings(principal: Caller | undefined): Settings {
  const [user, roles, client] = callerOf(principal)
  const formats = { DateStyle: 'ISO', IntervalStyle: 'iso_8601' }
  return { 'assistant.user': user, 'assistant.roles': roles, 'assistant.client': client, ...formats }
}

/** Sets what the database is told, and how long a statement may take, in a transaction that has begun. */
export async function tellCaller(
  client: PoolClient,
  principal: Caller | undefined,
  milliseconds: number,
): Promise<void> {
  const settings = { statement_timeout: milliseconds, ...toldSettings(principal) }
  await client.query(settingsSql(settings).join('; '))
}
