/** Finding documents in a table, with or without the changes of a transaction on top. */
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { conjuncts, following, isNever, type SortKey, tester } from '../core/conditions.ts'
import { type GroupAnswer, type GroupQuestion, Groups } from '../core/groups.ts'
import { newEffort } from '../core/expression-functions.ts'
import { smallest } from '../core/smallest.ts'
import { order as sortingOf } from '../core/expression-values.ts'
import { type Candidates, narrowest } from './candidates.ts'
import type { Query, Stored } from './store.ts'
import { fieldOf } from './field-index.ts'
import type { SortedDocuments } from './sorted-documents.ts'
import type { Table } from './table.ts'

/** A query without the document's type. */
export type AnyQuery = Query<Stored>

/** What is looked at: the table, and a transaction's own changes, which hide what they replace. */
export interface TableView {
  readonly table: Table
  readonly changes?: ReadonlyMap<string, Stored | undefined> | undefined
  readonly now: number
}

type Visit = (document: Stored) => boolean

/** Work in slices: between two of them others may have their turn, and may write. */
export type Slices<R> = Generator<undefined, R>

const sliceLength = 2000

/** All slices at once. */
export function atOnce<R>(work: Slices<R>): R {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

let last: Promise<void> = Promise.resolve()

/** The slices, between which others have their turn; of all that is sliced, one slice comes at a time. */
export async function inTurns<R>(work: Slices<R>): Promise<R> {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
    await (last = last.then(() => setImmediate()))
  }
}

/** The documents that a query asks for, in its order. */
export function* select(view: TableView, query: AnyQuery): Slices<Stored[]> {
  const [offset, end] = bounds(query)
  if (end === offset || (query.holds && isNever(query.holds))) return []
  const order = query.order ?? []
  const { table, now } = view
  const changed = view.changes !== undefined && view.changes.size > 0
  const walked = changed ? undefined : orderOf(table, order)
  const narrow = narrowest(table, query)
  // A walk in order meets what it looks for about every size / count documents.
  const steps = narrow ? (end * table.size) / Math.max(1, narrow.count) : 0
  const found: Stored[] = []
  if (walked && (!narrow || steps < narrow.count)) {
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
  return arranged(found, query)
}

/** Of documents that match: those that the query asks for, in its order. */
export function arranged(found: Stored[], query: AnyQuery): Stored[] {
  const [offset, end] = bounds(query)
  return smallest(found, sorting(query.order ?? []), end).slice(offset)
}

/** How many documents a query asks for, up to its limit. */
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
    for (;;) {
      if (!kept.whole) kept.goOn(table.sorted, sliceLength)
      if (kept.whole) return kept.count
      yield
    }
  }
  let counted = 0
  yield* matching(view, query, narrow, () => void counted++)
  return counted
}

/** What is calculated over groups of the documents that a query asks for. */
export function* gather(view: TableView, question: GroupQuestion, query: AnyQuery): Slices<GroupAnswer> {
  const groups = new Groups(question)
  if (!query.holds || !isNever(query.holds))
    yield* matching(view, query, narrowest(view.table, query), (document) => groups.add(document))
  return groups.answer()
}

/** Whether a document, which has not ended, is one that the query asks for. */
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

/** The order of a table that is the one wanted, ties included. */
function orderOf(table: Table, order: readonly SortKey[]): SortedDocuments | undefined {
  const [first, second] = order
  if (!first) return table.sorted
  return second === undefined || first.field === 'id' ? table.ordered(first.field) : undefined
}

/** A document that stands where one with these values would. */
function probe(order: readonly SortKey[], after: readonly unknown[]): Stored {
  const values = Object.fromEntries(order.map(({ field }, index) => [field, after[index]]))
  return { ...values, id: String(after.at(-1)) }
}

/** Hands over the documents that a query asks for, in no order. */
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
  if (!narrow) yield* walk((one, after) => table.sorted.each(one, after), visit)
  else if (narrow.count <= sliceLength) narrow.each(visit)
  else {
    const some: Stored[] = []
    narrow.each((document) => some.push(document) > 0)
    for (let from = 0; from < some.length; from += sliceLength) {
      if (from > 0) yield
      for (const document of some.slice(from, from + sliceLength)) {
        // What was written since is met as it is now.
        const current = table.get(document.id)
        if (current) visit(current)
      }
    }
  }
  for (const document of changes?.values() ?? [])
    if (document && !table.isOver(document, now) && matches(document)) take(document)
}

/** Documents in an order, a slice at a time; each slice goes on behind the last document of the one before. */
function* walk(
  each: (visit: Visit, after: Stored | undefined) => void,
  visit: Visit,
  after?: Stored,
): Slices<void> {
  let last = after
  for (;;) {
    let left = sliceLength
    each((document) => {
      last = document
      left--
      return visit(document) ? left > 0 : ((left = -1), false)
    }, last)
    if (left !== 0) return
    yield
  }
}

/** Whether a document holds all of these values, each with its field. */
export function matchesAll(document: Stored, tests: readonly (readonly [string, unknown])[]): boolean {
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

/** What sorts documents, those that are alike by id. */
function sorting(order: readonly SortKey[]): (a: Stored, b: Stored) => number {
  return (a, b) => {
    for (const { field, descending } of order) {
      const result = sortingOf(fieldOf(a, field), fieldOf(b, field))
      if (result !== 0) return descending ? -result : result
    }
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
  }
}
