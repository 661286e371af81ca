/** Tables for SQL and Python: their columns, and the rows that the caller may read. */

/**
 * The type of values in SQL and data frames: dates come as `2026-01-31`, datetimes as ISO 8601,
 * JSON as any JSON value, decimals as numbers that become exact decimals there.
 */
export type ColumnType = 'text' | 'integer' | 'number' | 'decimal' | 'boolean' | 'date' | 'datetime' | 'json'

/** A column of a permitted table, by the name that statements and programs use. */
export interface Column {
  readonly name: string
  readonly type: ColumnType
  /** Digits after the point, for amounts of money. */
  readonly places?: number
}

/** The present rows of a table. */
export interface ReadableRows {
  /** A revision that is equal only when the rows are. */
  readonly revision: string
  /** Yields values in the order of the columns, null where this row hides the field; in pages, so that few rows are in memory. */
  pages(): AsyncIterable<readonly (readonly unknown[])[]>
  /** Notes that the principal was shown the rows, for the audit event of its request. */
  show?(): Promise<void>
}

/** The permitted part of one doctype, or of the rows of one child doctype; it is read when a statement names it. */
export interface PermittedTable {
  readonly name: string
  readonly columns: readonly Column[]
  readonly read: () => Promise<ReadableRows>
}

/** All tables that one principal may read; snapshots are kept by the key. */
export interface PermittedTables {
  /** A key that is equal only for the same user with the same roles under the same reading of the site. */
  readonly key: string
  /** The user that current_user is in statements. */
  readonly user?: string | undefined
  readonly tables: readonly PermittedTable[]
}

/** Returns the name that a doctype also has in SQL: `Sales Invoice` is `sales_invoice`. */
export function sqlName(doctype: string): string {
  return doctype.toLowerCase().replace(/[^a-z0-9]+/g, '_')
}

/** Returns the function that tells whether a statement names the table of a doctype. */
export function namedIn(sql: string): (doctype: string) => boolean {
  const words = new Set(sql.toLowerCase().match(/\w+/g))
  return (doctype) => words.has(sqlName(doctype)) || sql.toLowerCase().includes(`"${doctype.toLowerCase()}"`)
}
