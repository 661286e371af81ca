/**
 * A tool that runs one statement of the site on a PostgreSQL source: in a read-only transaction, by the
 * extended protocol (so one statement), arguments bound, with the caller's identity in session settings
 * that row-level security can read (`current_setting('assistant.user')`).
 */
import { type Connection, DatabaseError, type Pool, type PoolClient } from 'pg'
import { AppError, messageOf } from '#leaf/errors.ts'
import { lookMilliseconds } from '#sources/sources.ts'
import { grace, inReadOnly, tellCaller, typesOf } from '#sources/asking.ts'
import type { Fault, SourceDocument } from '#site/site-files.ts'
import { placeAt } from '#leaf/places.ts'
import { SiteFault, statementFault } from '#site/checking.ts'
import { fitRows } from '../gate/fit-rows.ts'
import type { Tool } from '../tool.ts'
import type { Tell } from '#site/site.ts'
import type { EntryParts } from './entry-parts.ts'
import type { Source } from '#sources/source.ts'
import type { SqlDefinition } from './own-schema.ts'
import { pageArgument, sqlNames, statementParts } from './check-definitions.ts'
import { passedOver } from './row-security.ts'
import { pagedInput, pagedQuery, placeOfRows } from './sql-pages.ts'

interface SqlParts extends Tell {
  readonly source: Source
  /** The file that names the source. */
  readonly sourcesDocument: SourceDocument
  readonly pool: Pool
}

const withheld = 'its statement does not fit its database any more, which its operator has been told'

/** Makes a tool whose statement the source checks without running it. It is offered to nobody while the check fails. */
export function sqlParts(definition: SqlDefinition, document: SourceDocument, parts: SqlParts): EntryParts {
  const { sql, source: name } = definition
  const { source, sourcesDocument, pool } = parts
  const tool = sqlTool(definition, parts)
  let isWrong = false
  let remarks: readonly Fault[] = []
  const examine = async (client: PoolClient): Promise<string | undefined> => {
    try {
      requireColumns(
        await described(client, opening + numbered(sql, sqlNames(sql)) + closing),
        definition.cursor,
      )
    } catch (error) {
      return placed(error, sql)
    }
    const { ofLogin, ofStatement } = await passedOver(client)
    remarks = [
      ...(ofLogin ? [sourcesDocument.fault(['sources', name, 'user'], ofLogin)] : []),
      ...ofStatement.map((remark) => document.fault(['sql'], remark)),
    ]
    return await denied(client, sql)
  }
  return {
    tools: () => [isWrong ? { ...tool, withheld } : tool],
    attempt: async () => {
      const problem = await inReadOnly(pool, source, AbortSignal.timeout(lookMilliseconds), examine).catch(
        (cause: unknown) => {
          throw new AppError('unavailable', `could not be tried in ${name}`, { cause })
        },
      )
      isWrong = problem !== undefined
      if (isWrong) throw new SiteFault(statementFault(document, problem!))
    },
    remarks: () => remarks,
    place: (message) => document.fault(['sql'], message),
  }
}

/** Returns the denial of access to something in the statement: the database checks that when it plans, not when it parses. */
async function denied(client: PoolClient, sql: string): Promise<string | undefined> {
  const names = sqlNames(sql)
  const text = `EXPLAIN ${opening}${numbered(sql, names)}${closing}`
  // Other errors may come from the values, which are null here.
  return await client
    .query(
      text,
      names.map(() => null),
    )
    .then(
      () => undefined,
      (error: unknown) =>
        // An error raised by a function of the site's own depends on the caller.
        error instanceof DatabaseError && error.code === '42501' && error.routine === 'aclcheck_error'
          ? error.message
          : undefined,
    )
}

interface Column {
  readonly name: string
  readonly dataTypeID: number
}

/** Describes the columns of a statement without running it; the extended protocol takes one statement. */
function described(client: PoolClient, text: string): Promise<readonly Column[]> {
  return new Promise((resolve, reject) => {
    let columns: readonly Column[] = []
    client.query({
      submit: (connection: Connection): void => {
        connection.parse({ name: '', text, types: [] }, true)
        connection.describe({ type: 'S', name: '' }, true)
        connection.sync()
      },
      handleParseComplete: () => undefined,
      handleRowDescription: ({ fields }: { readonly fields: readonly Column[] }) => void (columns = fields),
      handleError: reject,
      handleReadyForQuery: () => resolve(columns),
    })
  })
}

