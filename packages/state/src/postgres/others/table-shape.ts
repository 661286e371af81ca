/** What the layout of a table is made of: SQL of its columns, with names quoted, and what documents show of them. */
import { deepFreeze } from '../../plain-json.ts'
import { sortsBy } from '../../questions/places.ts'
import type { Stored } from '../../store.ts'
import { readerOf, shownOf, type Value } from '../translating/column-kinds.ts'
import type { Dialect } from '../translating/dialect.ts'
import { quotedName } from '../language.ts'
import { keyText } from './table-key.ts'

/** The most arguments of a function in PostgreSQL are 100. */
const mostArguments = 90

/** A table that holds documents, and its columns by the fields that show them. */
export interface TableShape {
  readonly dialect: Dialect
  readonly from: string
  readonly key: readonly Value[]
  readonly fields: ReadonlyMap<string, Value | RowsShape>
  /** The fields in which words are searched. */
  readonly searched: readonly string[]
  /** Set if it may be written to. */
  readonly written?: WrittenShape
}

/** How a table is written to. */
export interface WrittenShape {
  readonly table: string
  /** The columns of the key, without the table. */
  readonly key: readonly string[]
  /** By field, what a new row is given and what a change may set. */
  readonly creates: ReadonlyMap<string, WrittenColumn>
  readonly changes: ReadonlyMap<string, WrittenColumn>
  /** What each change moves on. */
  readonly version?: WrittenColumn
}

/** A column that is written, and what it can hold. */
export interface WrittenColumn {
  /** The column, without the table. */
  readonly name: string
  readonly value: Value
  /** The most characters of a text. */
  readonly length?: number
  /** The least number that is too large. */
  readonly beyond?: number
  /** The values of an enumeration. */
  readonly labels?: readonly string[]
  /** True for moments that are kept without milliseconds. */
  readonly coarse?: boolean
}

/** The rows of another table that belong to a document. */
export interface RowsShape {
  readonly rows: true
  /** The table, and the condition that they belong to the document. */
  readonly from: string
  readonly order: string
  readonly name: Value
  readonly columns: ReadonlyMap<string, Value>
}

/** A column as it is declared, before it is found in a table. */
export function columnSql(alias: string, column: string): string {
  return `${alias}.${quotedName(column)}`
}

interface Selected {
  readonly name: string
  readonly sql: string
  readonly value?: Value
  readonly rows?: { read(json: unknown): unknown }
}

/** Returns what is selected of a document: the columns of its key, then its fields. */
function columnsOf({ key, fields }: TableShape): readonly Selected[] {
  return [
    ...key.map((value) => ({ name: '', sql: keyShown(value) })),
    ...[...fields].map(([name, field]): Selected =>
      'kind' in field
        ? { name, sql: shownOf(field), value: field }
        : { name, sql: rowsSql(field), rows: { read: (json) => rowsRead(field, json) } },
    ),
  ]
}

/** Returns SQL for a part of the key as a text. */
export function keyShown(value: Value): string {
  return value.dialect.columnText(value.column, value.kind.is === 'text' && value.kind.type === 'text')
}

function rowsSql({ from, order, name, columns }: RowsShape): string {
  const cells = [keyShown(name), ...[...columns.values()].map(shownOf)]
  const { dialect } = name
  return dialect.rows(dialect.array(cells), order, from)
}

function rowsRead({ columns }: RowsShape, json: unknown): unknown {
  const entries = [...columns].map(([name, value]) => [name, readerOf(value)] as const)
  const rows = (typeof json === 'string' ? JSON.parse(json) : json) as unknown[][]
  return rows.map(([name, ...cells], index) => ({
    name: String(name),
    idx: index + 1,
    ...Object.fromEntries(
      entries.map(([column, read], at) => [column, read ? read(cells[at]).value : cells[at]]),
    ),
  }))
}

/** Returns SQL for a document as one text, which `documentReader` reads. */
export function bodySql(shape: TableShape): string {
  const columns = columnsOf(shape).map(({ sql }) => sql)
  const { dialect } = shape
  const parts: string[] = []
  for (let from = 0; from < columns.length; from += mostArguments)
    parts.push(dialect.array(columns.slice(from, from + mostArguments)))
  return dialect.arrayText(dialect.array(parts))
}

/** Returns what reads a document. */
export function documentReader(shape: TableShape): (body: unknown) => Stored {
  const columns = columnsOf(shape)
  const keyLength = shape.key.length
  const readers = columns.map(({ value }) => value && readerOf(value))
  return (body) => {
    const values = (JSON.parse(body as string) as unknown[][]).flat()
    const document: Record<string, unknown> = { id: keyText(values.slice(0, keyLength).map(String)) }
    let more: Map<string, string> | undefined
    for (let at = keyLength; at < columns.length; at++) {
      const { name, rows } = columns[at]!
      const shown = readers[at]?.(values[at])
      document[name] = rows ? rows.read(values[at]) : shown ? shown.value : values[at]
      if (shown?.exactly !== undefined) (more ??= new Map()).set(name, shown.exactly)
    }
    const frozen = deepFreeze(document as unknown as Stored)
    if (more) sortsBy(frozen, more)
    return frozen
  }
}
