// @ts-check
/**
 * The process that runs SQL: an in-memory DuckDB without files, network, extensions or settings,
 * holding the permitted rows of one principal. Plain JavaScript, because it starts without the
 * TypeScript loader.
 */
import process from 'node:process'
import { DuckDBInstance, StatementType } from '@duckdb/node-api'
import { DaemonChannel, distinct, maxLine } from '../isolation/frames.mjs'
import { askedOfEngine, notShown, quoted } from './asked-of-engine.mjs'
import { appendValue, plain, sqlType } from './sql-values.mjs'

/** @typedef {import('./sql-values.mjs').Column} Column */
/** @typedef {import('@duckdb/node-api').DuckDBConnection} Connection */

const [memoryLimit = '256MB', threads = '2'] = process.argv.slice(2)
/** The bytes of rows in one message, and the most bytes of one row. */
const partBytes = 65_536
const maxRow = maxLine - 100
/** The beginning of the error for a table that is not loaded. */
const notLoaded = 'rows are not loaded: '
const channel = new DaemonChannel()
const connection = await open()
/** @type {Map<string, { columns: Column[], appender: import('@duckdb/node-api').DuckDBAppender }>} */
const loading = new Map()
channel.say({ ready: true })
for await (const message of channel.heard()) {
  try {
    for (const said of [await handle(message)].flat()) channel.say(said)
  } catch (error) {
    channel.say({ failed: error instanceof Error ? error.message : String(error) })
  }
}
process.exit(0)

/** Opens the database and disables everything except computing; the last statement makes that final. */
async function open() {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: memoryLimit,
    threads,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_unsigned_extensions: 'false',
  })
  const connection = await instance.connect()
  for (const statement of [
    // With the default, the working directory's .tmp would stay an allowed directory.
    `SET temp_directory=''`,
    `SET max_temp_directory_size='0KiB'`,
    `SET allowed_directories=[]`,
    // Settings that would reveal paths of the machine.
    `SET secret_directory=''`,
    `SET home_directory=''`,
    `SET errors_as_json=true`,
    `SET TimeZone='UTC'`,
    `SET enable_external_access=false`,
    `SET disabled_filesystems='LocalFileSystem'`,
    `SET lock_configuration=true`,
  ])
    await connection.run(statement).catch((error) => {
      // Time zones come with an extension that not every build has; timestamps here have none.
      if (!statement.includes('TimeZone')) throw error
    })
  return connection
}

/** @param {any} message */
async function handle(message) {
  switch (message.op) {
    case 'catalogue':
      for (const table of message.tables) await outline(table)
      if (message.user !== undefined) await nameUser(message.user)
      return { ok: true }
    case 'outline':
      await outline(message.table)
      return { ok: true }
    case 'create':
      await create(message.table)
      return { ok: true }
    case 'rows':
      append(message.name, message.rows)
      return { ok: true }
    case 'filled': {
      loading.get(message.name)?.appender.closeSync()
      loading.delete(message.name)
      return { ok: true }
    }
    case 'query':
      return await query(message)
    default:
      return { failed: 'unknown message' }
  }
}

/** @typedef {{ name: string, alias: string, columns: Column[] }} Table */

/** Removes the rows of a table. @param {string} name */
async function clear(name) {
  await connection.run(`DROP TABLE IF EXISTS ${quoted(name)}`).catch(() => {})
  await connection.run(`DROP VIEW IF EXISTS ${quoted(name)}`).catch(() => {})
}

/**
 * Makes a table with known columns and without rows: a statement that reads a row of it, under
 * any name, fails with a text that asks for it.
 * @param {Table} table
 */
async function outline({ name, alias, columns }) {
  await clear(name)
  const rowsWanted = `error('${notLoaded}${name.replaceAll("'", "''")}')`
  const values = columns.map(
    (column) => `CAST(${rowsWanted} AS ${sqlType(column)}) AS ${quoted(column.name)}`,
  )
  await connection.run(
    `CREATE VIEW ${quoted(name)} AS SELECT ${values.join(', ')} FROM range(1) WHERE CAST(${rowsWanted} AS BOOLEAN)`,
  )
  if (alias !== name.toLowerCase())
    await connection.run(`CREATE VIEW IF NOT EXISTS ${quoted(alias)} AS FROM ${quoted(name)}`)
}

/** Makes current_user and its other names the asking user; the engine's own user is nobody. @param {string} user */
async function nameUser(user) {
  const text = `'${user.replaceAll("'", "''")}'`
  for (const name of ['current_user', 'session_user', 'user'])
    await connection.run(`CREATE OR REPLACE MACRO ${quoted(name)}() AS ${text}`)
}

/** @param {Table} table */
async function create({ name, columns }) {
  await clear(name)
  const definitions = columns.map((column) => `${quoted(column.name)} ${sqlType(column)}`)
  await connection.run(`CREATE TABLE ${quoted(name)} (${definitions.join(', ')})`)
  loading.set(name, { columns, appender: await connection.createAppender(name) })
}

/** @param {string} name @param {unknown[][]} rows */
function append(name, rows) {
  const table = loading.get(name)
  if (!table) throw new Error('no such table is being loaded')
  const { appender, columns } = table
  for (const row of rows) {
    columns.forEach((column, index) => appendValue(appender, column, row[index]))
    appender.endRow()
  }
}

