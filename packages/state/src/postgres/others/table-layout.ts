/** The layout of a table of somebody else's: typed columns, which may be reached over joins, and rows of other tables. */
import type { AskedWord, WordQuestion } from '../../questions/words.ts'
import type { SortKey } from '../../questions/conditions.ts'
import type { Stored } from '../../store.ts'
import { comparedColumn, matched } from '../translating/column-compared.ts'
import {
  isStorable,
  type Kind,
  measuredOf,
  sortOf,
  termOf,
  textOf,
  type Value,
} from '../translating/column-kinds.ts'
import { literally } from '../translating/document-layout.ts'
import type { Bind, Dialect } from '../translating/dialect.ts'
import type { Compared, Layout, Measured } from '../translating/layout.ts'
import { comparedKey, keySql } from './table-key.ts'
import { bodySql, documentReader, type RowsShape, type TableShape } from './table-shape.ts'
import type { Calculated } from '../translating/terms.ts'

const text: Kind = { is: 'text', type: 'text' }

/** The layout of a table. */
export class TableLayout implements Layout {
  readonly dialect: Dialect
  readonly from: string
  readonly base = []
  readonly body: string
  readonly read: (body: unknown) => Stored
  readonly keys: readonly string[]
  readonly tie: string
  /** What has no words in SQL is tested here, on so many rows. */
  readonly mostTested = 20_000
  readonly id: string
  readonly readId = String
  readonly #shape: TableShape
  readonly #id: Value
  /** The value of a field that the table does not have. */
  readonly #absent: Value

  constructor(shape: TableShape) {
    this.#shape = shape
    const { dialect } = shape
    this.dialect = dialect
    this.#id = { column: keySql(shape.key), kind: text, nullable: false, dialect }
    this.#absent = { column: dialect.as('NULL', 'text'), kind: text, nullable: true, dialect }
    this.from = shape.from
    this.body = bodySql(shape)
    this.read = documentReader(shape)
    this.keys = shape.key.map(({ column }) => column)
    this.tie = this.keys.join(', ')
    this.id = this.#id.column
  }

  order({ field, descending = false }: SortKey): string {
    if (field === 'id') return this.keys.map((key) => `${key}${descending ? ' DESC' : ''}`).join(', ')
    const value = this.#valueOf(field) ?? this.#absent
    return `${sortOf(value)}${descending ? ' DESC' : ''}${this.dialect.nulls(value.nullable, descending)}`
  }

