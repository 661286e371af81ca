/** The store on PostgreSQL, and tables of other databases as collections. Importing this loads the driver. */
export { readPostgres, requireEmptyPostgres, writePostgres } from './postgres/copy.ts'
export { withLedgerAt } from './postgres/ledger/ledger.ts'
export { openPostgresStore, PostgresStore } from './postgres/store.ts'
export { connectionsOf, openToEverybody, planPostgres, verifyPostgres } from './postgres/verify.ts'
export type { Kind, Value } from './postgres/translating/column-kinds.ts'
export type { Queryable, Statement } from './postgres/servers/connection.ts'
export type { Dialect } from './postgres/translating/dialect.ts'
export { mysqlDialect } from './postgres/translating/mysql-dialect.ts'
export { quoted, quotedName } from './postgres/language.ts'
export { postgresDialect } from './postgres/translating/postgres-dialect.ts'
export { residueOf } from './postgres/translating/questions.ts'
export { type TableAccess, tableCollection } from './postgres/others/table-collection.ts'
export { TableLayout } from './postgres/others/table-layout.ts'
export {
  columnSql,
  type RowsShape,
  type TableShape,
  type WrittenColumn,
  type WrittenShape,
} from './postgres/others/table-shape.ts'
