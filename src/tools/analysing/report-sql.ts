import { isAvailable, type Unavailable, type Sql } from '#sandbox/sandbox.ts'
import { permittedTables } from '../../analysis/permitted.ts'
import { AppError } from '#leaf/errors.ts'
import type { RunSql } from '../../documents/reports/run-sql.ts'

/** Runs the statements of SQL reports where `query_and_analyze` runs its own. */
export function reportSql(sql: Sql | Unavailable): RunSql {
  return async ({ tables, ...request }) => {
    if (!isAvailable(sql))
      throw new AppError('unavailable', `this server cannot run SQL reports: ${sql.unavailable}`)
    return await sql.query({ ...request, tables: permittedTables(tables) })
  }
}
