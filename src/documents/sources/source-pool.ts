/** Connections to a database of others. */
import { type ClientConfig, DatabaseError, escapeIdentifier, Pool, type PoolClient } from 'pg'
import type { Principal } from '../../core/principal.ts'
import type { Source } from '../../site/sources.ts'
import { UnknownThere } from '../writing/refused-there.ts'
import { callerOf, type SecretOf } from './source-limits.ts'
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
  settings: Readonly<Record<string, string | number>> = {},
): Promise<R> {
  const client = await pool.connect()
  if (signal.aborted) {
    // The caller left while it waited for the connection, and its signal does not fire again.
    client.release()
    throw signal.reason as Error
  }
  // Ending the connection is the one way to stop a statement without a second one.
  const stop = () => client.release(new Error('the call has ended'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    await begin(client, source, 'BEGIN TRANSACTION READ ONLY', settings)
    return await work(client)
  } finally {
    signal.removeEventListener('abort', stop)
    // Read-only work leaves nothing to commit: rolling back also resets the session settings. Nobody waits for it.
    if (!signal.aborted)
      void client.query('ROLLBACK').then(
        () => client.release(),
        (error: Error) => client.release(error),
      )
  }
}

async function begin(
  client: PoolClient,
  source: Source,
  how: string,
  settings: Readonly<Record<string, string | number>>,
): Promise<void> {
  // One message, as each takes its way.
  const role = source.role === undefined ? [] : [`SET LOCAL ROLE ${escapeIdentifier(source.role)}`]
  const more = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = ${value}`)
  await client.query([how, ...role, ...more].join('; '))
}

/** Milliseconds that rows are waited for which somebody else holds, and that our own state may hold them up. */
const limits = { lock_timeout: 5000, idle_in_transaction_session_timeout: 60_000 }

/**
 * Runs work in a transaction that writes, as the role that the source names, and commits it or, with `dry`, rolls it back;
 * `last` comes before the commit. Throws UnknownThere where nobody knows whether it was committed.
 */
export async function inWriting<R>(
  pool: Pool,
  source: Source,
  signal: AbortSignal,
  { dry, last }: { readonly dry: boolean; readonly last: () => Promise<void> },
  work: (client: PoolClient) => Promise<R>,
): Promise<R> {
  const client = await pool.connect()
  let end = (error?: Error): void => {
    end = () => undefined
    client.release(error)
  }
  const stop = (): void => end(new Error('the call has ended'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    // What is checked at the end of a transaction is checked with the statement, while its words can be told.
    const how = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET CONSTRAINTS ALL IMMEDIATE'
    await begin(client, source, how, { ...limits, jit: 'off', extra_float_digits: 1 })
    const value = await work(client)
    if (!dry) await last()
    signal.throwIfAborted()
    signal.removeEventListener('abort', stop)
    await (dry ? client.query('ROLLBACK') : committed(client))
    end()
    return value
  } catch (error) {
    if (error instanceof UnknownThere || signal.aborted) end(error as Error)
    else await client.query('ROLLBACK').then(() => end(), end)
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function committed(client: PoolClient): Promise<void> {
  await client.query('COMMIT').catch((error: unknown) => {
    const isTold = error instanceof DatabaseError && !/^(?:57P|08)/.test(error.code ?? '')
    throw isTold ? error : new UnknownThere('the connection broke at the commit', { cause: error })
  })
}

/** Sets the caller for row-level security, and the output formats, which are the same in every session. */
export async function tellCaller(
  client: PoolClient,
  principal: Pick<Principal, 'user' | 'roles' | 'client'> | undefined,
  milliseconds: number,
): Promise<void> {
  await client.query({
    text: `SELECT set_config('statement_timeout', $1, true), set_config('assistant.user', $2, true),
      set_config('assistant.roles', $3, true), set_config('assistant.client', $4, true),
      set_config('DateStyle', 'ISO', true), set_config('IntervalStyle', 'iso_8601', true)`,
    values: [String(milliseconds), ...callerOf(principal)],
  })
}
