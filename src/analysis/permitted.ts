/** Makes the tables for analysis, which hold exactly the rows and columns that one principal may read. */
import { valueTypes } from '../core/values.ts'
import type { ReadableTables, TableColumn } from '../documents/reports/run-sql.ts'
import { valueTypeOf } from '../documents/values.ts'
import type { Column, PermittedTables } from '#sandbox/tables.ts'

/** Converts the tables of a principal to those of analysis. */
export function permittedTables(readable: ReadableTables): PermittedTables {
  return {
    key: readable.key,
    user: readable.user,
    tables: readable.tables.map((table) => ({ ...table, columns: table.columns.map(columnOf) })),
  }
}

/** Returns the column type of a field for SQL and data frames. */
export function columnOf(column: TableColumn): Column {
  return { ...column, type: valueTypes[valueTypeOf(column.type)].column }
}
