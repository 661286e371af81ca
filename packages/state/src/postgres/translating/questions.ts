/**
 * Queries as SQL: conditions and sort orders are translated over the layout of the table that holds the documents.
 * What has no translation is left over, for `testOf` to test on a stream of documents.
 */
import {
  all,
  always,
  type Condition,
  compared,
  conjuncts,
  following,
  not,
  type Term,
} from '../../questions/conditions.ts'
import type { Known } from '../known.ts'
import { documentLayout } from './document-layout.ts'
import type { Layout } from './layout.ts'
import { Words } from './words.ts'
import type { AnyQuery } from '../../embedded/select.ts'

/** A query in two parts: a statement with its values, and the rest that the database cannot answer. */
export interface SqlQuestion {
  /** Returns the statement for the selected columns, grouped where group columns are given. */
  readonly from: (selected: string, groups?: readonly string[]) => string
  /** Returns the same statement without the cursor `after`. */
  readonly whole: (selected: string) => string
  readonly orderBy: string
  readonly values: readonly unknown[]
  readonly rest: Pick<AnyQuery, 'where' | 'holds'> | undefined
  /** True when the plan is kept for other values: where it depends on none, or no plan can be bad. */
  readonly keep: boolean
}

/** Translates a query of one collection to SQL. */
export function questionOf(view: Known, query: AnyQuery): SqlQuestion {
  const { order = [], after } = query
  const { layout } = view
  const values: unknown[] = []
  const words = new Words(values, layout)
  const texts = [...layout.base]
  const left: Record<string, unknown> = {}
  const tests = Object.entries(query.where ?? {})
  for (const [name, wanted] of tests) {
    const text = layout.holding(name, wanted, words.bind)
    if (text !== undefined) texts.push(text)
    if (text === undefined || (typeof wanted === 'string' && isUnclear.test(wanted))) left[name] = wanted
  }
  const rest: Condition[] = []
  for (const condition of conjuncts(all(query.holds ?? always, ending(view)))) {
    const bound = values.length
    const text = words.of(condition)
    if (text !== undefined) texts.push(withWhatItNames(text, values, bound))
    else {
      rest.push(condition)
      // Values bound for a translation that failed are not sent.
      values.length = bound
    }
  }
  const from = `FROM ${layout.from}`
  const start = whereOf(from, texts)
  if (after) {
    const [first] = order
    const beyond = first && layout.beyond(first, after[0], words.bind)
    if (beyond !== undefined) texts.push(beyond)
    texts.push(words.of(following(order, after))!)
  }
  const where = whereOf(from, texts)
  const bare =
    tests.every(([name]) => view.indexes.includes(name)) && !query.holds && !after && order.length === 0
  const partial = rest.length > 0 || Object.keys(left).length > 0
  return {
    from: (selected, groups = []) =>
      `SELECT ${selected} ${where}${groups.length > 0 ? ` GROUP BY ${groups.join(', ')}` : ''}`,
    whole: (selected) => `SELECT ${selected} ${start}`,
    orderBy: [...order.map((key) => layout.order(key)), layout.tie].join(', '),
    values,
    rest: partial ? { where: left, holds: all(...rest) } : undefined,
    keep: bare || view.small || values.length === 0,
  }
}

function whereOf(from: string, conditions: readonly string[]): string {
  return conditions.length > 0 ? `${from} WHERE ${conditions.join(' AND ')}` : from
}

/** A condition that a document has not expired. */
function ending({ expiry, now }: Known): Condition {
  return expiry ? not(compared(expiry.field, '<', now)) : always
}

/** Matches characters that the database cannot tell from others, see `assistant_core.data`. */
const isUnclear = /[\0\ud800-\udfff\ufdd0]/

/**
 * Drops the values that were bound for a text but are not named in it, and renumbers the others: a comparison that is
 * never true names neither side, and the database cannot tell the type of a value that nothing names.
 */
function withWhatItNames(text: string, values: unknown[], bound: number): string {
  if (values.length === bound) return text
  const named = new Set<number>()
  for (const [, at] of text.matchAll(places)) if (Number(at) > bound) named.add(Number(at))
  if (named.size === values.length - bound) return text
  const kept = [...named].sort((a, b) => a - b)
  values.splice(bound, Infinity, ...kept.map((at) => values[at - 1]))
  return text.replace(places, (all, at?: string) => {
    const place = kept.indexOf(Number(at))
    return place === -1 ? all : `$${bound + place + 1}`
  })
}

/** The places of values; names of columns, and texts, may have what looks like one. */
const places = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\$(\d+)/g

/** Returns why a condition has to be tested on each document by itself; undefined when the database can test it. */
export function residueOf(condition: Condition, layout = documentLayout('', [])): string | undefined {
  const left = conjuncts(condition).filter((part) => new Words([], layout).of(part) === undefined)
  if (left.length === 0) return undefined
  const calls = new Set(left.flatMap((part) => unspoken(part, layout)))
  return calls.size === 0 ? 'of what it compares' : `of ${[...calls].map((call) => `${call}()`).join(', ')}`
}

/** Returns the functions in a condition that have no translation. */
function unspoken(term: Term, layout: Layout): string[] {
  if (!('call' in term)) return []
  const inside = term.of.flatMap((one) => unspoken(one, layout))
  const known = inside.length > 0 || new Words([], layout).of(term) !== undefined
  return known || !/^[a-z_]{2,}$/.test(term.call) ? inside : [term.call]
}
