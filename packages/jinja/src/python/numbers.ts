/** Numbers read and written as Python reads and writes them. */
import { Fault } from '../limits.ts'
import { strip } from './text.ts'
import { Float, integer, isFloat, isInt, Tuple, type Value } from '../values.ts'

/** Digits beyond which Python refuses to convert between int and str. */
const MAX_DIGITS = 4300

// The point parts the digits: without one there is one way to read them, not one for each place between them.
const FLOAT_TEXT =
  /^[+-]?(?:(?:\d(?:_?\d)*)?(?:\.(?:\d(?:_?\d)*)?)?(?:e[+-]?\d(?:_?\d)*)?|inf(?:inity)?|nan)$/i
const HAS_DIGIT = /^[+-]?\.?\d/

/** The value of a float, or an int as one; an OverflowError when it is too large. */
export function floatOf(value: number | bigint | boolean | Float): number {
  if (typeof value === 'number') return value
  if (value instanceof Float) return value.value
  const number = Number(value)
  if (!Number.isFinite(number)) throw new Fault('OverflowError', 'int too large to convert to float')
  return number
}

/** A float printed as Python's repr prints it: shortest digits, exponents from 1e16 and below 1e-4. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const size = Math.abs(value)
  if (size < 1e-4 || size >= 1e16) {
    const [digits, exponent] = value.toExponential().split('e') as [string, string]
    const sign = exponent.startsWith('-') ? '-' : '+'
    return `${digits}e${sign}${exponent.slice(1).padStart(2, '0')}`
  }
  const text = String(value)
  return text.includes('.') ? text : `${text}.0`
}

/** An int in decimal; Python refuses above 4300 digits. */
export function intText(value: number | bigint): string {
  const text = String(value)
  if (text.length > MAX_DIGITS && text.replace('-', '').length > MAX_DIGITS) {
    throw new Fault('ValueError', `Exceeds the limit (${MAX_DIGITS} digits) for integer string conversion`)
  }
  return text
}

/** `float(text)`: undefined when it is no number. */
export function parseFloatText(text: string): number | undefined {
  const trimmed = strip(asciiDigits(text))
  if (!FLOAT_TEXT.test(trimmed)) return undefined
  const lower = trimmed.toLowerCase()
  if (lower.includes('n')) {
    if (lower.endsWith('nan')) return Number.NaN
    return lower.startsWith('-') ? -Infinity : Infinity
  }
  return HAS_DIGIT.test(trimmed) ? Number(lower.replaceAll('_', '')) : undefined
}

/** Python reads the decimal digits of every script. */
function asciiDigits(text: string): string {
  return /[^\x00-\x7f]/.test(text) ? text.replace(/\p{Nd}/gu, digitOf) : text
}

function digitOf(digit: string): string {
  // Digits stand in runs of ten from zero to nine; some runs follow each other directly.
  const code = digit.codePointAt(0)!
  let start = code
  while (/^\p{Nd}$/u.test(String.fromCodePoint(start - 1))) start--
  return String((code - start) % 10)
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'
const PREFIXES: Record<string, number> = { '0x': 16, '0o': 8, '0b': 2 }

/** `int(text, base)`: undefined when it is no such number. */
export function parseIntText(text: string, base: number): number | bigint | undefined {
  let body = strip(asciiDigits(text)).toLowerCase()
  if (base === 10 && /^\d{1,15}$/.test(body)) return Number(body)
  const negative = body.startsWith('-')
  if (negative || body.startsWith('+')) body = body.slice(1)
  const prefix = PREFIXES[body.slice(0, 2)]
  if (prefix !== undefined && (base === prefix || base === 0)) {
    base = prefix
    body = body.slice(2).replace(/^_/, '')
  } else if (base === 0) {
    if (/^0[0-9_]*[1-9]/.test(body)) return undefined
    base = 10
  }
  if (!/^[0-9a-z]+(?:_[0-9a-z]+)*$/.test(body)) return undefined
  body = body.replaceAll('_', '')
  for (const digit of body) if (DIGITS.indexOf(digit) >= base) return undefined
  // Python bounds only the bases that are not powers of two; a bound for all keeps the work small.
  if (body.length > MAX_DIGITS) return undefined
  let result = 0n
  if (base === 10) result = BigInt(body)
  else for (const digit of body) result = result * BigInt(base) + BigInt(DIGITS.indexOf(digit))
  return integer(negative ? -result : result)
}

/** `int(value)` of a number; an infinity or NaN has none. */
export function truncate(value: number | bigint | boolean | Float): number | bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  const number = value instanceof Float ? value.value : value
  if (Number.isNaN(number)) throw new Fault('ValueError', 'cannot convert float NaN to integer')
  if (!Number.isFinite(number)) throw new Fault('OverflowError', 'cannot convert float infinity to integer')
  const whole = Math.trunc(number)
  return Number.isSafeInteger(whole) ? whole + 0 : BigInt(whole)
}

/** Any whole number as a bigint. */
export function bigOf(value: number | bigint | boolean): bigint {
  return typeof value === 'bigint' ? value : BigInt(value)
}

/** How numbers compare: negative, zero or positive; NaN when they do not. Exact between int and float. */
export function compareNumbers(
  a: number | bigint | boolean | Float,
  b: number | bigint | boolean | Float,
): number {
  const left = a instanceof Float ? a.value : a
  const right = b instanceof Float ? b.value : b
  return left < right ? -1 : left > right ? 1 : left == right ? 0 : Number.NaN
}

/** `float(value)` of anything a template holds: undefined when it has none. */
export function toFloat(value: Value): number | undefined {
  if (isInt(value) || isFloat(value)) return floatOf(value)
  const text = typeof value === 'string' ? value : undefined
  return text === undefined ? undefined : parseFloatText(text)
}

/** A number as numerator and denominator, exactly; that of a float is a power of two. */
export function ratio(self: Value): Tuple {
  if (typeof self !== 'number' && typeof self !== 'object')
    return new Tuple([integer(bigOf(self as bigint)), 1])
  let number = floatOf(self as number)
  let power = 0n
  // Doubling moves the point of a binary fraction, exactly.
  while (!Number.isInteger(number) && Number.isFinite(number)) {
    number *= 2
    power++
  }
  if (!Number.isFinite(number)) throw new Fault('OverflowError', 'cannot convert Infinity to integer ratio')
  return new Tuple([integer(BigInt(number)), integer(1n << power)])
}