/**
 * Runs one SELECT. Its type is read from the parsed statement, never from its text, and it runs in a
 * read-only transaction besides.
 * @param {{ sql: string, parameters: unknown[] | Record<string, unknown>, maxRows: number, maxBytes: number, timeout: number }} request
 */
async function query({ sql, parameters, maxRows, maxBytes, timeout }) {
  let late = false
  const timer = setTimeout(() => {
    late = true
    connection.interrupt()
  }, timeout)
  await connection.run('BEGIN TRANSACTION READ ONLY')
  /** @type {import('@duckdb/node-api').DuckDBPreparedStatement | undefined} */
  let statement
  try {
    const statements = await connection.extractStatements(sql)
    if (statements.count !== 1) return { refused: notOne(sql, statements.count) }
    const asked = await askedOfEngine(connection, sql)
    if (asked && asked !== notShown) return { refused: asked }
    statement = await statements.prepare(0)
    if (statement.statementType !== StatementType.SELECT)
      return {
        refused: `only SELECT statements are allowed, not ${StatementType[statement.statementType] ?? 'this one'}; update_document and bulk_update change documents`,
      }
    if (asked) return { refused: asked }
    const wrong = bind(statement, parameters)
    if (wrong) return { refused: wrong }
    const reader = await statement.streamAndReadUntil(maxRows + 1)
    const names = distinct(
      reader.deduplicatedColumnNames().map((name) => (name === '__proto__' ? '_proto' : name)),
    )
    const columns = names.map((name, index) => ({ name, type: String(reader.columnType(index)) }))
    const available = reader.getRows()
    const rows = available.slice(0, maxRows).map((values) => values.map((value) => plain(value, 0)))
    const { parts, count, tooLarge } = inParts(rows, maxBytes)
    if (tooLarge > 0)
      return {
        refused: `row ${count + 1} has ${tooLarge} bytes, more than the ${maxRow} that a row may have; select fewer columns, or a part of the text`,
      }
    const more = count < available.length || !reader.done
    return [{ columns, parts: parts.length, more }, ...parts]
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    if (said === 'Error in native callback') return { refused: notOne(sql, 0) }
    return late ? { late: true } : { error: said }
  } finally {
    clearTimeout(timer)
    // Without this, the intermediate results of a failed statement stay allocated.
    statement?.destroySync()
    await connection.run('ROLLBACK').catch(() => {})
  }
}

/** @param {string} sql @param {number} count */
function notOne(sql, count) {
  if (count === 0) return 'there is no statement, only a comment or nothing; write one such as SELECT 1'
  if (/\bPIVOT\b/i.test(sql))
    return "PIVOT has to name its values, or it is two statements: PIVOT orders ON status IN ('Draft', 'Paid') USING sum(total)"
  return `one statement at a time, not ${count}; join SELECTs with UNION ALL, or call once for each`
}

/** @param {import('@duckdb/node-api').DuckDBPreparedStatement} statement @param {unknown[] | Record<string, unknown>} parameters */
function bind(statement, parameters) {
  const given = new Map(
    Array.isArray(parameters)
      ? parameters.map((value, index) => [String(index + 1), value])
      : Object.entries(parameters),
  )
  const wanted = Array.from({ length: statement.parameterCount }, (_, index) =>
    statement.parameterName(index + 1),
  )
  const missing = wanted.filter((name) => !given.has(name))
  const extra = [...given.keys()].filter((name) => !wanted.includes(name))
  const named = wanted.map((name) => `$${name}`).join(', ') || 'none'
  if (missing.length > 0)
    return `no value is given for the parameter ${missing.map((name) => `$${name}`).join(', ')}; the statement has ${named}: parameters takes a list for ?, or an object such as {"name": "value"} for $name`
  if (extra.length > 0)
    return `the statement has no parameter ${extra.map((name) => `$${name}`).join(', ')}; it has ${named}`
  wanted.forEach((name, index) => {
    const value = given.get(name)
    if (value === null) statement.bindNull(index + 1)
    else if (typeof value === 'boolean') statement.bindBoolean(index + 1, value)
    else if (typeof value === 'number' && Number.isSafeInteger(value))
      statement.bindBigInt(index + 1, BigInt(value))
    else if (typeof value === 'number') statement.bindDouble(index + 1, value)
    else statement.bindVarchar(index + 1, typeof value === 'string' ? value : JSON.stringify(value))
  })
  return undefined
}

/**
 * Splits rows into messages that parse quickly, up to so many bytes.
 * @param {unknown[][]} rows @param {number} maxBytes
 */
function inParts(rows, maxBytes) {
  /** @type {{ rows: unknown[][] }[]} */
  const parts = []
  let [count, bytes, room] = [0, 0, 0]
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row))
    if (size > maxRow) return { parts, count, tooLarge: size }
    bytes += size
    if (bytes > maxBytes) break
    if (size > room) {
      parts.push({ rows: [] })
      room = partBytes
    }
    parts.at(-1)?.rows.push(row)
    room -= size
    count++
  }
  return { parts, count, tooLarge: 0 }
}