/** Checks the columns: of two with one name, one would be lost in a row object. Those of a cursor must be there. */
function requireColumns(columns: readonly Column[], wanted: readonly string[] = []): void {
  const names = columns.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined)
    throw new AppError('invalid', `two columns are called "${twice}": name one of them with AS`)
  const missing = wanted.find((name) => !names.includes(name))
  if (missing !== undefined)
    throw new AppError('invalid', `there is no column "${missing}", which cursor names`)
}

/** Adds the line and column in the statement to a database's message. */
function placed(error: unknown, sql: string): string {
  if (error instanceof AppError) return error.message
  // Class 42: syntax, unknown names; 0A: not allowed in a query. Every other error is no fault of the statement.
  if (!(error instanceof DatabaseError) || !/^(42|0A)/.test(error.code ?? '')) throw error
  if (error.position === undefined) return error.message
  return `${placeAt(sql, Number(error.position) - 1 - opening.length)}: ${error.message}`
}

// Wrapped for the limit, and because only a query can stand there.
const opening = 'SELECT * FROM (\n'
const closing = '\n) AS result'

/**
 * Makes a tool that returns the rows of its statement, at most `max_rows` of them. AppError `invalid` for a
 * value that the database refuses, `forbidden` where it denies access, `unavailable` for the rest; only
 * the first tells why.
 */
function sqlTool(definition: SqlDefinition, { source, pool, doubted }: SqlParts): Tool {
  const names = sqlNames(definition.sql)
  const maxRows = definition.max_rows ?? 1000
  const whole = opening + numbered(definition.sql, names) + closing
  return {
    name: definition.tool,
    title: definition.title ?? definition.tool,
    description: definition.description,
    category: definition.category ?? 'read_only',
    input: pagedInput(definition),
    openWorld: true,
    idempotent: true,
    ...(definition.timeout_seconds !== undefined && { timeout: definition.timeout_seconds * 1000 }),
    ...(definition.roles && { roles: definition.roles }),
    async run(given, { principal, signal, budget }) {
      const args = given as Readonly<Record<string, unknown>>
      const values = names.map((name) => args[name] ?? null)
      const milliseconds = (definition.timeout_seconds ?? 30) * 1000
      const { rows, types } = await inReadOnly(pool, source, signal, async (client) => {
        await tellCaller(client, principal, milliseconds)
        const query = {
          ...pagedQuery(definition, { text: whole, values, most: maxRows }, args),
          queryMode: 'extended',
          query_timeout: milliseconds + grace,
        }
        const { rows, fields } = await client.query<Record<string, unknown>>(query)
        requireColumns(fields)
        return { rows, types: await typesOf(client, fields) }
      }).catch((error: unknown) => {
        const refused = refusal(error)
        if (refused.code === 'unavailable' && !signal.aborted) doubted()
        throw refused
      })
      const shown = rows.slice(0, maxRows)
      const more = rows.length > maxRows
      const told = {
        ...(more && pageArgument(definition) === undefined && { capped: `only the first ${maxRows} rows` }),
        ...(Object.keys(types).length > 0 && { types }),
      }
      return {
        kind: 'rich',
        data: fitRows({ ...told, data: shown }, 'data', placeOfRows(definition, shown, more, args), budget),
        content: [],
      }
    },
  }
}

/** Words a database error for the caller: wrong values, never the database's inside. */
function refusal(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (!(error instanceof DatabaseError))
    return new AppError('unavailable', 'the database behind this tool cannot be reached', { cause: error })
  const { code = '' } = error
  if (code === '57014') return new AppError('unavailable', 'the statement took too long', { cause: error })
  // Class 22: data exceptions, such as a text where a number is wanted.
  if (code.startsWith('22'))
    return new AppError('invalid', `the database refused an argument: ${messageOf(error)}`, { cause: error })
  if (code === '42501') return new AppError('forbidden', 'the database does not allow this', { cause: error })
  if (code.startsWith('42')) return new AppError('unavailable', withheld, { cause: error })
  return new AppError('unavailable', 'the database behind this tool failed', { cause: error })
}

/** Replaces `$name` with `$1`, `$2`, …, outside of texts and comments; columns of the text after it stay the same. */
function numbered(sql: string, names: readonly string[]): string {
  return sql
    .replace(/;\s*$/, '')
    .replace(statementParts, (all, _tag, name: string | undefined) =>
      name === undefined ? all : `$${names.indexOf(name) + 1}`.padEnd(all.length),
    )
}
