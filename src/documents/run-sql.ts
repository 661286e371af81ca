import { AppError } from '../core/errors.ts'
import type { ReadableTables } from './tables.ts'

/** One statement of a report over tables of exactly what a principal may read. */
export interface SqlRequest {
  readonly sql: string
  /** Values of `$name`. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly tables: ReadableTables
  readonly maxRows: number
  readonly signal: AbortSignal
}

/**
 * Runs statements for SQL reports, outside the daemon's process; `analysis/` has one. Values of a
 * `DECIMAL(…)` column are texts.
 */
export type RunSql = (request: SqlRequest) => Promise<{
  readonly columns: readonly { readonly name: string; readonly type?: string }[]
  readonly rows: readonly (readonly unknown[])[]
}>

/** Where nothing can run SQL, SQL reports say so. */
export const noSql: RunSql = () =>
  Promise.reject(new AppError('unavailable', 'this server cannot run SQL reports'))
