/**
 * The one language of questions about documents, as data: what the site's expressions, filters, permission rules
 * and workflow conditions become. A store may run a condition itself; what `evaluator` says is what it means.
 *
 * - Equal: two values of one kind that are the same; nothing equals nothing, whether missing or null; a check is
 *   1 or true. A number never equals a text.
 * - Before: numbers by size, texts by their UTF-16 units (so by code point but for characters beyond U+FFFF, and
 *   capitals before small letters); dates are texts that sort as the days do. Values of two kinds are in no
 *   order: no comparison of them holds. To sort, nothing comes first, then numbers, then texts, then the rest;
 *   documents that sort alike come by their id.
 * - Like: case does not count; `%` stands for anything and `_` for one UTF-16 unit.
 */
import {
  type Effort,
  functions,
  type Evaluate,
  primitives,
  type Scope,
  type Asker,
} from './expression-functions.ts'
import { truthy } from './expression-values.ts'
import type { WordQuestion } from './words.ts'

/** A value of the document, of whoever asks, or calculated from others. */
export type Term =
  | { readonly value: unknown }
  /** A field of the document; with a column, the list of what its rows hold there. */
  | { readonly field: string; readonly column?: string }
  | { readonly user: 'id' | 'full_name' | 'roles' }
  | { readonly call: string; readonly of: readonly Term[] }

/** A term that is asked whether it is true. */
export type Condition = Term

/** What documents are sorted by. */
export interface SortKey {
  readonly field: string
  readonly descending?: boolean
}

/** Holds of every document, and of none. */
export const always: Condition = { value: true }
export const never: Condition = { value: false }

/** A comparison of a field with a value: `=`, `!=`, `<`, `<=`, `>`, `>=`, `in` a list, `like` a pattern. */
export function compared(field: string, operator: string, value: unknown): Condition {
  return { call: operator, of: [{ field }, { value }] }
}

/** Holds of the documents that a search finds. */
export function hasWords(question: WordQuestion): Condition {
  return { call: 'has words', of: [{ value: question }] }
}

/** Holds when all do. */
export function all(...conditions: readonly Condition[]): Condition {
  if (conditions.some(isNever)) return never
  const parts = conditions.filter((one) => !isAlways(one))
  return parts.length === 0 ? always : parts.length === 1 ? parts[0]! : { call: 'and', of: parts }
}

/** Holds when one does. */
export function any(...conditions: readonly Condition[]): Condition {
  if (conditions.some(isAlways)) return always
  const parts = conditions.filter((one) => !isNever(one))
  return parts.length === 0 ? never : parts.length === 1 ? parts[0]! : { call: 'or', of: parts }
}

export function not(condition: Condition): Condition {
  return { call: 'not', of: [condition] }
}

/** What comes after a document in an order, whose ties go by id: the values that it sorts by, then its id. */
export function following(order: readonly SortKey[], after: readonly unknown[]): Condition {
  const keys: readonly SortKey[] = [...order, { field: 'id' }]
  return any(
    ...keys.map(({ field, descending = false }, index) =>
      all(
        ...keys.slice(0, index).map((key, at) => compared(key.field, 'sorts with', after[at])),
        compared(field, descending ? 'sorts before' : 'sorts after', after[index]),
      ),
    ),
  )
}

/** The term as it is for one who asks at one moment: only fields of the document are left open. */
export function bound(term: Term, scope: { readonly user: Asker; readonly now: number }): Term {
  if ('user' in term) return { value: evaluator(term)({ ...scope, doc: {} }) }
  if (!('call' in term)) return term
  const of = term.of.map((one) => bound(one, scope))
  const { call } = term
  if (call === 'has_role' && !('value' in of[0]!))
    return evaluator({ call, of: [{ value: '' }] })({ ...scope, doc: {} }) === true
      ? always
      : { call: 'shares', of: [of[0]!, { value: [...scope.user.roles] }] }
  if (of.every((one) => 'value' in one)) return { value: evaluator({ call, of })({ ...scope, doc: {} }) }
  if (call === 'and') return of.some(isNever) ? never : { call, of: of.filter((one) => !('value' in one)) }
  if (call === 'or')
    return of.some((one) => 'value' in one && !isNever(one))
      ? always
      : { call, of: of.filter((one) => !('value' in one)) }
  if (call === 'if' && 'value' in of[0]!) return truthy(of[0].value) ? of[1]! : of[2]!
  return { call, of }
}

/** Holds where the term is true, and not where it is something else that only counts as true. */
export function asserted(term: Term): Condition {
  return 'call' in term && truths.has(term.call) ? term : { call: 'is true', of: [term] }
}

const truths = new Set([
  'and',
  'or',
  'not',
  '=',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
  'like',
  'shares',
  'is true',
])

export function isAlways(term: Term): boolean {
  return 'value' in term && truthy(term.value)
}

export function isNever(term: Term): boolean {
  return 'value' in term && !truthy(term.value)
}

/** Makes a term into what computes it for a document. */
export function evaluator(term: Term): Evaluate {
  if ('value' in term) {
    const { value } = term
    return () => value
  }
  if ('user' in term) {
    if (term.user === 'roles') return ({ user }) => [...user.roles]
    return term.user === 'id' ? ({ user }) => user.id : ({ user }) => user.fullName
  }
  if ('field' in term) {
    const { field, column } = term
    if (column === undefined) return ({ doc }) => own(doc, field)
    return ({ doc }) => {
      const rows = own(doc, field)
      return Array.isArray(rows) ? rows.map((row: unknown) => own(row, column)) : null
    }
  }
  const known = primitives.get(term.call) ?? functions.get(term.call)!.build
  return known(term.of.map(evaluator))
}

/** Whether a condition that is bound holds of a document; whatever is not clearly true does not. */
export function tester(condition: Condition): (doc: object, effort?: Effort) => boolean {
  const evaluate = evaluator(condition)
  return (doc, effort) => evaluate({ user: nobody, now: 0, doc: doc as Scope['doc'], effort }) === true
}

const nobody = { id: '', fullName: '', roles: new Set<string>() }

/** The conditions that all must hold for this one to hold. */
export function conjuncts(condition: Condition): readonly Condition[] {
  if (isAlways(condition)) return []
  return 'call' in condition && condition.call === 'and' ? condition.of.flatMap(conjuncts) : [condition]
}

/** A comparison of one field with one value, the way round that the field comes first. */
export function comparison(
  condition: Condition,
): { readonly field: string; readonly operator: string; readonly value: unknown } | undefined {
  if (!('call' in condition) || condition.of.length !== 2) return undefined
  const [left, right] = condition.of as [Term, Term]
  if ('field' in left && left.column === undefined && 'value' in right)
    return { field: left.field, operator: condition.call, value: right.value }
  const turned = mirrored.get(condition.call)
  if (turned !== undefined && 'value' in left && 'field' in right && right.column === undefined)
    return { field: right.field, operator: turned, value: left.value }
  return undefined
}

const mirrored: ReadonlyMap<string, string> = new Map([
  ['=', '='],
  ['!=', '!='],
  ['<', '>'],
  ['<=', '>='],
  ['>', '<'],
  ['>=', '<='],
])

/** Own properties only: no name in the site's YAML may reach what JavaScript objects inherit. */
function own(from: unknown, key: string): unknown {
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, key)) return null
  return (from as Record<string, unknown>)[key] ?? null
}
