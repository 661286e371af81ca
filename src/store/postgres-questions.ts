/**
 * Questions as SQL: what conditions and orders say, over the column `data` of the documents that are asked about.
 * What has no words here is left over, for `testOf` to ask of a stream of documents.
 */
import {
  all,
  type Condition,
  comparison,
  conjuncts,
  following,
  isAlways,
  isNever,
  not,
  type SortKey,
  type Term,
} from '../core/conditions.ts'
import { idBytes } from './postgres-entries.ts'
import type { AnyQuery } from './select.ts'

/** A question in two parts: a text for `WHERE` with its values, and what the database cannot be asked. */
export interface SqlQuestion {
  readonly where: string
  readonly orderBy: string
  readonly values: readonly unknown[]
  readonly rest: Condition
}

/** From so many characters on, places of texts do not tell them apart. */
const placeLength = 200

/** Puts a question about one collection into SQL. */
export function questionOf(collection: string, query: AnyQuery): SqlQuestion {
  const { holds, order = [], after } = query
  const values: unknown[] = []
  const texts = [`d.collection = ${quoted(collection)}`, 'd.data IS NOT NULL']
  const rest: Condition[] = []
  const words = new Words(values)
  for (const condition of holds ? conjuncts(holds) : []) {
    const bound = values.length
    const text = words.of(condition)
    if (text !== undefined) texts.push(text)
    else {
      rest.push(condition)
      // What was bound on the way to words that are missing is not sent.
      values.length = bound
    }
  }
  if (after) {
    const text = words.of(following(order, after))!
    const first = order[0]
    // What every later part of the answer has in common, as an index reads it.
    if (first && first.field !== 'id')
      texts.push(`${placeOf(first.field)} ${first.descending ? '<=' : '>='} ${words.place(after[0])}`)
    texts.push(text)
  }
  return { where: texts.join(' AND '), orderBy: orderOf(order), values, rest: all(...rest) }
}

/** The place of a field in an order, as the indexes hold it. */
function placeOf(field: string): string {
  return `assistant_core.place(d.data -> ${quoted(field)})`
}

/** Why a condition has to be asked of each document by itself; undefined when the database can be asked. */
export function residueOf(condition: Condition): string | undefined {
  const left = conjuncts(condition).filter((part) => new Words([]).of(part) === undefined)
  if (left.length === 0) return undefined
  const calls = new Set(left.flatMap(callsOf).filter((call) => /^[a-z_]{2,}$/.test(call) && !logic.has(call)))
  return calls.size === 0 ? 'of what it compares' : `of ${[...calls].map((call) => `${call}()`).join(', ')}`
}

const logic = new Set(['and', 'or', 'not', 'in', 'list', 'like', 'contains', 'starts_with', 'shares'])

function callsOf(term: Term): string[] {
  return 'call' in term ? [term.call, ...term.of.flatMap(callsOf)] : []
}

function orderOf(order: readonly SortKey[]): string {
  const keys = order.map(
    ({ field, descending }) => `${field === 'id' ? 'd.id' : placeOf(field)}${descending ? ' DESC' : ''}`,
  )
  return [...keys, 'd.id'].join(', ')
}

/** Conditions as texts that are true or false of a row, never unknown; undefined for what there are no words for. */
class Words {
  readonly #values: unknown[]

  constructor(values: unknown[]) {
    this.#values = values
  }

  of(condition: Condition): string | undefined {
    if (isAlways(condition)) return 'true'
    if (isNever(condition)) return 'false'
    if ('field' in condition)
      return condition.column === undefined
        ? `COALESCE(${field(condition.field)} NOT IN ('null', 'false', '0', '""'), false)`
        : undefined
    if (!('call' in condition)) return undefined
    const { call, of } = condition
    if (call === 'and' || call === 'or') {
      const parts = of.map((one) => this.of(one))
      return parts.includes(undefined) ? undefined : `(${parts.join(call === 'and' ? ' AND ' : ' OR ')})`
    }
    if (call === 'not') {
      const part = this.of(of[0]!)
      return part && `NOT ${part}`
    }
    if (call === 'is true')
      return 'field' in of[0]! ? this.of({ call: '=', of: [of[0], { value: true }] }) : undefined
    if (call === 'shares') return this.#shares(of[0]!, of[1]!)
    const compared = comparison(condition)
    if (compared) return this.#compared(compared)
    return call === 'in' ? this.#inRows(of[0]!, of[1]!) : undefined
  }

