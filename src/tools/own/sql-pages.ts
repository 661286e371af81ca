/** The paging of a SQL tool: by offset, or by a cursor of column values behind the last row. */
import { jsonOr } from '#leaf/as-json.ts'
import { escapeIdentifier } from 'pg'
import { AppError } from '#leaf/errors.ts'
import { offset as offsetArgument } from '../gate/arguments.ts'
import type { Part } from '../gate/fit-rows.ts'
import type { SqlDefinition } from './own-schema.ts'
import { pageArgument } from './check-definitions.ts'

type Args = Readonly<Record<string, unknown>>
type Row = Readonly<Record<string, unknown>>

/** Adds the paging argument to the tool's input. */
export function pagedInput(definition: SqlDefinition): SqlDefinition['input'] {
  const name = pageArgument(definition)
  if (name === undefined) return definition.input
  const cursor = { type: 'string', maxLength: 8000, description: 'next_cursor of the page before.' }
  const given = definition.input['properties'] as object | undefined
  const properties = { ...given, [name]: name === 'cursor' ? cursor : offsetArgument }
  return { ...definition.input, properties }
}

/** Makes the statement for one page: one row more than the page has, to see whether there are others. */
export function pagedQuery(
  { page, cursor }: SqlDefinition,
  {
    text,
    values,
    most,
  }: { readonly text: string; readonly values: readonly unknown[]; readonly most: number },
  args: Args,
): { readonly text: string; readonly values: unknown[] } {
  const limit = `LIMIT ${most + 1}`
  const next = values.length + 1
  if (page !== undefined)
    return { text: `${text} ${limit} OFFSET $${next}`, values: [...values, args['offset'] ?? 0] }
  if (!cursor) return { text: `${text} ${limit}`, values: [...values] }
  const columns = cursor.map((name) => escapeIdentifier(name)).join(', ')
  const order = `ORDER BY ${columns} ${limit}`
  const { cursor: given } = args
  if (typeof given !== 'string') return { text: `${text} ${order}`, values: [...values] }
  const after = columnsOf(given, cursor.length)
  const places = after.map((_, index) => `$${next + index}`).join(', ')
  return { text: `${text} WHERE (${columns}) > (${places}) ${order}`, values: [...values, ...after] }
}

/** Returns the position of the rows, and the cursor behind them. */
export function placeOfRows(
  { page, cursor }: SqlDefinition,
  rows: readonly Row[],
  more: boolean,
  args: Args,
): Part & { readonly cursorAfter?: (count: number) => string } {
  if (page !== undefined) return { offset: Number(args['offset'] ?? 0), more }
  if (!cursor) return { more }
  return { more, cursorAfter: (count) => textOf(rows[count - 1]!, cursor) }
}

function textOf(row: Row, columns: readonly string[]): string {
  const values = columns.map((name) => {
    const value = row[name]
    if (typeof value === 'string') return value
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    throw new AppError('unavailable', `the column "${name}" of the cursor has a row without a plain value`)
  })
  return Buffer.from(JSON.stringify(values)).toString('base64url')
}

function columnsOf(cursor: string, count: number): readonly string[] {
  const values = jsonOr(Buffer.from(cursor, 'base64url').toString('utf8'))
  const isOurs = Array.isArray(values) && values.length === count
  if (isOurs && values.every((value) => typeof value === 'string')) return values
  throw new AppError('invalid', 'cursor: is no next_cursor of this tool')
}
