import { AppError } from '#leaf/errors.ts'
import type { ReadableRows } from '#sandbox/tables.ts'
import type { FieldType } from '../platform/platform.ts'

/** A column, with the type that decides the form of its values in SQL and Python. */
export interface TableColumn {
  readonly name: string
  readonly type: FieldType
  /** Digits after the point, for amounts of money. */
  readonly places?: number
}

/** A doctype as one principal may read it, or the rows of a child doctype in the documents that it may read. */
export interface ReadableTable {
  readonly name: string
  readonly columns: readonly TableColumn[]
  readonly read: () => Promise<ReadableRows>
}

/** All tables of one principal. */
export interface ReadableTables {
  /** A key that is equal only for the same user with the same roles under the same reading of the site. */
  readonly key: string
  readonly user?: string
  readonly tables: readonly ReadableTable[]
}

/** A statement of a report over tables of exactly the rows that a principal may read. */
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

/** The stand-in where nothing can run SQL: SQL reports say so. */
export const noSql: RunSql = () =>
  Promise.reject(new AppError('unavailable', 'this server cannot run SQL reports'))
