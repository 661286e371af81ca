/** Translates conditions and their terms to SQL over one document, `d`; undefined for what has no translation. */
import type { Bind } from './dialect.ts'
import { type Condition, comparison, isAlways, isNever, not, type Term } from '../../questions/conditions.ts'
import type { WordQuestion } from '../../questions/words.ts'
import type { Compared, Layout } from './layout.ts'
import { type Calculated, calculations, check } from './terms.ts'

/** The longest SQL text of a condition; the database takes too long to parse a longer one. */
const longestText = 20_000
/** The most values of a list that are compared one by one. */
const mostAlternatives = 50

/** Translates conditions to SQL that is true or false of a row, never NULL; the values compared with are bound. */
export class Words {
  readonly #values: unknown[]
  readonly #layout: Layout
  readonly bind: Bind = (value) => `$${this.#values.push(value)}`

  constructor(values: unknown[], layout: Layout) {
    this.#values = values
    this.#layout = layout
  }

  of(condition: Condition): string | undefined {
    if (isAlways(condition)) return 'true'
    if (isNever(condition)) return 'false'
    const text = this.#condition(condition) ?? this.#term(condition)?.truth
    return text !== undefined && text.length <= longestText ? text : undefined
  }

  /** Translates a condition; one on a single field is put so that an index may answer it. */
  #condition(condition: Condition): string | undefined {
    const bound = this.#values.length
    const text = 'call' in condition ? this.#indexed(condition) : undefined
    // Values bound for a translation that failed are not sent.
    if (text === undefined) this.#values.length = bound
    return text
  }

  #indexed(condition: Extract<Condition, { readonly call: string }>): string | undefined {
    const { call, of } = condition
    if (call === 'and' || call === 'or') {
      // An OR with one part that no index can answer uses none.
      const read = call === 'or' && of.some(isDenial)
      const parts = of.map((one) => (read ? this.#unindexed(one) : undefined) ?? this.of(one))
      return parts.includes(undefined) ? undefined : `(${parts.join(call === 'and' ? ' AND ' : ' OR ')})`
    }
    if (call === 'not') {
      const part = this.#unindexed(of[0]!) ?? this.of(of[0]!)
      return part && `NOT ${part}`
    }
    if (call === 'has words')
      return this.#layout.hasWords((of[0] as { readonly value: WordQuestion }).value, this.bind)
    if (call === 'shares') return this.#shares(of[0]!, of[1]!)
    if (call === 'starts_with') return this.#begins(of[0]!, of[1]!)
    const one = comparison(condition)
    return (one && this.#compared(one)) ?? (call === 'in' ? this.#within(of[0]!, of[1]!) : undefined)
  }

  #unindexed(condition: Term): string | undefined {
    const one = comparison(condition)
    return one && this.#layout.unindexed(one, this.bind)
  }

  /** Translates any term. */
  #term(term: Term): Calculated | undefined {
    if ('value' in term) return this.#constant(term.value)
    if ('user' in term) return undefined
    if ('field' in term) return this.#layout.term(term.field, term.column)
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
    return terms.includes(undefined) ? undefined : calculate(terms as Calculated[], this.#layout.dialect)
  }

  #constant(value: unknown): Calculated | undefined {
    if (value === null || value === undefined) return { truth: 'false', nothing: 'true' }
    const truth = String(Boolean(value))
    const { dialect } = this.#layout
    switch (typeof value) {
      case 'number':
        return { number: dialect.constant(this.bind(value), 'float8'), truth, nothing: 'false' }
      case 'string': {
        const text = this.#layout.text(value)
        return text === undefined
          ? undefined
          : { text: dialect.text(dialect.constant(this.bind(text), 'text')), truth, nothing: 'false' }
      }
      case 'boolean':
        return check(truth)
      default:
        return undefined
    }
  }

  #compared(one: Compared): string | undefined {
    if (one.operator !== '!=') return this.#layout.compared(one, this.bind)
    return this.of(not({ call: '=', of: [{ field: one.field }, { value: one.value }] }))
  }

  /** SQL for: a text in lower case begins with a text. */
  #begins(text: Term, start: Term): string | undefined {
    const held = 'call' in text && text.call === 'lower' ? text.of[0]! : undefined
    if (!held || !('field' in held) || held.column !== undefined) return undefined
    return 'value' in start && typeof start.value === 'string'
      ? this.#layout.begins(held.field, start.value, this.bind)
      : undefined
  }

  /** SQL for: a text stands in a list, in another text, or in a column of rows (as links in them are looked for). */
  #within(value: Term, rows: Term): string | undefined {
    if (!('value' in value) || typeof value.value !== 'string' || !('field' in rows)) return undefined
    return this.#layout.within(rows.field, rows.column, value.value, this.bind)
  }

  /** SQL for: the text in a field, or one of the list in it or in a column of its rows, is among the wanted. */
  #shares(held: Term, wanted: Term): string | undefined {
    if (!('field' in held) || !('value' in wanted) || !Array.isArray(wanted.value)) return undefined
    return this.#layout.shares(held.field, held.column, wanted.value.map(String), this.bind)
  }
}

/** True for a negative condition, which nearly all documents may meet. */
function isDenial(term: Term): boolean {
  return 'call' in term && (term.call === 'not' || term.call === '!=')
}
