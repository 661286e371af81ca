/** Reading documents, inside or outside of a transaction. */
import type { Expiry } from './expiry.ts'
import { isIndexKey } from './field-index.ts'
import { deepFreeze } from './plain-json.ts'
import type { Queryable } from './postgres-connection.ts'
import { type Entry, idBytes, keyBytes } from './postgres-entries.ts'
import { type AnyQuery, arranged, testOf } from './select.ts'
import type { Stored } from './store.ts'
import type { TableSpec } from './table.ts'

/** What a read knows of its collection. */
export interface Known {
  readonly name: string
  /** When its documents end. */
  readonly expiry: Expiry | undefined
  /** What the entries in the database were made by; undefined while they cannot be relied on. */
  readonly stored: TableSpec | undefined
  readonly now: number
}

/** The document unless it has ended. */
export async function readDocument(on: Queryable, view: Known, id: string): Promise<Stored | undefined> {
  const text = 'SELECT body FROM assistant_core.document WHERE collection = $1 AND id = $2'
  const [row] = await on.rows({ name: 'get', text, values: [view.name, idBytes(id)] })
  return row && living(view, parsed(row[0]))
}

/** The documents that a query asks for. One statement: they are of one moment. */
export async function readDocuments(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  const offset = Math.max(0, query.offset ?? 0)
  const limit = Number.isFinite(query.limit) ? Math.max(0, query.limit!) : undefined
  if (limit === 0) return []
  const { keys, tests } = divided(view, query)
  const { from, where, values } = lookUp(view, keys)
  const bare = !query.order?.length && !query.holds && !query.after && tests.length === 0
  if (bare && view.stored && (limit !== undefined || offset > 0)) {
    values.push(view.now, limit ?? null, offset)
    const [now, most, skipped] = [values.length - 2, values.length - 1, values.length]
    const rows = await on.rows({
      name: `page_${keys.length}`,
      text: `${from} SELECT d.body FROM ${where} AND (d.ends IS NULL OR d.ends >= $${now})
        ORDER BY d.id LIMIT $${most} OFFSET $${skipped}`,
      values,
    })
    return rows.map(([body]) => parsed(body))
  }
  const found: Stored[] = []
  const matches = testOf({ ...query, where: Object.fromEntries(tests) })
  const text = `${from} SELECT d.body FROM ${where} ORDER BY d.id`
  for (const [body] of await on.rows({ name: `find_${keys.length}`, text, values })) {
    const document = living(view, parsed(body))
    if (document && matches(document)) found.push(document)
  }
  return arranged(found, query)
}

/** How many documents a query asks for. */
export async function countDocuments(on: Queryable, view: Known, query: AnyQuery): Promise<number> {
  const { keys, tests } = divided(view, query)
  if (query.holds || tests.length > 0 || !view.stored) {
    const { where, holds } = query
    return (await readDocuments(on, view, { ...(where && { where }), holds })).length
  }
  const { from, where, values } = lookUp(view, keys)
  values.push(view.now)
  const name = `count_${keys.length}`
  const text = `${from} SELECT count(*) FROM ${where} AND (d.ends IS NULL OR d.ends >= $${values.length})`
  const [row] = await on.rows({ name, text, values })
  return Number(row![0])
}

/** What the entries answer, and what must be looked up in the documents. */
function divided(
  { stored }: Known,
  { where = {} }: AnyQuery,
): { readonly keys: readonly Pick<Entry, 'field' | 'key'>[]; readonly tests: readonly [string, unknown][] } {
  const keys: Pick<Entry, 'field' | 'key'>[] = []
  const tests: [string, unknown][] = []
  for (const [field, wanted] of Object.entries(where)) {
    if (isIndexKey(wanted) && stored?.indexes.includes(field)) keys.push({ field, key: keyBytes(wanted) })
    else tests.push([field, wanted])
  }
  return { keys, tests }
}

// Materialized: the entries are always read first. A planner that hopes to meet a match early would read documents instead.
function lookUp(
  { name }: Known,
  keys: readonly Pick<Entry, 'field' | 'key'>[],
): { readonly from: string; readonly where: string; readonly values: unknown[] } {
  const values: unknown[] = [name]
  if (keys.length === 0)
    return { from: '', where: 'assistant_core.document d WHERE d.collection = $1', values }
  const found = keys.map(({ field, key }) => {
    values.push(field, key)
    return `SELECT id FROM assistant_core.entry WHERE collection = $1 AND field = $${values.length - 1} AND key = $${values.length}`
  })
  return {
    from: `WITH found AS MATERIALIZED (${found.join(' INTERSECT ')})`,
    where: 'found JOIN assistant_core.document d ON d.collection = $1 AND d.id = found.id WHERE true',
    values,
  }
}

function living({ expiry, now }: Known, document: Stored): Stored | undefined {
  return expiry?.isOver(document, now) ? undefined : document
}

/** A document as it came from the database, frozen. */
export function parsed(body: unknown): Stored {
  return deepFreeze(JSON.parse(body as string) as Stored)
}

/** Whether a collection can be looked up as it is declared. */
export function covers(stored: TableSpec | undefined, wanted: TableSpec): boolean {
  return (
    stored !== undefined &&
    wanted.indexes.every((field) => stored.indexes.includes(field)) &&
    wanted.unique.join() === stored.unique.join() &&
    wanted.expires === stored.expires
  )
}
