/** What went wrong in a statement, in words that let its author repair it: where, and what there is instead. */
import { didYouMean } from '../../core/names.ts'
import { AppError } from '../../core/errors.ts'
import { type PermittedTable, sqlName } from '../permitted.ts'

interface EngineError {
  readonly exception_type?: string
  readonly exception_message?: string
  readonly error_subtype?: string
  /** Byte offset. */
  readonly position?: string
  readonly type?: string
  readonly name?: string
  readonly candidates?: string
}

/** The error for the author of the statement. */
export function sqlError(text: string, sql: string, tables: readonly PermittedTable[]): AppError {
  const fault = read(text)
  const where = placeOf(sql, fault.position)
  const said = (fault.exception_message ?? text).split('\n')[0]!.trim()
  const message = `${where}${messageOf(fault, said, sql, tables)}`
  if (ranOutOfMemory(text))
    return new AppError(
      'invalid',
      'the statement needs more memory than SQL may use; narrow it with WHERE or aggregate',
    )
  return new AppError('invalid', message)
}

/** Whether the engine says that memory is short. */
export function ranOutOfMemory(text: string): boolean {
  return /out of memory/i.test(read(text).exception_type ?? text)
}

/** The permitted table whose rows the statement wanted, and that are not there yet. */
export function missingTable(text: string, tables: readonly PermittedTable[]): PermittedTable | undefined {
  const name = /rows are not loaded: (.*)$/s.exec(read(text).exception_message ?? '')?.[1]
  return tables.find((table) => table.name === name)
}

function read(text: string): EngineError {
  const start = text.indexOf('{"')
  try {
    return start === -1 ? {} : (JSON.parse(text.slice(start)) as EngineError)
  } catch {
    return {}
  }
}

function messageOf(fault: EngineError, said: string, sql: string, tables: readonly PermittedTable[]): string {
  if (fault.exception_type === 'Permission' || fault.exception_type === 'Invalid Configuration')
    return 'statements cannot reach files, the network, extensions or settings'
  if (fault.error_subtype === 'MISSING_ENTRY' && fault.type === 'Table') {
    const names = tables.map((table) => sqlName(table.name))
    return `there is no table ${JSON.stringify(fault.name ?? '')} that you may read${didYouMean(fault.name ?? '', names)}; tables: ${list(names)}`
  }
  if (fault.error_subtype === 'COLUMN_NOT_FOUND') {
    const used = tables.filter(
      (table) => sql.toLowerCase().includes(sqlName(table.name)) || sql.includes(table.name),
    )
    const columns = used.flatMap((table) => table.columns.map((column) => column.name))
    const known = used.map(
      (table) => `${sqlName(table.name)}(${list(table.columns.map((column) => column.name))})`,
    )
    return `there is no column ${JSON.stringify(fault.name ?? '')}${didYouMean(fault.name ?? '', columns)}${known.length > 0 ? `; columns: ${known.join(', ')}` : ''}`
  }
  return decapitalized(said)
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.slice(0, 100).join(', ')
}

/** `line 2, column 7: ` for a byte offset into the statement. */
function placeOf(sql: string, position: string | undefined): string {
  if (position === undefined || !/^\d+$/.test(position)) return ''
  const before = Buffer.from(sql).subarray(0, Number(position)).toString('utf8')
  const line = before.split('\n').length
  const column = before.length - before.lastIndexOf('\n')
  return `line ${line}, column ${column}: `
}

function decapitalized(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text
}
