/** Words the fault of a statement so that its author can repair it: the place, and the names that exist. */
import { jsonOr } from '#leaf/as-json.ts'
import { placeAt } from '#leaf/places.ts'
import { didYouMean, listed } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import { namedIn, type PermittedTable, sqlName } from '../tables.ts'

interface EngineError {
  readonly exception_type?: string
  readonly exception_message?: string
  readonly error_subtype?: string
  /** The byte offset in the statement. */
  readonly position?: string
  readonly type?: string
  readonly name?: string
  readonly candidates?: string
}

/** Makes the error for the author of the statement. */
export function sqlError(text: string, sql: string, tables: readonly PermittedTable[]): AppError {
  const fault = read(text)
  const where = placeOf(sql, fault.position)
  // The lines after the first one name candidates, of functions very many.
  const lines = (fault.exception_message ?? text).split('\n').map((line) => line.trim())
  const said = lines.filter(Boolean).slice(0, 6).join(' ')
  const message = `${where}${messageOf(fault, said, sql, tables)}`
  if (ranOutOfMemory(text))
    return new AppError(
      'invalid',
      'the statement needs more memory than SQL may use; narrow it with WHERE or aggregate',
    )
  return new AppError('invalid', message)
}

/** True if the engine reports that memory is short. */
export function ranOutOfMemory(text: string): boolean {
  return /out of memory/i.test(read(text).exception_type ?? text)
}

/** Returns the permitted table whose rows the statement needs and that are not loaded yet. */
export function missingTable(text: string, tables: readonly PermittedTable[]): PermittedTable | undefined {
  const name = /rows are not loaded: (.*)$/s.exec(read(text).exception_message ?? '')?.[1]
  return tables.find((table) => table.name === name)
}

function read(text: string): EngineError {
  const start = text.indexOf('{"')
  return start === -1 ? {} : (jsonOr(text.slice(start), {}) as EngineError)
}

function messageOf(fault: EngineError, said: string, sql: string, tables: readonly PermittedTable[]): string {
  if (fault.exception_type === 'Permission' || fault.exception_type === 'Invalid Configuration')
    return 'statements cannot reach files, the network, extensions or settings'
  if (fault.error_subtype === 'MISSING_ENTRY' && fault.type === 'Table') {
    const names = tables.map((table) => sqlName(table.name))
    return `there is no table ${JSON.stringify(fault.name ?? '')} that you may read${didYouMean(fault.name ?? '', names)}; tables: ${list(names)}`
  }
  const isNamed = namedIn(sql)
  const used = tables.filter((table) => isNamed(table.name))
  if (fault.error_subtype === 'COLUMN_NOT_FOUND') return noColumn(fault.name ?? '', used)
  const [, alias, column] = /^Values list "(.+)" does not have a column named "(.+)"/.exec(said) ?? []
  if (column !== undefined) {
    const named = used.filter((table) => isCalled(table, alias!.toLowerCase(), sql))
    return named.length > 0
      ? noColumn(`${alias}.${column}`, named)
      : `${alias} has no column "${column}", only those that it selects`
  }
  if (fault.error_subtype === 'SYNTAX_ERROR') {
    const names = tables.map((table) => sqlName(table.name))
    return `${said}; a statement is DuckDB SQL, such as SELECT count(*) FROM ${names[0] ?? 'range(3)'}; tables: ${list(names)}`
  }
  if (/^Can only (delete|update|insert)/.test(said))
    return 'only SELECT statements are allowed; update_document and bulk_update change documents'
  return decapitalized(said)
}

function noColumn(name: string, tables: readonly PermittedTable[]): string {
  const columns = tables.flatMap((table) => table.columns.map((column) => column.name))
  const known = tables.map(
    (table) => `${sqlName(table.name)}(${list(table.columns.map((column) => column.name))})`,
  )
  const isText = /[^\w.]/.test(name) ? `; a text is written '${name}'` : ''
  return `there is no column ${JSON.stringify(name)}${isText || didYouMean(name.split('.').at(-1)!, columns)}${known.length > 0 ? `; columns: ${known.join(', ')}` : ''}`
}

/** True when a statement calls a table by this name. */
function isCalled({ name }: PermittedTable, alias: string, sql: string): boolean {
  const called = sqlName(name)
  const renamed = new RegExp(`\\b${called}"?\\s+(?:as\\s+)?"?(\\w+)`, 'gi')
  return alias === called || [...sql.matchAll(renamed)].some(([, other]) => other!.toLowerCase() === alias)
}

function list(names: readonly string[]): string {
  return listed(names, 100) || 'none'
}

/** Returns `line 2, column 7: ` for a byte offset into the statement. */
function placeOf(sql: string, position: string | undefined): string {
  if (position === undefined || !/^\d+$/.test(position)) return ''
  const before = Buffer.from(sql).subarray(0, Number(position)).toString('utf8')
  return `${placeAt(before, before.length)}: `
}

function decapitalized(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text
}
