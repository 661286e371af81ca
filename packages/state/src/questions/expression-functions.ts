/** The functions and operators of expressions. */
import { isoTime } from '#leaf/clock.ts'
import { DecimalSum } from '#leaf/decimal.ts'
import { AppError } from '#leaf/errors.ts'
import { fold } from '#leaf/names.ts'
import {
  add,
  compare,
  contains,
  divide,
  equal,
  isDate,
  numeric,
  order,
  roundTo,
  truthy,
} from './expression-values.ts'
import { wildcard } from '#leaf/wildcard.ts'
import { scorer, type WordQuestion } from './words.ts'

/** The asking user, as expressions see them. */
export interface Asker {
  readonly id: string
  readonly fullName: string
  readonly roles: ReadonlySet<string>
  /** True when they count as having every role. */
  readonly hasEveryRole?: boolean
}

/** The scope that an expression is evaluated in. */
export interface Scope {
  readonly doc: Readonly<Record<string, unknown>>
  readonly user: Asker
  /** The present time, in milliseconds since the epoch. */
  readonly now: number
  /** The budget of work that one query has left. */
  readonly effort?: Effort
}

/** A compiled expression. It never throws: a senseless operation gives null. */
export type Evaluate = (scope: Scope) => unknown

/** The budget of work that one query has left; lists and patterns spend it. */
export interface Effort {
  left: number
}

/** Returns a full budget: enough for a pattern on a hundred million characters, which takes about a second. */
export function newEffort(): Effort {
  return { left: 200_000_000 }
}

interface Known {
  readonly least: number
  readonly most: number
  readonly usage: string
  readonly build: Build
}

const day = 86_400_000
const firstDay = Date.parse('0001-01-01')
const lastDay = Date.parse('9999-12-31')

type Build = (args: readonly Evaluate[]) => Evaluate

const binary =
  (calculate: (a: unknown, b: unknown) => unknown): Build =>
  ([a, b]) =>
  (scope) =>
    calculate(a!(scope), b!(scope))

/** The operators of conditions, beside the functions. Values that cannot be compared are in no order. */
export const primitives: ReadonlyMap<string, Build> = new Map<string, Build>([
  ['and', (parts) => (scope) => parts.every((part) => truthy(part(scope)))],
  ['or', (parts) => (scope) => parts.some((part) => truthy(part(scope)))],
  [
    'not',
    ([part]) =>
      (scope) =>
        !truthy(part!(scope)),
  ],
  [
    'is true',
    ([part]) =>
      (scope) =>
        part!(scope) === true,
  ],
  ['=', binary(equal)],
  ['!=', binary((a, b) => !equal(a, b))],
  ['<', binary((a, b) => (compare(a, b) ?? 0) < 0)],
  ['<=', binary((a, b) => (compare(a, b) ?? 1) <= 0)],
  ['>', binary((a, b) => (compare(a, b) ?? 0) > 0)],
  ['>=', binary((a, b) => (compare(a, b) ?? -1) >= 0)],
  ['sorts with', binary((a, b) => order(a, b) === 0)],
  ['sorts before', binary((a, b) => order(a, b) < 0)],
  ['sorts after', binary((a, b) => order(a, b) > 0)],
  [
    'in',
    ([value, list]) =>
      (scope) => {
        const among = list!(scope)
        if (Array.isArray(among)) spend(scope, among.length)
        return contains(among, value!(scope))
      },
  ],
  // True when two lists have a member in common; a text is a list of itself.
  ['shares', binary((a, b) => [a].flat().some((one) => typeof one === 'string' && contains(b, one)))],
  [
    'like',
    ([value, pattern]) =>
      (scope) =>
        like(pattern!(scope), value!(scope), scope),
  ],
  ['+', binary(add)],
  ['-', binary((a, b) => numeric(a, b, (x, y) => x - y))],
  ['*', binary((a, b) => numeric(a, b, (x, y) => x * y))],
  ['/', binary(divide)],
  ['%', binary((a, b) => numeric(a, b, (x, y) => (y === 0 ? NaN : x % y)))],
  [
    'has words',
    ([question]) => {
      const score = scorer(question!({} as Scope) as WordQuestion)
      return ({ doc }) => score(doc) > 0
    },
  ],
  [
    'folded',
    ([text]) =>
      (scope) => {
        const value = text!(scope)
        return typeof value === 'string' ? fold(value) : null
      },
  ],
  ['list', (items) => (scope) => items.map((item) => item(scope))],
])

function spend({ effort }: Scope, steps: number): void {
  if (!effort) return
  effort.left -= steps
  if (effort.left < 0)
    throw new AppError(
      'invalid',
      'filters: they take too long on so much; use fewer values, shorter patterns, or search_documents',
    )
}

/** Matches a pattern: `%` is anything, `_` one character; without `%` it may match anywhere. Ignores case. */
function like(pattern: unknown, actual: unknown, scope: Scope): boolean {
  if (typeof pattern !== 'string' || actual === null || actual === undefined) return false
  const text = (typeof actual === 'string' ? actual : JSON.stringify(actual)).toLowerCase()
  spend(scope, text.length * ((pattern.length >> 5) + 1))
  const wanted = pattern.toLowerCase()
  if (!wanted.includes('%') && !wanted.includes('_')) return text.includes(wanted)
  return wildcard(text, wanted.includes('%') ? wanted : `%${wanted}%`)
}

