/** What is known of a collection when it is read. */
import { Expiry } from './expiry.ts'
import type { CommonWords, Sizes } from './postgres-picture.ts'
import type { CollectionSpec, Stored } from './store.ts'
import { declaredSpec, type TableSpec } from './table.ts'

/** What a read knows of its collection. */
export interface Known {
  readonly name: string
  /** When its documents end. */
  readonly expiry: Expiry | undefined
  /** What the entries in the database were made by; undefined while they cannot be relied on. */
  readonly stored: TableSpec | undefined
  readonly now: number
  /** Whether its documents are asked about, as the database can answer by indexes of its own. */
  readonly asked: boolean
  /** Whether to read all of it takes no time. */
  readonly small: boolean
  readonly common: CommonWords
}

const small = 5000

/** What a read knows, of a collection as it is declared here and as it is in the database. */
export function known(
  spec: TableSpec,
  stored: TableSpec | undefined,
  { now, sizes }: { readonly now: number; readonly sizes: Sizes },
): Known {
  return {
    name: spec.name,
    expiry: spec.expires === undefined ? undefined : new Expiry(spec.expires),
    stored: covers(stored, spec) ? stored : undefined,
    now,
    asked: spec.ordered.length > 0,
    small: sizes.of(spec.name) <= small,
    common: sizes.common,
  }
}

/** Whether a collection can be looked up as it is declared. */
export function covers(stored: TableSpec | undefined, wanted: TableSpec): boolean {
  return (
    stored !== undefined &&
    wanted.indexes.every((field) => stored.indexes.includes(field)) &&
    wanted.unique.join() === stored.unique.join() &&
    wanted.ordered.length > 0 === stored.ordered.length > 0 &&
    wanted.expires === stored.expires
  )
}

/** The spec of a collection that is asked for: only documents of doctypes are looked up by an order, all else by its entries. */
export function databaseSpec<T extends Stored>(
  spec: CollectionSpec<T>,
  before: TableSpec | undefined,
): TableSpec {
  return declaredSpec(spec.name.startsWith('document.') ? spec : { ...spec, ordered: [] }, before)
}
