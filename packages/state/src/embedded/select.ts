/** Finds documents in a table, with or without the changes of a transaction on top. */
import { isDeepStrictEqual } from 'node:util'
import { conjuncts, following, isNever, type SortKey, tester } from '../questions/conditions.ts'
import { type GroupAnswer, type GroupQuestion, Groups } from '../questions/groups.ts'
import { newEffort } from '../questions/expression-functions.ts'
import { smallest } from '#leaf/smallest.ts'
import { Slice, type Slices } from '#leaf/slices.ts'
import { order as sortingOf } from '../questions/expression-values.ts'
import { type Candidates, narrowest } from './candidates.ts'
import type { Query, Stored } from '../store.ts'
import { fieldOf } from './field-index.ts'
import { type SortedDocuments, walk } from './sorted-documents.ts'
import type { Table } from './table.ts'

/** A query without the document's type. */
export type AnyQuery = Query<Stored>

/** A view of a table: its documents, and a transaction's own changes, which hide what they replace. */
export interface TableView {
  readonly table: Table
  readonly changes?: ReadonlyMap<string, Stored | undefined> | undefined
  readonly now: number
}

type Visit = (document: Stored) => boolean

/** Returns the documents that a query asks for, in its order. */
export function* select(view: TableView, query: AnyQuery): Slices<Stored[]> {
  const [offset, end] = bounds(query)
  if (end === offset || (query.holds && isNever(query.holds))) return []
  const order = query.order ?? []
  const { table, now } = view
  const changed = view.changes !== undefined && view.changes.size > 0
  const narrow = narrowest(table, query)
  // A walk in order finds a match about every size / count documents.
  const steps = narrow ? (end * table.size) / Math.max(1, narrow.count) : 0
  const walks = !changed && (!narrow || steps < narrow.count)
  const walked = walks ? yield* orderOf(table, order) : undefined
  const found: Stored[] = []
  if (walked) {
    const matches = testOf({ ...query, after: undefined })
    const visit: Visit = (document) =>
      table.isOver(document, now) || !matches(document) || found.push(document) < end
    const after = query.after && probe(order, query.after)
    yield* walk(
      (one, from) => (order[0]?.descending ? walked.eachDescending(one, from) : walked.each(one, from)),
      visit,
      after,
    )
    return found.slice(offset, end)
  }
  yield* matching(view, query, narrow, (document) => void found.push(document))
  return yield* arranged(found, query)
}

/** Sorts documents that match and cuts them to the query's offset and limit. */
export function* arranged(found: Stored[], query: AnyQuery): Slices<Stored[]> {
  const [offset, end] = bounds(query)
  return (yield* smallest(found, sorting(query.order ?? []), end)).slice(offset)
}

/** Counts the documents that a query asks for, up to its limit. */
export function* count(view: TableView, query: AnyQuery): Slices<number> {
  return Math.min(yield* countAll(view, query), query.limit ?? Infinity)
}

function* countAll(view: TableView, query: AnyQuery): Slices<number> {
  const { table } = view
  const still = !view.changes?.size && !table.expiry?.countOver(view.now)
  const narrow = narrowest(table, query)
  if (still) {
    const conditions =
      Object.keys(query.where ?? {}).length + (query.holds ? conjuncts(query.holds).length : 0)
    if (conditions === 0) return table.size
    if (conditions === 1 && narrow?.exact) return narrow.count
  }
  const kept = still && !table.expiry && !query.where && query.holds && table.totals.of(query.holds)
  if (kept) {
    yield* table.prepare()
    for (;;) {
      if (!kept.whole) kept.goOn(table.sorted)
      if (kept.whole) return kept.count
      yield
    }
  }
  let counted = 0
  yield* matching(view, query, narrow, () => void counted++)
  return counted
}

/** Calculates a group query over the documents that a query asks for. */
export function* gather(view: TableView, question: GroupQuestion, query: AnyQuery): Slices<GroupAnswer> {
  const groups = new Groups(question, { documentsStay: true })
  if (!query.holds || !isNever(query.holds))
    yield* matching(view, query, narrowest(view.table, query), (document) => groups.add(document))
  return yield* groups.answer()
}

/** Returns a test for whether the query asks for a document, which must not have expired. */
export function testOf(query: AnyQuery): Visit {
  const tests = Object.entries(query.where ?? {})
  const after = query.after && tester(following(query.order ?? [], query.after))
  const holds = query.holds && tester(query.holds)
  const effort = newEffort()
  return (document) =>
    matchesAll(document, tests) && (!after || after(document)) && (!holds || holds(document, effort))
}

function bounds({ offset = 0, limit }: AnyQuery): readonly [number, number] {
  const from = Math.max(0, offset)
  return [from, limit === undefined ? Infinity : from + Math.max(0, limit)]
}

/** Returns the sort order of a table that equals the one wanted, ties included; undefined where there is none. */
function* orderOf(table: Table, order: readonly SortKey[]): Slices<SortedDocuments | undefined> {
  const [first, second] = order
  if (!first || first.field === 'id') yield* table.prepare()
  if (!first) return table.sorted
  return second === undefined || first.field === 'id' ? table.ordered(first.field) : undefined
}

/** Makes a document that sorts where one with these values would. */
function probe(order: readonly SortKey[], after: readonly unknown[]): Stored {
  const values = Object.fromEntries(order.map(({ field }, index) => [field, after[index]]))
  return { ...values, id: String(after.at(-1)) }
}

/** Passes the documents that a query asks for to `take`, in no order. */
export function* matching(
  view: TableView,
  query: AnyQuery,
  narrow: Candidates | undefined,
  take: (document: Stored) => void,
): Slices<void> {
  const matches = testOf(query)
  const { table, changes, now } = view
  const visit: Visit = (document) => {
    if (!table.isOver(document, now) && !changes?.has(document.id) && matches(document)) take(document)
    return true
  }
  // Ids are collected in one go, without slices: where there are many, reading the whole table in slices is better.
  if (!narrow || narrow.count * 2 > table.size) {
    yield* table.prepare()
    yield* walk((one, after) => table.sorted.each(one, after), visit)
  } else {
    const some: string[] = []
    narrow.each((id) => void some.push(id))
    const slice = new Slice()
    for (const id of some) {
      const document = table.get(id)
      if (document) visit(document)
      if (slice.isOver()) yield* slice.pause()
    }
  }
  for (const document of changes?.values() ?? [])
    if (document && !table.isOver(document, now) && matches(document)) take(document)
}

/** True when a document holds all of these values, each in its field. */
export function matchesAll(document: Stored, tests: readonly (readonly [string, unknown])[]): boolean {
  for (const [field, wanted] of tests) if (!holds(fieldOf(document, field), wanted)) return false
  return true
}

/** True when a stored value equals the wanted one or, as an array, contains it; null and undefined stand for "not there". */
function holds(stored: unknown, wanted: unknown): boolean {
  if (stored === wanted) return true
  if (wanted === null || wanted === undefined) return stored === null || stored === undefined
  if (Array.isArray(stored) && stored.some((member) => equal(member, wanted))) return true
  return equal(stored, wanted)
}

function equal(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && isDeepStrictEqual(a, b))
}

/** Returns a comparison function for sorting documents; ties go by id. */
export function sorting(order: readonly SortKey[]): (a: Stored, b: Stored) => number {
  return (a, b) => {
    for (const { field, descending } of order) {
      const result = sortingOf(fieldOf(a, field), fieldOf(b, field))
      if (result !== 0) return descending ? -result : result
    }
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
  }
}
