/** Finding documents in a table, with or without the changes of a transaction on top. */
import { isDeepStrictEqual } from 'node:util'
import type { Query, Stored } from './store.ts'
import { type FieldIndex, fieldOf, type IndexKey, isIndexKey } from './field-index.ts'
import type { Table } from './table.ts'

/** A query without the document's type. */
export type AnyQuery = Query<Stored>

/** What is looked at: the table, and a transaction's own changes, which hide what they replace. */
export interface View {
  readonly table: Table
  readonly changes?: { readonly written: Table; readonly touched: ReadonlySet<string> }
  readonly now: number
}

/** The documents that a query asks for, in its order. */
export function select(view: View, query: AnyQuery): Stored[] {
  const offset = Math.max(0, query.offset ?? 0)
  const end = query.limit === undefined ? Infinity : offset + Math.max(0, query.limit)
  if (end === offset) return []
  const changed = view.changes !== undefined && view.changes.touched.size > 0
  // Without an order of its own the answer comes by id, as the table reads: stop when there is enough.
  const found = matching(view, query, query.compare || changed ? Infinity : end)
  if (changed) found.sort(byId)
  return arranged(found, query)
}

/** Of documents that match, by id: those that the query asks for, in its order. */
export function arranged(found: Stored[], query: AnyQuery): Stored[] {
  const offset = Math.max(0, query.offset ?? 0)
  const end = query.limit === undefined ? Infinity : offset + Math.max(0, query.limit)
  if (query.compare) return smallest(found, query.compare, end).slice(offset)
  return offset === 0 && end >= found.length ? found : found.slice(offset, end)
}

/** How many documents a query asks for. */
export function count(view: View, query: AnyQuery): number {
  const everything = !query.filter && Object.keys(query.where ?? {}).length === 0
  if (everything && !view.changes?.touched.size) {
    return view.table.size - (view.table.expiry?.countOver(view.now) ?? 0)
  }
  return matching(view, query, Infinity).length
}

function matching(view: View, query: AnyQuery, enough: number): Stored[] {
  const found: Stored[] = []
  read(view.table, view.changes?.touched, view.now, query, enough, found)
  if (view.changes) read(view.changes.written, undefined, view.now, query, enough, found)
  return found
}

function read(
  table: Table,
  hidden: ReadonlySet<string> | undefined,
  now: number,
  query: AnyQuery,
  enough: number,
  found: Stored[],
): void {
  const index = narrowest(table, query.where)
  const tests = Object.entries(query.where ?? {}).filter(([field]) => field !== index?.index.field)
  const { filter } = query
  const visit = (document: Stored): boolean => {
    if (found.length >= enough) return false
    if (table.isOver(document, now) || hidden?.has(document.id)) return true
    if (matches(document, tests) && (!filter || filter(document))) found.push(document)
    return true
  }
  if (!index) table.sorted.each(visit)
  else for (const id of inOrder(index.index.ids(index.key))) if (!visit(table.get(id)!)) return
}

// A look-up that finds one document, as by a token's hash, needs no sorting.
function inOrder(ids: Iterable<string>): readonly string[] {
  return Array.isArray(ids) ? (ids as string[]) : [...ids].sort()
}

/** The index that leaves the fewest documents to read. */
function narrowest(
  table: Table,
  where: AnyQuery['where'],
): { readonly index: FieldIndex; readonly key: IndexKey } | undefined {
  let best: { index: FieldIndex; key: IndexKey; count: number } | undefined
  if (!where) return undefined
  for (const [field, wanted] of Object.entries(where)) {
    const index = isIndexKey(wanted) ? table.index(field) : undefined
    if (!index || !isIndexKey(wanted)) continue
    const count = index.count(wanted)
    if (!best || count < best.count) best = { index, key: wanted, count }
  }
  return best
}

/** Whether a document holds all of these values, each with its field. */
export function matches(document: Stored, tests: readonly (readonly [string, unknown])[]): boolean {
  for (const [field, wanted] of tests) if (!holds(fieldOf(document, field), wanted)) return false
  return true
}

/** Whether a stored value equals the wanted one or, as an array, contains it; null and undefined ask for "not there". */
function holds(stored: unknown, wanted: unknown): boolean {
  if (stored === wanted) return true
  if (wanted === null || wanted === undefined) return stored === null || stored === undefined
  if (Array.isArray(stored) && stored.some((member) => equal(member, wanted))) return true
  return equal(stored, wanted)
}

function equal(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && isDeepStrictEqual(a, b))
}

/** The first `count` documents by an order; equal ones stay in the order in which they came. */
function smallest(documents: Stored[], compare: (a: Stored, b: Stored) => number, count: number): Stored[] {
  if (count * 8 >= documents.length) return documents.sort(compare).slice(0, count)
  // A page of a large collection: keep the best so far instead of sorting everything.
  const best: Stored[] = []
  for (const document of documents) {
    if (best.length === count && compare(best[count - 1]!, document) <= 0) continue
    let low = 0
    let high = best.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(best[middle]!, document) <= 0) low = middle + 1
      else high = middle
    }
    best.splice(low, 0, document)
    if (best.length > count) best.pop()
  }
  return best
}

function byId(a: Stored, b: Stored): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}
