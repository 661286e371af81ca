/** Conditions and what they calculate as SQL over one document, `d`; undefined for what there are no words for. */
import { type Condition, comparison, isAlways, isNever, not, type Term } from '../core/conditions.ts'
import type { WordQuestion } from '../core/words.ts'
import { idBytes } from './postgres-entries.ts'
import {
  field,
  quoted,
  smallText,
  sortPlace,
  placeBytes,
  storedJson,
  storedText,
} from './postgres-language.ts'
import { nearWord, sameWord } from './postgres-tsquery.ts'
import { type Calculated, calculations, check, columnValue, fieldValue } from './postgres-terms.ts'

/** From so many characters on, places of texts do not tell them apart. */
const placeLength = 200
/** What is longer takes the database too long to read. */
const longestText = 20_000
/** More values than this are looked for in a list of the database's own. */
const mostAlternatives = 50

/** How the places of values are compared. */
const places: ReadonlyMap<string, string> = new Map([
  ['sorts with', '='],
  ['sorts before', '<'],
  ['sorts after', '>'],
])

/** A text as a pattern that only itself is like. */
function literally(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** Conditions as texts that are true or false of a row, never unknown; what they compare with is bound. */
export class Words {
  readonly #values: unknown[]

  constructor(values: unknown[]) {
    this.#values = values
  }

  of(condition: Condition): string | undefined {
    if (isAlways(condition)) return 'true'
    if (isNever(condition)) return 'false'
    const text = this.#condition(condition) ?? this.#term(condition)?.truth
    return text !== undefined && text.length <= longestText ? text : undefined
  }

  /** A value's place in an order. */
  place(value: unknown): string {
    return this.#value(placeBytes(value))
  }

  /** That a field has a value or, as a list, holds it. */
  holding(name: string, wanted: unknown): string | undefined {
    if (wanted === null || wanted === undefined) return this.#among(name, [null])
    return typeof wanted === 'object' ? undefined : `COALESCE(${field(name)} @> ${this.#json(wanted)}, false)`
  }

  /** What is asked of one field is put so that an index may answer it. */
  #condition(condition: Condition): string | undefined {
    const bound = this.#values.length
    const text = 'call' in condition ? this.#indexed(condition) : undefined
    // What was bound on the way to words that are missing is not sent.
    if (text === undefined) this.#values.length = bound
    return text
  }

  #indexed(condition: Extract<Condition, { readonly call: string }>): string | undefined {
    const { call, of } = condition
    if (call === 'and' || call === 'or') {
      // Where one of them is no question for an index, none is.
      const read = call === 'or' && of.some(isDenial)
      const parts = of.map((one) => (read ? this.#unindexed(one) : undefined) ?? this.of(one))
      return parts.includes(undefined) ? undefined : `(${parts.join(call === 'and' ? ' AND ' : ' OR ')})`
    }
    if (call === 'not') {
      const part = this.#unindexed(of[0]!) ?? this.of(of[0]!)
      return part && `NOT ${part}`
    }
    if (call === 'has words') return this.#hasWords((of[0] as { readonly value: WordQuestion }).value)
    if (call === 'shares') return this.#shares(of[0]!, of[1]!)
    if (call === 'starts_with') return this.#begins(of[0]!, of[1]!)
    const one = comparison(condition)
    return (one && this.#compared(one)) ?? (call === 'in' ? this.#inRows(of[0]!, of[1]!) : undefined)
  }

  /** That a field holds one of some texts, where no index can help: to ask for the place of each takes ten times as long. */
  #unindexed(condition: Term): string | undefined {
    const { field: name, operator, value } = comparison(condition) ?? {}
    const wanted: unknown = operator === '=' ? [value] : operator === 'in' ? value : undefined
    if (name === undefined || name === 'id' || !Array.isArray(wanted)) return undefined
    if (!wanted.every((one) => typeof one === 'string' && isOnlyText.test(one))) return undefined
    const texts = wanted.map((one) => storedText(one as string))
    const [only] = texts
    const same = texts.length === 1 ? `${this.#value(only)}::text` : `ANY(${this.#value(texts)}::text[])`
    return `(d.data ->> ${quoted(name)} = ${same}) IS TRUE`
  }

  /** What a term comes to, whatever it is made of. */
  #term(term: Term): Calculated | undefined {
    if ('value' in term) return this.#constant(term.value)
    if ('user' in term) return undefined
    if ('field' in term)
      return term.column === undefined
        ? fieldValue(field(term.field))
        : columnValue(field(term.field), term.column)
    const { call, of } = term
    const condition = this.#condition(term)
    if (condition !== undefined) return check(condition)
    if (call === 'in') {
      const [value, list] = of as [Term, Term]
      const among =
        'value' in list && Array.isArray(list.value)
          ? list.value.map((one: unknown): Term => ({ value: one }))
          : 'call' in list && list.call === 'list'
            ? list.of
            : undefined
      if (!among) return this.#calculated('in', of)
      if (among.length > mostAlternatives) return undefined
      const parts = among.map((one) => this.#calculated('=', [value, one])?.truth)
      return parts.includes(undefined) ? undefined : check(`(${['false', ...parts].join(' OR ')})`)
    }
    return this.#calculated(call, of)
  }

  #calculated(call: string, of: readonly Term[]): Calculated | undefined {
    const calculate = calculations.get(call)
    if (!calculate) return undefined
    const terms = of.map((one) => this.#term(one))
    return terms.includes(undefined) ? undefined : calculate(terms as Calculated[])
  }

  #constant(value: unknown): Calculated | undefined {
    if (value === null || value === undefined) return { truth: 'false', nothing: 'true' }
    const truth = String(Boolean(value))
    switch (typeof value) {
      case 'number':
        return { number: `${this.#value(value)}::float8`, truth, nothing: 'false' }
      case 'string':
        return { text: `${this.#value(storedText(value))}::text COLLATE "C"`, truth, nothing: 'false' }
      case 'boolean':
        return check(truth)
      default:
        return undefined
    }
  }

  #compared({
    field: name,
    operator,
    value,
  }: NonNullable<ReturnType<typeof comparison>>): string | undefined {
    if (name === 'id') return this.#id(operator, value)
    if (operator === '=') return this.#among(name, [value])
    if (operator === '!=') return this.of(not({ call: '=', of: [{ field: name }, { value }] }))
    if (operator === 'in') return Array.isArray(value) ? this.#among(name, value) : undefined
    if (operator === 'contains') return this.#contains(name, value)
    if (operator === 'like') return this.#like(name, value)
    if (/^[<>]=?$/.test(operator)) return this.#range(name, operator, value)
    const sign = places.get(operator)
    return sign && `${sortPlace(name)} ${sign} ${this.place(value)}`
  }

  /** By the place, which an index may know: only of long texts and of lists it does not say all. */
  #among(name: string, wanted: readonly unknown[]): string | undefined {
    if (wanted.some((value) => typeof value === 'object' && value !== null)) return undefined
    if (wanted.length === 0) return 'false'
    const long = wanted.some((value) => typeof value === 'string' && value.length >= placeLength)
    if (wanted.length === 1 && !long) return `${sortPlace(name)} = ${this.place(wanted[0])}`
    const same = `${sortPlace(name)} = ANY(${this.#value(wanted.map(placeBytes))}::bytea[])`
    if (!long) return same
    const list = `${this.#value(wanted.map((value) => storedJson(value ?? null)))}::text[]`
    const whole = `jsonb_typeof(${field(name)}) = 'string' AND NOT ${field(name)} = ANY(${list}::jsonb[])`
    return `(${same} AND NOT COALESCE(${whole}, false))`
  }

  #range(name: string, operator: string, value: unknown): string | undefined {
    const than = typeof value === 'boolean' ? Number(value) : value
    if (typeof than !== 'number' && typeof than !== 'string') return 'false'
    if (typeof than === 'string' && than.length >= placeLength) return undefined
    // Only values of one kind are before or after each other.
    const [least, most] = typeof than === 'number' ? ['01', '02'] : ['02', '03']
    const kind = operator.startsWith('<') ? `>= '\\x${least}'` : `< '\\x${most}'`
    return `(${sortPlace(name)} ${operator} ${this.place(than)} AND ${sortPlace(name)} ${kind})`
  }

  #hasWords({ words, all, fields }: WordQuestion): string {
    const paths = fields.map(({ path }) => path)
    const parts = words.map((word) => `(${sameWord(word.word, paths)} | ${nearWord(word, paths)})`)
    const asked = `d.words @@ ${this.#value(parts.join(all ? ' & ' : ' | '))}::tsquery`
    // Asked twice: the planner takes a word that it knows nothing of for a frequent one, and would read every document.
    return `(${asked} AND ${asked})`
  }

  #contains(name: string, part: unknown): string | undefined {
    return typeof part === 'string' ? this.#matches(name, `%${literally(part.toLowerCase())}%`) : undefined
  }

  /** That a text in small letters begins so. */
  #begins(text: Term, start: Term): string | undefined {
    const held = 'call' in text && text.call === 'lower' ? text.of[0]! : undefined
    if (!held || !('field' in held) || held.column !== undefined) return undefined
    return 'value' in start && typeof start.value === 'string'
      ? this.#matches(held.field, `${literally(start.value)}%`)
      : undefined
  }

  #like(name: string, pattern: unknown): string | undefined {
    // `_` stands for one UTF-16 unit, which the database does not know.
    if (typeof pattern !== 'string' || pattern.includes('_')) return undefined
    const wanted = pattern.toLowerCase().replaceAll('\\', '\\\\')
    const anywhere = wanted.includes('%') ? wanted : `%${wanted}%`
    return this.#matches(name, anywhere, ['string', 'number', 'boolean'])
  }

  /** That the text of a field of one of these kinds, in small letters, is like a pattern: as an index of trigrams reads it. */
  #matches(name: string, pattern: string, kinds: readonly string[] = ['string']): string {
    const kind = `COALESCE(jsonb_typeof(${field(name)}) IN (${kinds.map(quoted).join(', ')}), false)`
    return `(${smallText(name)} LIKE ${this.#value(storedText(pattern))} AND ${kind})`
  }

  /** Ids have an order of their own, and stand in a column of their own. */
  #id(operator: string, value: unknown): string | undefined {
    if (operator === 'like') return this.#like('id', value)
    if (operator === 'contains') return this.#contains('id', value)
    if (operator === 'in')
      return Array.isArray(value)
        ? `d.id = ANY(${this.#value(value.filter((one) => typeof one === 'string').map((one) => idBytes(one)))}::bytea[])`
        : undefined
    if (typeof value !== 'string')
      return operator === '!=' ? 'true' : operator.startsWith('sorts') ? undefined : 'false'
    const sign = operator === '!=' ? '<>' : (places.get(operator) ?? operator)
    return /^(?:=|<>|[<>]=?)$/.test(sign) ? `d.id ${sign} ${this.#value(idBytes(value))}` : undefined
  }

  /** A text that stands in a list or in another text; or in a column of rows, as links in them are looked for. */
  #inRows(value: Term, rows: Term): string | undefined {
    if (!('value' in value) || typeof value.value !== 'string' || !('field' in rows)) return undefined
    if (rows.column === undefined)
      return `COALESCE(CASE jsonb_typeof(${field(rows.field)})
        WHEN 'array' THEN ${field(rows.field)} @> ${this.#json([value.value])}
        WHEN 'string' THEN strpos(${field(rows.field)} #>> '{}', ${this.#value(storedText(value.value))}) > 0 END, false)`
    const row = this.#json([{ [rows.column]: value.value }])
    return `COALESCE(jsonb_typeof(${field(rows.field)}) = 'array' AND ${field(rows.field)} @> ${row}, false)`
  }

  /** A text, or a list of them in the field or in a column of its rows, of which one is wanted. */
  #shares(held: Term, wanted: Term): string | undefined {
    if (!('field' in held) || !('value' in wanted) || !Array.isArray(wanted.value)) return undefined
    const list = `${this.#value(wanted.value.map((one) => storedText(String(one))))}::text[]`
    const { field: name, column } = held
    if (column === undefined)
      return `COALESCE(CASE jsonb_typeof(${field(name)}) WHEN 'array' THEN ${field(name)} ?| ${list}
        WHEN 'string' THEN ${field(name)} #>> '{}' = ANY(${list}) END, false)`
    const rows = `jsonb_array_elements(CASE jsonb_typeof(${field(name)}) WHEN 'array' THEN ${field(name)} ELSE '[]' END)`
    const one = `one -> ${quoted(column)}`
    return `EXISTS (SELECT 1 FROM ${rows} AS one WHERE jsonb_typeof(${one}) = 'string' AND (${one}) #>> '{}' = ANY(${list}))`
  }

  #json(value: unknown): string {
    return `${this.#value(storedJson(value))}::text::jsonb`
  }

  #value(value: unknown): string {
    this.#values.push(value)
    return `$${this.#values.length}`
  }
}

/** What nothing else in JSON reads as. */
const isOnlyText = /^(?![-\d{[]|(?:true|false)$)/

/** That a field does not hold something, which nearly all documents may be. */
function isDenial(term: Term): boolean {
  return 'call' in term && (term.call === 'not' || term.call === '!=')
}
