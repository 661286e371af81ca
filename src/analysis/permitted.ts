/** What analysis works on: tables that hold exactly the rows and columns that one principal may read. */

import { type ColumnType, valueTypes } from '../core/values.ts'
import type { ReadableRows, ReadableTables, TableColumn } from '../documents/run-sql.ts'
import { valueTypeOf } from '../documents/values.ts'

/** A column of a permitted table, by the name that statements and programs use. */
export interface Column {
  readonly name: string
  readonly type: ColumnType
  /** Digits after the point of a decimal. */
  readonly places?: number
}

/** The permitted part of one doctype, or of the rows of one child doctype. */
export interface PermittedTable {
  /** The doctype. */
  readonly name: string
  readonly columns: readonly Column[]
  /** The rows as they are now; asked for only when a statement names the table. */
  read(): Promise<ReadableRows>
}

/** Everything one principal may read. */
export interface PermittedTables {
  /** Equal only for the same permissions of the same user; snapshots are kept by it. */
  readonly key: string
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
    tables: readable.tables.map((table) => ({
      name: table.name,
      columns: table.columns.map(columnOf),
      read: table.read,
    })),
  }
}

/** What a field's values are to SQL and to a data frame. */
export function columnOf(column: TableColumn): Column {
  return { ...column, type: valueTypes[valueTypeOf(column.type)].column }
}
