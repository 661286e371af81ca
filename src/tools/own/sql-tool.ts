/**
 * A tool that runs one statement of the site on a PostgreSQL source: in a read-only transaction, by the
 * extended protocol (so one statement), arguments bound, with the caller's identity in session settings
 * that row-level security can read (`current_setting('assistant.user')`).
 */
import { Client, type ClientConfig, DatabaseError, escapeIdentifier, Pool, type PoolClient } from 'pg'
import { AppError, messageOf } from '../../core/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { fitRows } from '../fit-rows.ts'
import type { Tool } from '../tool.ts'
import type { Source, SqlDefinition } from './own-schema.ts'
import { sqlNames } from './read-own-tools.ts'
import { secretFrom } from './templates.ts'

/** Opens connections to a source; the password is read when it is needed. */
export function openPool(source: Source, folder: string, onError: (error: Error) => void): Pool {
  const pool = new Pool({
    ...connectionOf(source, folder),
    max: source.max_connections ?? 4,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    allowExitOnIdle: true,
  })
  pool.on('error', onError)
  // A connection in use that breaks fails its statement; unheard, its error would end the daemon.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

function connectionOf(source: Source, folder: string): ClientConfig {
  const { host, port = 5432, database, user, password_file: file, ssl = false } = source
  return {
    host,
    port,
    database,
    user,
    ...(file !== undefined && { password: () => secretFrom(file, folder) }),
    ssl: ssl ? { rejectUnauthorized: true } : false,
    application_name: 'assistant-core',
  }
}

/**
 * Has a source prepare the statements of its tools, and run none: what is wrong with each, as `line 1, column 8: …`,
 * or nothing. Rejects where the source cannot be asked.
 */
export async function statementProblems(
  definitions: readonly SqlDefinition[],
  source: Source,
  folder: string,
): Promise<readonly (string | undefined)[]> {
  const client = new Client({
    ...connectionOf(source, folder),
    connectionTimeoutMillis: 2000,
    query_timeout: 5000,
    options: '-c default_transaction_read_only=on',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    if (source.role !== undefined) await client.query(`SET ROLE ${escapeIdentifier(source.role)}`)
    const problems: (string | undefined)[] = []
    for (const [index, { sql }] of definitions.entries()) {
      const head = `PREPARE tried_${index} AS ${opening}`
      // The extended protocol takes one statement: what follows a semicolon is refused and not run.
      const query = { text: `${head}${numbered(sql, sqlNames(sql))}${closing}`, queryMode: 'extended' }
      problems.push(
        await client.query(query).then(
          () => undefined,
          (error: unknown) => placed(error, sql, head.length),
        ),
      )
    }
    return problems
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The message of a database with the line and column in the statement. */
function placed(error: unknown, sql: string, before: number): string {
  // Class 42: syntax, and names that are not there. All else is no fault of the statement.
  if (!(error instanceof DatabaseError) || error.code?.startsWith('42') !== true) throw error
  if (error.position === undefined) return error.message
  const lines = sql.slice(0, Math.max(0, Number(error.position) - 1 - before)).split('\n')
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}: ${error.message}`
}

// Wrapped for the limit, and because only a query can stand in that place.
const opening = 'SELECT * FROM (\n'
const closing = '\n) AS result'

/**
 * A tool that answers the rows of its statement, at most `max_rows` of them. AppError `invalid` for a
 * value that the database refuses, `forbidden` where it denies access, `unavailable` for the rest; only
 * the first tells why.
 */
export function sqlTool(definition: SqlDefinition, source: Source, pool: Pool): Tool {
  const names = sqlNames(definition.sql)
  const maxRows = definition.max_rows ?? 1000
  const text = `${opening}${numbered(definition.sql, names)}${closing} LIMIT ${maxRows + 1}`
  return {
    name: definition.tool,
    title: definition.title ?? definition.tool,
    description: definition.description,
    category: definition.category ?? 'read_only',
    input: definition.input,
    openWorld: true,
    idempotent: true,
    ...(definition.timeout_seconds !== undefined && { timeout: definition.timeout_seconds * 1000 }),
    ...(definition.roles && { roles: definition.roles }),
    async run(given, { principal, signal, budget }) {
      const args = given as Readonly<Record<string, unknown>>
      const values = names.map((name) => args[name] ?? null)
      const rows = await inReadOnly(
        pool,
        source,
        principal,
        signal,
        (definition.timeout_seconds ?? 30) * 1000,
        async (client) => {
          const query = { text, values, queryMode: 'extended' }
          const result = await client.query<Record<string, unknown>>(query)
          return result.rows
        },
      )
      const shown = rows.slice(0, maxRows)
      const capped = rows.length > maxRows ? { capped: `only the first ${maxRows} rows` } : {}
      return {
        kind: 'rich',
        data: fitRows({ ...capped, data: shown }, 'data', { total: shown.length, offset: 0 }, budget),
        content: [],
      }
    },
  }
}

async function inReadOnly<R>(
  pool: Pool,
  source: Source,
  principal: Principal,
  signal: AbortSignal,
  milliseconds: number,
  work: (client: PoolClient) => Promise<R>,
): Promise<R> {
  const client = await connect(pool)
  if (signal.aborted) {
    // The caller left while it waited for the connection, and its signal does not come again.
    client.release()
    throw signal.reason as Error
  }
  // Ending the connection is the one way to stop a statement without a second one.
  const stop = () => client.release(new Error('the call has ended'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    await client.query('BEGIN TRANSACTION READ ONLY')
    await client.query({
      text: `SELECT set_config('statement_timeout', $1, true), set_config('assistant.user', $2, true),
        set_config('assistant.roles', $3, true), set_config('assistant.client', $4, true)`,
      values: [
        String(milliseconds),
        principal.user,
        [...principal.roles].sort().join(','),
        principal.client?.id ?? '',
      ],
    })
    if (source.role !== undefined) await client.query(`SET LOCAL ROLE ${escapeIdentifier(source.role)}`)
    return await work(client)
  } catch (error) {
    throw refusal(error)
  } finally {
    signal.removeEventListener('abort', stop)
    if (!signal.aborted) {
      // Read-only work leaves nothing: rolling back also takes the session settings away.
      const broken = await client.query('ROLLBACK').then(
        () => undefined,
        (error: Error) => error,
      )
      client.release(broken)
    }
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('unavailable', 'the database behind this tool cannot be reached', { cause })
  }
}

/** What a caller may hear of a database error: wrong values, never its inside. */
function refusal(error: unknown): AppError {
  if (error instanceof AppError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === '57014') return new AppError('unavailable', 'the statement took too long', { cause: error })
  // Class 22: data exceptions, such as a text where a number is wanted.
  if (code.startsWith('22'))
    return new AppError('invalid', `the database refused an argument: ${messageOf(error)}`, { cause: error })
  if (code === '42501') return new AppError('forbidden', 'the database does not allow this', { cause: error })
  return new AppError('unavailable', 'the database behind this tool failed', { cause: error })
}

/** `$name` as `$1`, `$2`, …, outside of texts and comments; what follows keeps its place. */
function numbered(sql: string, names: readonly string[]): string {
  return sql
    .replace(/;\s*$/, '')
    .replace(
      /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\$([A-Za-z_]\w*)/g,
      (all, name: string | undefined) =>
        name === undefined ? all : `$${names.indexOf(name) + 1}`.padEnd(all.length),
    )
}
