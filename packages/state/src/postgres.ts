/** The store on PostgreSQL, and tables of other databases as collections. Importing this loads the driver. */
export { readPostgres, requireEmptyPostgres, writePostgres } from './postgres/copy.ts'
export { withLedgerAt } from './postgres/ledger.ts'
export { openPostgresStore, PostgresStore } from './postgres/store.ts'
export { connectionsOf, openToEverybody, planPostgres, verifyPostgres } from './postgres/verify.ts'
export type { Kind, Value } from './postgres/column-kinds.ts'
export type { Queryable, Statement } from './postgres/connection.ts'
export type { Dialect } from './postgres/dialect.ts'
export { mysqlDialect } from './postgres/mysql-dialect.ts'
export { quoted, quotedName } from './postgres/language.ts'
export { postgresDialect } from './postgres/postgres-dialect.ts'
export { residueOf } from './postgres/questions.ts'
export { type TableAccess, tableCollection } from './postgres/table-collection.ts'
export { TableLayout } from './postgres/table-layout.ts'
export {
  columnSql,
  type RowsShape,
  type TableShape,
  type WrittenColumn,
  type WrittenShape,
} from './postgres/table-shape.ts'
