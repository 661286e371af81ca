import { noSql, type RunSql } from '../../documents/run-sql.ts'
import { permittedTables } from '../permitted.ts'
import type { Sql } from './sql.ts'

/** How reports run their SQL: in the same engine, over the tables that they were given. */
export function reportSql(sql: Sql | { readonly unavailable: string }): RunSql {
  if ('unavailable' in sql) return noSql
  return ({ sql: statement, parameters, tables, maxRows, signal }) =>
    sql.query({ sql: statement, parameters, tables: permittedTables(tables), maxRows, signal })
}
