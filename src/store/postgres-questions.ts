/**
 * Questions as SQL: what conditions and orders say, over the column `data` of the documents that are asked about.
 * What has no words here is left over, for `testOf` to ask of a stream of documents.
 */
import {
  all,
  always,
  type Condition,
  compared,
  conjuncts,
  following,
  not,
  type SortKey,
  type Term,
} from '../core/conditions.ts'
import { isIndexKey } from './field-index.ts'
import { keyBytes } from './postgres-entries.ts'
import type { Known } from './postgres-known.ts'
import { quoted, sortPlace } from './postgres-language.ts'
import { Words } from './postgres-words.ts'
import type { AnyQuery } from './select.ts'

/** A question in two parts: a statement with its values, and what the database cannot be asked. */
export interface SqlQuestion {
  /** The statement for what is selected, over groups where columns of them are given. */
  readonly from: (selected: string, groups?: readonly string[]) => string
  /** The same without regard to what it comes after. */
  readonly whole: (selected: string) => string
  readonly orderBy: string
  readonly values: readonly unknown[]
  readonly rest: Pick<AnyQuery, 'where' | 'holds'> | undefined
  /** Whether a plan that was made for other values will do, and is kept: where it is made for none, or no plan can be bad. */
  readonly keep: boolean
}

/** Puts a question about one collection into SQL. */
export function questionOf(view: Known, query: AnyQuery): SqlQuestion {
  const { order = [], after } = query
  const values: unknown[] = [view.name]
  const words = new Words(values)
  const { keys, tests } = divided(view, query)
  const source = view.asked ? 'assistant_core.document d' : lookedUp(keys, values)
  const texts = view.asked
    ? [`d.collection = ${quoted(view.name)}`, 'd.data IS NOT NULL']
    : ['d.collection = $1']
  if (view.asked) values.pop()
  const left: Record<string, unknown> = {}
  for (const [name, wanted] of tests) {
    const text = words.holding(name, wanted)
    if (text === undefined) left[name] = wanted
    else texts.push(text)
  }
  const rest: Condition[] = []
  for (const condition of conjuncts(all(query.holds ?? always, ending(view)))) {
    const bound = values.length
    const text = words.of(condition)
    if (text !== undefined) texts.push(withWhatItNames(text, values, bound))
    else {
      rest.push(condition)
      // What was bound on the way to words that are missing is not sent.
      values.length = bound
    }
  }
  if (view.stored?.expires !== undefined)
    texts.push(`(d.ends IS NULL OR d.ends >= $${values.push(view.now)})`)
  const start = `FROM ${source} WHERE ${texts.join(' AND ')}`
  if (after) {
    const first = order[0]
    // What every later part of the answer has in common, as an index reads it.
    if (first && first.field !== 'id')
      texts.push(`${sortPlace(first.field)} ${first.descending ? '<=' : '>='} ${words.place(after[0])}`)
    texts.push(words.of(following(order, after))!)
  }
  const where = `FROM ${source} WHERE ${texts.join(' AND ')}`
  const bare = !view.asked && tests.length === 0 && !query.holds && !after && order.length === 0
  const partial = rest.length > 0 || Object.keys(left).length > 0
  return {
    from: (selected, groups = []) =>
      `SELECT ${selected} ${where}${groups.length > 0 ? ` GROUP BY ${groups.join(', ')}` : ''}`,
    whole: (selected) => `SELECT ${selected} ${start}`,
    orderBy: orderOf(order),
    values,
    rest: partial ? { where: left, holds: all(...rest) } : undefined,
    keep: (bare && view.stored !== undefined) || view.small || values.length === 0,
  }
}

/** That a document has not ended, while the database does not know when it does. */
function ending({ expiry, stored, now }: Known): Condition {
  return expiry && !stored ? not(compared(expiry.field, '<', now)) : always
}

interface Key {
  readonly field: string
  readonly key: Buffer
}

/** What the entries answer, and what must be looked up in the documents. */
function divided(
  { stored, asked }: Known,
  { where = {} }: AnyQuery,
): { readonly keys: readonly Key[]; readonly tests: readonly (readonly [string, unknown])[] } {
  const keys: Key[] = []
  const tests: [string, unknown][] = []
  for (const [name, wanted] of Object.entries(where)) {
    if (!asked && isIndexKey(wanted) && stored?.indexes.includes(name))
      keys.push({ field: name, key: keyBytes(wanted) })
    else tests.push([name, wanted])
  }
  return { keys, tests }
}

/** Documents that are not asked about have no column of data; it is made for those that are found. */
const documents = `(SELECT collection, id, body, ends, assistant_core.data(body) AS data FROM assistant_core.document) d`

// Materialized: the entries are always read first. A planner that hopes to meet a match early would read documents instead.
function lookedUp(keys: readonly Key[], values: unknown[]): string {
  if (keys.length === 0) return documents
  const found = keys.map(
    ({ field: name, key }) =>
      `SELECT id FROM assistant_core.entry WHERE collection = $1 AND field = $${values.push(name)} AND key = $${values.push(key)}`,
  )
  return `(WITH found AS MATERIALIZED (${found.join(' INTERSECT ')}) SELECT id FROM found) AS found JOIN ${documents} ON d.id = found.id`
}

/**
 * A text, and of the values bound for it only those that it names: a comparison of what is never equal names neither side,
 * and the database could not tell the type of what nothing names.
 */
function withWhatItNames(text: string, values: unknown[], bound: number): string {
  const named = new Set([...text.matchAll(/\$(\d+)/g)].map(([, at]) => Number(at)).filter((at) => at > bound))
  if (named.size === values.length - bound) return text
  const kept = [...named].sort((a, b) => a - b)
  values.splice(bound, Infinity, ...kept.map((at) => values[at - 1]))
  return text.replace(/\$(\d+)/g, (all, at: string) => {
    const place = kept.indexOf(Number(at))
    return place === -1 ? all : `$${bound + place + 1}`
  })
}

/** Why a condition has to be asked of each document by itself; undefined when the database can be asked. */
export function residueOf(condition: Condition): string | undefined {
  const left = conjuncts(condition).filter((part) => new Words([]).of(part) === undefined)
  if (left.length === 0) return undefined
  const calls = new Set(left.flatMap(unspoken))
  return calls.size === 0 ? 'of what it compares' : `of ${[...calls].map((call) => `${call}()`).join(', ')}`
}

/** The functions in a condition that there are no words for. */
function unspoken(term: Term): string[] {
  if (!('call' in term)) return []
  const inside = term.of.flatMap(unspoken)
  const known = inside.length > 0 || new Words([]).of(term) !== undefined
  return known || !/^[a-z_]{2,}$/.test(term.call) ? inside : [term.call]
}

function orderOf(order: readonly SortKey[]): string {
  const keys = order.map(
    ({ field: name, descending }) =>
      `${name === 'id' ? 'd.id' : sortPlace(name)}${descending ? ' DESC' : ''}`,
  )
  return [...keys, 'd.id'].join(', ')
}
