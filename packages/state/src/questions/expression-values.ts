/** Comparison and arithmetic of expressions and filters: total functions on JSON values, null for senseless operands. */
import { Decimal } from '#leaf/decimal.ts'

/** True for what counts as true in `and`, `or`, `not` and `if`: everything but null, false, 0 and the empty text. */
export function truthy(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false && value !== 0 && value !== ''
}

/**
 * Tells whether two values are equal in expressions and filters, and whether a value changed. Only
 * checkboxes are converted.
 */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if ((a === null || a === undefined) && (b === null || b === undefined)) return true
  // A checkbox is written 1 or true.
  if (typeof a === 'boolean' && typeof b === 'number') return Number(a) === b
  if (typeof b === 'boolean' && typeof a === 'number') return Number(b) === a
  return false
}

/** Compares two values: negative, zero or positive; undefined when they cannot be compared. */
export function compare(a: unknown, b: unknown): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a instanceof Decimal && b instanceof Decimal) return a.compare(b)
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'boolean') return compare(Number(a), b)
  return typeof b === 'boolean' ? compare(a, Number(b)) : undefined
}

/** Compares any two values for sorting: null first, then numbers, then texts. */
export function order(a: unknown, b: unknown): number {
  return compare(a, b) ?? rank(a) - rank(b)
}

/** True for a text that begins with a date; every month may have 31 days, the last of which may fall in the next month. */
export function isDate(value: unknown): value is string {
  return typeof value === 'string' && /^(?!0000)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])/.test(value)
}

/** The operator `in`: true for an element of a list, or a part of a text. */
export function contains(list: unknown, value: unknown): boolean {
  if (Array.isArray(list)) return list.some((item) => equal(item, value))
  return typeof list === 'string' && typeof value === 'string' && list.includes(value)
}

/**
 * Calculates with two numbers; null where an operand is not a number or the result is not finite, so
 * that NaN is never stored.
 */
export function numeric(a: unknown, b: unknown, calculate: (a: number, b: number) => number): number | null {
  if (typeof a !== 'number' || typeof b !== 'number') return null
  const result = calculate(a, b)
  return Number.isFinite(result) ? result : null
}

/**
 * The operator `+`: adds numbers, joins texts. A joined text is cut at 10,000 characters, so that no
 * expression grows without bound.
 */
export function add(a: unknown, b: unknown): unknown {
  if (typeof a === 'string' && typeof b === 'string') return (a + b).slice(0, 10_000)
  return numeric(a, b, (x, y) => x + y)
}

/** The operator `/`; division by zero gives null. */
export function divide(a: unknown, b: unknown): number | null {
  return numeric(a, b, (x, y) => (y === 0 ? NaN : x / y))
}

/** Rounds halves away from zero, as people do with money. */
export function roundTo(value: number, digits: number): number {
  const places = Math.max(0, Math.min(9, Math.trunc(digits)))
  // The point is shifted in decimal text: times 100, 1.005 would be 100.49999999999999.
  const scaled = Number(`${Math.abs(value)}e${places}`)
  if (!Number.isFinite(scaled)) return value
  // `|| 0` turns -0 into 0.
  return Math.sign(value) * Number(`${Math.round(scaled)}e-${places}`) || 0
}

/** Returns the rank of a value's kind in sorting; lower comes first. */
export function rank(value: unknown): number {
  if (value === null || value === undefined) return 0
  if (typeof value === 'boolean' || typeof value === 'number' || value instanceof Decimal) return 1
  return typeof value === 'string' ? 2 : 3
}
