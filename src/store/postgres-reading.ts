/** Reading documents, inside or outside of a transaction. */
import { all, always, compared, isAlways } from '../core/conditions.ts'
import { Expiry } from './expiry.ts'
import { fieldOf, isIndexKey } from './field-index.ts'
import { deepFreeze } from './plain-json.ts'
import type { Queryable } from './postgres-connection.ts'
import { type Entry, idBytes, keyBytes } from './postgres-entries.ts'
import { questionOf } from './postgres-questions.ts'
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
  /** Whether its documents are asked about, as the database can answer. */
  readonly asked: boolean
}

/** What a read knows, of a collection as it is declared here and as it is in the database. */
export function known(spec: TableSpec, stored: TableSpec | undefined, now: number): Known {
  return {
    name: spec.name,
    expiry: spec.expires === undefined ? undefined : new Expiry(spec.expires),
    stored: covers(stored, spec) ? stored : undefined,
    now,
    asked: spec.ordered.length > 0,
  }
}

/** The document unless it has ended. */
export async function readDocument(on: Queryable, view: Known, id: string): Promise<Stored | undefined> {
  const text = 'SELECT body FROM assistant_core.document WHERE collection = $1 AND id = $2'
  const [row] = await on.rows({ name: 'get', text, values: [view.name, idBytes(id)] })
  return row && living(view, parsed(row[0]))
}

/** The documents that a query asks for. Where one statement can answer, they are of one moment. */
export async function readDocuments(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  if (view.asked) return await answer(on, view, query)
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
  if (view.asked) return await countAnswers(on, view, query)
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

/** So many documents are read at once where the database cannot answer all of a question. */
const pageLength = 500

async function answer(on: Queryable, view: Known, query: AnyQuery): Promise<Stored[]> {
  const { offset = 0, limit } = query
  const { where, orderBy, values, rest } = questionOf(view.name, asCondition(query))
  if (isAlways(rest)) {
    const all = [...values, limit === undefined ? null : Math.max(0, limit), Math.max(0, offset)]
    const page = `LIMIT $${all.length - 1} OFFSET $${all.length}`
    const text = `SELECT d.body FROM assistant_core.document d WHERE ${where} ORDER BY ${orderBy} ${page}`
    return (await on.rows({ text, values: all })).map(([body]) => parsed(body))
  }
  const found: Stored[] = []
  const end = limit === undefined ? Infinity : offset + limit
  for await (const page of filtered(on, view, query)) {
    found.push(...page)
    if (found.length >= end) break
  }
  return found.slice(offset, end)
}

async function countAnswers(on: Queryable, view: Known, query: AnyQuery): Promise<number> {
  const { where, values, rest } = questionOf(view.name, asCondition(query))
  if (isAlways(rest)) {
    const text = `SELECT count(*) FROM assistant_core.document d WHERE ${where}`
    const [row] = await on.rows({ text, values })
    return Number(row![0])
  }
  let count = 0
  for await (const page of filtered(on, view, { ...query, order: [] })) count += page.length
  return count
}

/** What the database finds in part, in pages of which the rest is asked here. */
async function* filtered(on: Queryable, view: Known, query: AnyQuery): AsyncGenerator<Stored[]> {
  const { order = [] } = query
  let { after } = query
  for (;;) {
    const asked = asCondition({ ...query, after })
    const { where, orderBy, values, rest } = questionOf(view.name, asked)
    const text = `SELECT d.body FROM assistant_core.document d WHERE ${where} ORDER BY ${orderBy} LIMIT ${pageLength}`
    const page = (await on.rows({ text, values })).map(([body]) => parsed(body))
    yield page.filter(testOf({ holds: rest }))
    const last = page.at(-1)
    if (!last || page.length < pageLength) return
    after = [...order.map(({ field }) => fieldOf(last, field)), last.id]
  }
}

/** The whole question as conditions. */
function asCondition(query: AnyQuery): AnyQuery {
  const { where = {}, holds = always } = query
  const fields = Object.entries(where).map(([field, value]) => compared(field, '=', value))
  return { ...query, where: {}, holds: all(...fields, holds) }
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
    wanted.ordered.length > 0 === stored.ordered.length > 0 &&
    wanted.expires === stored.expires
  )
}
