/** What analysis works on: tables that hold exactly the rows and columns that one principal may read. */

import { type ColumnType, valueTypes } from '../core/values.ts'
import type { ReadableTable, ReadableTables, TableColumn } from '../documents/run-sql.ts'
import { valueTypeOf } from '../documents/values.ts'

/** A column of a permitted table, by the name that statements and programs use. */
export interface Column extends Omit<TableColumn, 'type'> {
  readonly type: ColumnType
}

/** The permitted part of one doctype, or of the rows of one child doctype, which are asked for when a statement names it. */
export interface PermittedTable extends Omit<ReadableTable, 'columns'> {
  readonly columns: readonly Column[]
}

/** Everything one principal may read; snapshots are kept by the key. */
export interface PermittedTables extends Pick<ReadableTables, 'key'> {
  readonly tables: readonly PermittedTable[]
}

/** The name under which a doctype can also be written in SQL: `Sales Invoice` is `sales_invoice`. */
export function sqlName(doctype: string): string {
  return doctype.toLowerCase().replace(/[^a-z0-9]+/g, '_')
}

/** The tables of a principal in the words of analysis. */
export function permittedTables(readable: ReadableTables): PermittedTables {
  return {
    key: readable.key,
    tables: readable.tables.map((table) => ({ ...table, columns: table.columns.map(columnOf) })),
  }
}

/** What a field's values are to SQL and to a data frame. */
export function columnOf(column: TableColumn): Column {
  return { ...column, type: valueTypes[valueTypeOf(column.type)].column }
}