  /** A value's place in an order. */
  place(value: unknown): string {
    return `assistant_core.place(${this.#json(value ?? null)})`
  }

  #compared({
    field: name,
    operator,
    value,
  }: {
    readonly field: string
    readonly operator: string
    readonly value: unknown
  }): string | undefined {
    if (name === 'id') return this.#id(operator, value)
    switch (operator) {
      case '=':
        return this.#among(name, [value])
      case '!=':
        return this.of(not({ call: '=', of: [{ field: name }, { value }] }))
      case 'in':
        return Array.isArray(value) ? this.#among(name, value) : undefined
      case 'contains':
        return typeof value === 'string' && !/[%_]/.test(value)
          ? this.#text(name, this.#like(name, `%${value}%`))
          : undefined
      case 'starts_with':
        return typeof value === 'string'
          ? this.#text(name, `starts_with(${field(name)} #>> '{}', ${this.#value(stored(value))})`)
          : undefined
      case 'like':
        return this.#like(name, value)
      case 'sorts with':
        return `${placeOf(name)} = ${this.place(value)}`
      case 'sorts before':
        return `${placeOf(name)} < ${this.place(value)}`
      case 'sorts after':
        return `${placeOf(name)} > ${this.place(value)}`
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#range(name, operator, value)
      default:
        return undefined
    }
  }

  #among(name: string, wanted: readonly unknown[]): string | undefined {
    if (wanted.some((value) => typeof value === 'object' && value !== null)) return undefined
    const nothing = wanted.some((value) => value === null || value === undefined)
    // A check is 1 or true.
    const values = wanted
      .filter((value) => value !== null && value !== undefined)
      .flatMap((value) => {
        if (typeof value === 'boolean') return [value, Number(value)]
        return value === 0 || value === 1 ? [value, value === 1] : [value]
      })
    const texts = nothing ? [`${field(name)} IS NULL`, `${field(name)} = 'null'`] : []
    if (values.length === 1) texts.push(this.#same(name, values[0]))
    else if (values.length > 1) {
      const list = this.#value(values.map(jsonText))
      // By its place too, which may have an index.
      const places = `ARRAY(SELECT assistant_core.place(one::jsonb) FROM unnest(${list}::text[]) AS one)`
      const same = `${placeOf(name)} = ANY(${places}) AND ${field(name)} = ANY(${list}::text[]::jsonb[])`
      texts.push(`COALESCE(${same}, false)`)
    }
    return texts.length === 0 ? 'false' : `(${texts.join(' OR ')})`
  }

  #same(name: string, value: unknown): string {
    const json = this.#json(value)
    return `COALESCE(${placeOf(name)} = assistant_core.place(${json}) AND ${field(name)} = ${json}, false)`
  }

  #range(name: string, operator: string, value: unknown): string | undefined {
    const than = typeof value === 'boolean' ? Number(value) : value
    if (typeof than !== 'number' && typeof than !== 'string') return 'false'
    if (typeof than === 'string' && than.length >= placeLength) return undefined
    // Only values of one kind are before or after each other.
    const [least, most] = typeof than === 'number' ? ['01', '02'] : ['02', '03']
    const kind = operator.startsWith('<') ? `>= '\\x${least}'` : `< '\\x${most}'`
    return `(${placeOf(name)} ${operator} ${this.place(than)} AND ${placeOf(name)} ${kind})`
  }

  #text(name: string, holds: string | undefined): string | undefined {
    return holds && `COALESCE(jsonb_typeof(${field(name)}) = 'string' AND ${holds}, false)`
  }

  #like(name: string, pattern: unknown): string | undefined {
    // `_` stands for one UTF-16 unit, which the database does not know.
    if (typeof pattern !== 'string' || pattern.includes('_')) return undefined
    const wanted = pattern.toLowerCase()
    const text = this.#value(stored(wanted.includes('%') ? wanted : `%${wanted}%`))
    const kind = `jsonb_typeof(${field(name)}) IN ('string', 'number', 'boolean')`
    const lower = `lower((${field(name)} #>> '{}') COLLATE "und-x-icu") COLLATE "C"`
    return `COALESCE(${kind} AND ${lower} LIKE ${text} ESCAPE '', false)`
  }

  /** Ids have an order of their own, and stand in a column of their own. */
  #id(operator: string, value: unknown): string | undefined {
    if (operator === 'like') return this.#like('id', value)
    if (operator === 'in')
      return Array.isArray(value)
        ? `d.id = ANY(${this.#value(value.filter((one) => typeof one === 'string').map((one) => idBytes(one)))}::bytea[])`
        : undefined
    if (typeof value !== 'string')
      return operator === '!=' ? 'true' : operator.startsWith('sorts') ? undefined : 'false'
    const sign =
      { 'sorts with': '=', 'sorts before': '<', 'sorts after': '>', '!=': '<>' }[operator] ?? operator
    return ['=', '<>', '<', '<=', '>', '>='].includes(sign)
      ? `d.id ${sign} ${this.#value(idBytes(value))}`
      : undefined
  }

  /** A text that stands in a list or in another text; or in a column of rows, as links in them are looked for. */
  #inRows(value: Term, rows: Term): string | undefined {
    if (!('value' in value) || typeof value.value !== 'string' || !('field' in rows)) return undefined
    if (rows.column === undefined)
      return `COALESCE(CASE jsonb_typeof(${field(rows.field)})
        WHEN 'array' THEN ${field(rows.field)} @> ${this.#json([value.value])}
        WHEN 'string' THEN strpos(${field(rows.field)} #>> '{}', ${this.#value(stored(value.value))}) > 0 END, false)`
    const row = this.#json([{ [rows.column]: value.value }])
    return `COALESCE(jsonb_typeof(${field(rows.field)}) = 'array' AND ${field(rows.field)} @> ${row}, false)`
  }

  /** A text, or a list of them in the field or in a column of its rows, of which one is wanted. */
  #shares(held: Term, wanted: Term): string | undefined {
    if (!('field' in held) || !('value' in wanted) || !Array.isArray(wanted.value)) return undefined
    const list = `${this.#value(wanted.value.map((one) => stored(String(one))))}::text[]`
    const { field: name, column } = held
    if (column === undefined)
      return `COALESCE(CASE jsonb_typeof(${field(name)}) WHEN 'array' THEN ${field(name)} ?| ${list}
        WHEN 'string' THEN ${field(name)} #>> '{}' = ANY(${list}) END, false)`
    const rows = `jsonb_array_elements(CASE jsonb_typeof(${field(name)}) WHEN 'array' THEN ${field(name)} ELSE '[]' END)`
    const one = `one -> ${quoted(column)}`
    return `EXISTS (SELECT 1 FROM ${rows} AS one WHERE jsonb_typeof(${one}) = 'string' AND (${one}) #>> '{}' = ANY(${list}))`
  }

  #json(value: unknown): string {
    return `${this.#value(jsonText(value))}::text::jsonb`
  }

  #value(value: unknown): string {
    this.#values.push(value)
    return `$${this.#values.length}`
  }
}

function jsonText(value: unknown): string {
  return stored(JSON.stringify(value))
}

/** A text as `assistant_core.data` holds it: U+0000 and half characters, which the database cannot, are U+FDD0. */
function stored(text: string): string {
  return text
    .replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\\ufdd0')
    .replaceAll('\0', '\ufdd0')
}

function field(name: string): string {
  return `(d.data -> ${quoted(name)})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
