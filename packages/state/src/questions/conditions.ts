/**
 * The query language for documents, as data: the site's expressions, filters, permission rules and workflow
 * conditions are translated to it. A store may run a condition itself; `evaluator` defines what it means.
 *
 * - Equal: two values of one kind that are the same; null equals null or a missing value; a checkbox is
 *   1 or true. A number never equals a text.
 * - Before: numbers by size, texts by their UTF-16 units (so by code point except for characters beyond U+FFFF, and
 *   capitals before small letters); dates are texts that sort as the days do. Values of two kinds are in no
 *   order: no comparison of them holds. When sorting, null comes first, then numbers, then texts, then the rest;
 *   documents that tie come by their id.
 * - Like: ignores case; `%` stands for anything and `_` for one UTF-16 unit.
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

/** A value: a constant, one of the document or of the asker, or calculated from others. */
export type Term =
  | { readonly value: unknown }
  /** A field of the document; with a column, the list of its rows' values in that column. */
  | { readonly field: string; readonly column?: string }
  | { readonly user: 'id' | 'full_name' | 'roles' }
  | { readonly call: string; readonly of: readonly Term[] }

/** A term used for whether it is true. */
export type Condition = Term

/** A field that documents are sorted by. */
export interface SortKey {
  readonly field: string
  readonly descending?: boolean
}

/** Conditions that hold of every document, and of none. */
export const always: Condition = { value: true }
export const never: Condition = { value: false }

/** Compares a field with a value: `=`, `!=`, `<`, `<=`, `>`, `>=`, `in` a list, `like` a pattern. */
export function compared(field: string, operator: string, value: unknown): Condition {
  return { call: operator, of: [{ field }, { value }] }
}

/** A condition that holds of the documents that a search finds. */
export function hasWords(question: WordQuestion): Condition {
  return { call: 'has words', of: [{ value: question }] }
}

/** Joins conditions by AND: holds when all do. */
export function all(...conditions: readonly Condition[]): Condition {
  if (conditions.some(isNever)) return never
  const parts = conditions.filter((one) => !isAlways(one))
  return parts.length === 0 ? always : parts.length === 1 ? parts[0]! : { call: 'and', of: parts }
}

/** Joins conditions by OR: holds when one does. */
export function any(...conditions: readonly Condition[]): Condition {
  if (conditions.some(isAlways)) return always
  const parts = conditions.filter((one) => !isNever(one))
  return parts.length === 0 ? never : parts.length === 1 ? parts[0]! : { call: 'or', of: parts }
}

export function not(condition: Condition): Condition {
  return { call: 'not', of: [condition] }
}

/** A condition for the documents after a cursor: `after` has the values that a document sorts by, then its id (the tiebreak). */
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

/** Binds a term to one asker and one moment: only fields of the document are left open. */
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

/** A condition that holds where the term is true itself, not where it is another value that counts as true. */
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

/** Compiles a term to a function that computes it for a document. */
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

/** Compiles a bound condition to a test of a document; only a result of true passes. */
export function tester(condition: Condition): (doc: object, effort?: Effort) => boolean {
  const evaluate = evaluator(condition)
  return (doc, effort) => evaluate({ user: nobody, now: 0, doc: doc as Scope['doc'], effort }) === true
}

const nobody = { id: '', fullName: '', roles: new Set<string>() }

/** Splits a condition into its conjuncts: it holds when all of them do. */
export function conjuncts(condition: Condition): readonly Condition[] {
  if (isAlways(condition)) return []
  return 'call' in condition && condition.call === 'and' ? condition.of.flatMap(conjuncts) : [condition]
}

/** Reads a condition as a comparison of one field with one value, the field first; undefined when it is none. */
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

/** Reads an own property only: no name in the site's YAML may reach what JavaScript objects inherit. */
function own(from: unknown, key: string): unknown {
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, key)) return null
  return (from as Record<string, unknown>)[key] ?? null
}