/** The functions by name. */
export const functions: ReadonlyMap<string, Known> = new Map<string, Known>([
  ['sum', list((numbers) => sumOf(numbers))],
  ['avg', list((numbers) => (numbers.length ? sumOf(numbers) / numbers.length : null))],
  ['min', extreme((order) => order < 0)],
  ['max', extreme((order) => order > 0)],
  ['count', plain(1, 1, ([value]) => (Array.isArray(value) ? value.length : value === null ? 0 : 1))],
  [
    'round',
    plain(1, 2, ([value, digits]) =>
      typeof value === 'number' ? roundTo(value, typeof digits === 'number' ? digits : 0) : null,
    ),
  ],
  ['abs', plain(1, 1, ([value]) => (typeof value === 'number' ? Math.abs(value) : null))],
  ['floor', plain(1, 1, ([value]) => (typeof value === 'number' ? Math.floor(value) : null))],
  ['ceil', plain(1, 1, ([value]) => (typeof value === 'number' ? Math.ceil(value) : null))],
  ['lower', plain(1, 1, ([value]) => (typeof value === 'string' ? value.toLowerCase() : null))],
  ['upper', plain(1, 1, ([value]) => (typeof value === 'string' ? value.toUpperCase() : null))],
  ['len', plain(1, 1, ([value]) => (typeof value === 'string' || Array.isArray(value) ? value.length : 0))],
  ['contains', texts((text, part) => text.toLowerCase().includes(part.toLowerCase()))],
  ['starts_with', texts((text, part) => text.startsWith(part))],
  ['ends_with', texts((text, part) => text.endsWith(part))],
  [
    'coalesce',
    plain(1, 10, (values) => values.find((value) => value !== null && value !== undefined) ?? null),
  ],
  ['year', plain(1, 1, ([value]) => datePart(value, 0, 4))],
  ['month', plain(1, 1, ([value]) => datePart(value, 5, 7))],
  ['days_between', plain(2, 2, ([from, to]) => daysBetween(from, to))],
  ['add_days', plain(2, 2, ([date, days]) => addDays(date, days))],
  [
    // Lazy: only the branch that is taken is evaluated.
    'if',
    {
      least: 3,
      most: 3,
      usage: 'a condition and two values',
      build:
        ([condition, then, otherwise]) =>
        (scope) =>
          truthy(condition!(scope)) ? then!(scope) : otherwise!(scope),
    },
  ],
  // Days are those of UTC, as all times of the program are.
  ['today', { least: 0, most: 0, usage: 'nothing', build: () => (scope) => isoTime(scope.now).slice(0, 10) }],
  ['now', { least: 0, most: 0, usage: 'nothing', build: () => (scope) => isoTime(scope.now) }],
  [
    'has_role',
    {
      least: 1,
      most: 1,
      usage: 'a role, or a field with a list of roles',
      build:
        ([role]) =>
        ({ user, ...scope }) => {
          const name = role!({ user, ...scope })
          return (
            user.hasEveryRole === true ||
            [name].flat().some((one) => typeof one === 'string' && user.roles.has(one))
          )
        },
    },
  ],
])

function plain(least: number, most: number, calculate: (values: unknown[]) => unknown): Known {
  const usage = least === most ? `${least} value${least === 1 ? '' : 's'}` : `${least} to ${most} values`
  return {
    least,
    most,
    usage,
    build: (args) => (scope) => calculate(args.map((arg) => arg(scope) ?? null)),
  }
}

function list(calculate: (numbers: number[]) => number | null): Known {
  return plain(1, 20, (values) => {
    const result = calculate(values.flat().filter((value): value is number => typeof value === 'number'))
    return result !== null && Number.isFinite(result) ? result : null
  })
}

/** Adds as decimals: a total of amounts has no tail of binary fractions. */
function sumOf(numbers: readonly number[]): number {
  const sum = new DecimalSum()
  for (const number of numbers) sum.add(number)
  return sum.total().toNumber()
}

function extreme(better: (order: number) => boolean): Known {
  return plain(1, 20, (values) => {
    let best: unknown = null
    for (const value of values.flat()) {
      if (value === null || value === undefined) continue
      if (best === null || better(compare(value, best) ?? 0)) best = value
    }
    return best
  })
}

function texts(calculate: (text: string, part: string) => boolean): Known {
  return plain(
    2,
    2,
    ([text, part]) => typeof text === 'string' && typeof part === 'string' && calculate(text, part),
  )
}

function datePart(value: unknown, from: number, to: number): number | null {
  return isDate(value) ? Number(value.slice(from, to)) : null
}

function daysBetween(from: unknown, to: unknown): number | null {
  const [a, b] = [dateOf(from), dateOf(to)]
  return a === null || b === null ? null : Math.round((b - a) / day)
}

function addDays(date: unknown, days: unknown): string | null {
  const start = dateOf(date)
  if (start === null || typeof days !== 'number') return null
  const end = start + Math.trunc(days) * day
  // A date beyond the year 9999 is not written as others are.
  return end >= firstDay && end <= lastDay ? isoTime(end).slice(0, 10) : null
}

function dateOf(value: unknown): number | null {
  return isDate(value) ? Date.parse(`${value.slice(0, 10)}T00:00:00Z`) : null
}