  term(field: string, column?: string): Calculated | undefined {
    const rows = this.#rowsOf(field)
    if (rows) return rowsTerm(rows, column)
    if (column !== undefined) return undefined
    return termOf(this.#valueOf(field) ?? this.#absent)
  }

  text(value: string): string | undefined {
    return isStorable(value, this.dialect) ? value : undefined
  }

  compared(one: Compared, bind: Bind): string | undefined {
    const { field, operator, value } = one
    if (field === 'id')
      return comparedKey(this.#shape.key, operator, value, bind) ?? comparedColumn(this.#id, one, bind)
    return this.#rowsOf(field) ? undefined : comparedColumn(this.#valueOf(field) ?? this.#absent, one, bind)
  }

  unindexed(): undefined {
    return undefined
  }

  begins(field: string, start: string, bind: Bind): string | undefined {
    const value = this.#valueOf(field)
    return value && matched(value, `${literally(start)}%`, bind)
  }

  within(field: string, column: string | undefined, value: string, bind: Bind): string | undefined {
    const rows = this.#rowsOf(field)
    if (rows && column !== undefined) return amongRows(rows, column, [value], bind)
    const held = this.#valueOf(field)
    return held?.kind.is === 'texts' ? holdsText(held, [value], bind) : undefined
  }

  shares(
    field: string,
    column: string | undefined,
    wanted: readonly string[],
    bind: Bind,
  ): string | undefined {
    const rows = this.#rowsOf(field)
    if (rows && column !== undefined) return amongRows(rows, column, wanted, bind)
    const held = this.#valueOf(field)
    if (held?.kind.is === 'texts') return holdsText(held, wanted, bind)
    return held?.kind.is === 'text'
      ? this.compared({ field, operator: 'in', value: wanted }, bind)
      : undefined
  }

  holding(field: string, wanted: unknown, bind: Bind): string | undefined {
    return typeof wanted === 'object' && wanted !== null
      ? undefined
      : this.compared({ field, operator: '=', value: wanted ?? null }, bind)
  }

  beyond({ field, descending }: SortKey, value: unknown, bind: Bind): string | undefined {
    if (field === 'id') return comparedKey(this.#shape.key, descending ? 'up to' : 'from', value, bind)
    const held = this.#valueOf(field)
    if (!held || held.nullable || value === null) return undefined
    const before = { operator: descending ? 'sorts after' : 'sorts before', value }
    const beyond = comparedColumn(held, before, bind)
    return beyond && `NOT ${beyond}`
  }

  measured(field: string): Measured {
    return measuredOf(this.#valueOf(field) ?? this.#absent)
  }

  hasWords({ words, all, fields }: WordQuestion, bind: Bind): string {
    const paths = fields.map(({ path }) => path)
    const parts = words.map((word) => this.hasWord(word, paths, 'near', bind))
    return `(${parts.join(all ? ' AND ' : ' OR ')})`
  }

  /** Words are found in the fields that are searched, and a name that is not searched as a whole. */
  hasWord(asked: AskedWord, paths: readonly string[], how: 'same' | 'near', bind: Bind): string {
    const all = paths.flatMap((path) => {
      const isSearched = this.#shape.searched.includes(path)
      if (path === 'id' && !isSearched)
        return this.compared({ field: 'id', operator: '=', value: asked.word }, bind) ?? []
      const value = isSearched ? this.#valueOf(path) : undefined
      if (!value) return []
      const plain = value.kind.is === 'text' && value.kind.type === 'text'
      return this.dialect.hasWord(textOf(value), asked, how, plain, bind)
    })
    const parts = all.filter((part) => part !== 'false')
    return parts.length === 0 ? 'false' : `(${parts.join(' OR ')})`
  }

  #valueOf(name: string): Value | undefined {
    const field = name === 'id' ? this.#id : this.#shape.fields.get(name)
    return field && 'kind' in field ? field : undefined
  }

  #rowsOf(name: string): RowsShape | undefined {
    const field = this.#shape.fields.get(name)
    return field && 'rows' in field ? field : undefined
  }
}

function holdsText({ column, dialect }: Value, wanted: readonly string[], bind: Bind): string {
  const list = `${bind(wanted.filter((one) => isStorable(one, dialect)))}::text[]`
  return `(${column}::text[] && ${list} AND ${column} IS NOT NULL AND COALESCE(array_ndims(${column}) = 1, false))`
}

function rowsTerm(rows: RowsShape, column: string | undefined): Calculated | undefined {
  // Only PostgreSQL adds up and counts what stands in JSON.
  if (rows.name.dialect.flat) return undefined
  const value = column === undefined ? undefined : rows.columns.get(column)
  if (column !== undefined && !value) return undefined
  const term = value && termOf(value)
  if (value && !term) return undefined
  const cell = term ? `to_jsonb(${term.number ?? term.text ?? term.check ?? 'NULL::text'})` : `'{}'::jsonb`
  return {
    list: `(SELECT COALESCE(jsonb_agg(${cell} ORDER BY ${rows.order}), '[]') FROM ${rows.from})`,
    truth: 'true',
    nothing: 'false',
  }
}

function amongRows(
  rows: RowsShape,
  column: string,
  wanted: readonly string[],
  bind: Bind,
): string | undefined {
  const value = rows.columns.get(column)
  const same = value && comparedColumn(value, { operator: 'in', value: wanted }, bind)
  return same && `EXISTS (SELECT 1 FROM ${rows.from} AND ${same})`
}
