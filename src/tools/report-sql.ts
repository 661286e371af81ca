import { isAvailable, type Unavailable } from '../analysis/analysis.ts'
import { permittedTables } from '../analysis/permitted.ts'
import type { Sql } from '../analysis/sql/sql.ts'
import { AppError } from '../core/errors.ts'
import type { RunSql } from '../documents/run-sql.ts'

/** Runs the statements of SQL reports where `query_and_analyze` runs its own. */
export function reportSql(sql: Sql | Unavailable): RunSql {
  return async ({ tables, ...request }) => {
    if (!isAvailable(sql))
      throw new AppError('unavailable', `this server cannot run SQL reports: ${sql.unavailable}`)
    return await sql.query({ ...request, tables: permittedTables(tables) })
  }
}
