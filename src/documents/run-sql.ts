import { AppError } from '../core/errors.ts'
import type { FieldType } from './platform.ts'

/** A column, with the type that decides how SQL and Python see its values. */
export interface TableColumn {
  readonly name: string
  readonly type: FieldType
  /** Digits after the point, for amounts of money. */
  readonly places?: number
}

/** A doctype as one principal may read it, or the rows of a child doctype within what it may read. */
export interface ReadableTable {
  readonly name: string
  readonly columns: readonly TableColumn[]
  readonly read: () => Promise<ReadableRows>
}

/** What a table holds now. */
export interface ReadableRows {
  /** Equal only when the rows are. */
  readonly revision: string
  /** Values in the order of the columns, null where this row hides the field; in pages, so that few rows are held. */
  pages(): AsyncIterable<readonly (readonly unknown[])[]>
  /** Notes that the principal was shown them, for the audit event of its request. */
  show?(): Promise<void>
}

/** Every table of one principal. */
export interface ReadableTables {
  /** Equal only for the same user with the same roles under the same reading of the site. */
  readonly key: string
  readonly tables: readonly ReadableTable[]
}

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
