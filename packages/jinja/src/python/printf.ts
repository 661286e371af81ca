/** `'…' % values`: the printf-style formatting of Python strings. */
import { fixed, scientific } from './decimals.ts'
import { Fault, type Run } from '../limits.ts'
import { bigOf, floatOf, intText, toFloat, truncate } from './numbers.ts'
import { asciiRepr, repr, str } from './repr.ts'
import { chars, lengthOf } from './text.ts'
import {
  Dict,
  isFloat,
  isInt,
  isNumber,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from '../values.ts'

/** How a value becomes text for %s and %r: plainly, or escaped when the format is Markup. */
export interface Quoting {
  readonly str: (run: Run, value: Value) => string
  readonly repr: (run: Run, value: Value) => string
}

/** One conversion such as `%-8.2f`, taken apart. */
interface Conversion {
  readonly left: boolean
  /** What stands before a number that is not negative. */
  readonly plus: string
  readonly zero: boolean
  readonly alternate: boolean
  readonly width: number
  readonly precision: number | undefined
}

const plain: Quoting = { str, repr }

/** Flags, width, precision and type; C's length modifiers are read as Python reads them, and ignored. */
const CONVERSION = /([-+ 0#]*)(\*|\d*)(?:\.(\*|\d*))?[lhL]*(.)?/sy

/** Fills the conversions of a format from a tuple, a mapping or a single value. */
export function printf(run: Run, format: string, values: Value, quoting: Quoting = plain): string {
  // As in Python, only a tuple gives several values; a list is one.
  const args = values instanceof Tuple ? values.items : [values]
  let used = 0
  let at = 0
  run.reads(format.length)
  let out = ''

  function next(): Value {
    const value = args[used++]
    if (value === undefined) throw new Fault('TypeError', 'not enough arguments for format string')
    return value
  }
  /** A width or precision, which the values may give: `%*d`. */
  function number(text: string): number {
    if (text !== '*') return Number(text)
    const value = next()
    if (!isInt(value)) throw new Fault('TypeError', '* wants int')
    return Number(value)
  }

  for (let percent = format.indexOf('%'); percent >= 0; percent = format.indexOf('%', at)) {
    out += format.slice(at, percent)
    at = percent + 1
    let value: Value | undefined
    if (format[at] === '(') {
      const end = closing(format, at)
      value = valueOf(values, format.slice(at + 1, end))
      at = end + 1
    }
    CONVERSION.lastIndex = at
    const [all, flags, width, precision, type] = CONVERSION.exec(format)!
    at += all.length
    const size = number(width!)
    const digits = precision === undefined ? undefined : Math.max(0, number(precision))
    const how = conversionOf(flags!, size, digits)
    if (type === undefined) throw new Fault('ValueError', 'incomplete format')
    // Charged before anything is padded: `%1000000000d` is short to write.
    run.text(how.width)
    run.text(how.precision ?? 0)
    if (type === '%') {
      // With flags or a width it takes an argument, and then ignores it.
      if (at > percent + 2) next()
      out += '%'
      continue
    }
    out += convert(run, type, value === undefined ? next() : value, how, quoting)
    run.text(out.length)
  }
  // Only a mapping (here: anything subscriptable but text and tuples) may be left unused.
  if (used < args.length && !isSubscriptable(values)) {
    throw new Fault('TypeError', 'not all arguments converted during string formatting')
  }
  return out + format.slice(at)
}

function conversionOf(flags: string, size: number, precision: number | undefined): Conversion {
  return {
    left: size < 0 || flags.includes('-'),
    plus: flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '',
    zero: flags.includes('0'),
    alternate: flags.includes('#'),
    width: Math.abs(size),
    precision,
  }
}

/** The value of a key in a mapping: `%(key)s`. */
function valueOf(values: Value, key: string): Value {
  if (values instanceof Undefined) values.fail()
  if (!(values instanceof Dict)) throw new Fault('TypeError', 'format requires a mapping')
  const value = values.get(key)
  if (value === undefined) throw new Fault('KeyError', key)
  return value
}

function isSubscriptable(value: Value): boolean {
  return value instanceof Dict || Array.isArray(value) || value instanceof Range || value instanceof Undefined
}

function closing(format: string, open: number): number {
  let depth = 0
  for (let i = open; i < format.length; i++) {
    if (format[i] === '(') depth++
    else if (format[i] === ')' && --depth === 0) return i
  }
  throw new Fault('ValueError', 'incomplete format key')
}

function convert(run: Run, type: string, value: Value, how: Conversion, quoting: Quoting): string {
  if ('diuxXo'.includes(type)) return wholeNumber(type, value, how)
  if ('eEfFgG'.includes(type)) return realNumber(type, value, how)
  if (type === 'c') return pad(character(value), how)
  const show = type === 's' ? quoting.str : type === 'r' ? quoting.repr : type === 'a' ? asciiRepr : undefined
  if (!show) throw new Fault('ValueError', `unsupported format character '${type}'`)
  return pad(cut(show(run, value), how), how)
}

function character(value: Value): string {
  if (isInt(value)) {
    const code = Number(value)
    if (code < 0 || code > 0x10ffff) throw new Fault('OverflowError', '%c arg not in range(0x110000)')
    return String.fromCodePoint(code)
  }
  const text = textOf(value)
  if (text === undefined || lengthOf(text) !== 1) throw new Fault('TypeError', '%c requires int or char')
  return text
}

function wholeNumber(type: string, value: Value, how: Conversion): string {
  if (value instanceof Undefined) return value.fail()
  // Of the styles of whole numbers only the decimal ones take a float, and cut it.
  const decimal = type === 'd' || type === 'i' || type === 'u'
  if (!(isInt(value) || (decimal && isFloat(value)))) {
    const wanted = decimal ? 'a real number' : 'an integer'
    throw new Fault('TypeError', `%${type} format: ${wanted} is required, not ${typeName(value)}`)
  }
  // Whole numbers go through bigint, whose digits are exact at any size.
  const number = bigOf(truncate(value))
  const size = number < 0n ? -number : number
  let digits = decimal ? intText(size) : size.toString(type === 'o' ? 8 : 16)
  if (how.precision !== undefined) digits = digits.padStart(how.precision, '0')
  let prefix = number < 0n ? '-' : how.plus
  if (how.alternate && !decimal) prefix += type === 'o' ? '0o' : '0x'
  const text = signed(prefix, digits, how)
  return type === 'X' ? text.toUpperCase() : text
}

function realNumber(type: string, value: Value, how: Conversion): string {
  if (value instanceof Undefined) return value.fail()
  const number = isNumber(value) ? floatOf(value) : undefined
  if (number === undefined) throw new Fault('TypeError', `must be real number, not ${typeName(value)}`)
  const kind = type.toLowerCase() as 'e' | 'f' | 'g'
  const digits = realDigits(Math.abs(number), kind, how.precision ?? 6, how.alternate)
  // A float has a sign of zero.
  const negative = number < 0 || Object.is(number, -0)
  const text = signed(negative ? '-' : how.plus, digits, how)
  return type === kind ? text : text.toUpperCase()
}

/** The digits of a size (no sign) in the styles e, f and g. */
export function realDigits(
  size: number,
  kind: 'e' | 'f' | 'g',
  precision: number,
  alternate: boolean,
  pointZero = false,
): string {
  if (!Number.isFinite(size)) return Number.isNaN(size) ? 'nan' : 'inf'
  if (kind === 'f') return fixed(size, precision) + (alternate && precision === 0 ? '.' : '')
  if (kind === 'e') return exponential(size, precision, alternate)
  const places = precision === 0 ? 1 : precision
  const { digits, exponent } = scientific(size, places - 1)
  // C's rule for `%g`: an exponent where plain digits would be long.
  if (exponent < -4 || exponent >= places - (pointZero ? 1 : 0)) {
    const mantissa = digits[0]! + trimZeros(`.${digits.slice(1)}`, alternate)
    return mantissa + exponentText(exponent)
  }
  const text = fixed(size, Math.max(0, places - 1 - exponent))
  const trimmed = text.includes('.') ? trimZeros(text, alternate) : alternate ? `${text}.` : text
  return pointZero && !trimmed.includes('.') ? `${trimmed}.0` : trimmed
}

function exponential(size: number, precision: number, alternate: boolean): string {
  const { digits, exponent } = scientific(size, precision)
  const rest = precision > 0 ? `.${digits.slice(1)}` : alternate ? '.' : ''
  return digits[0]! + rest + exponentText(exponent)
}

/** At least two digits, as C prints an exponent. */
function exponentText(exponent: number): string {
  return `e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

function trimZeros(text: string, keep: boolean): string {
  return keep ? text : text.replace(/0+$/, '').replace(/\.$/, '')
}

function signed(prefix: string, digits: string, how: Conversion): string {
  if (how.zero && !how.left) return prefix + digits.padStart(how.width - prefix.length, '0')
  return pad(prefix + digits, how)
}

/** A precision cuts text, by characters. */
function cut(text: string, how: Conversion): string {
  return how.precision === undefined ? text : chars(text).slice(0, how.precision).join('')
}

function pad(text: string, how: Conversion): string {
  const missing = how.width - lengthOf(text)
  if (missing <= 0) return text
  return how.left ? text + ' '.repeat(missing) : ' '.repeat(missing) + text
}

/** `float(value)` where Python's own conversion must succeed. */
export function needFloat(value: Value): number {
  const number = value instanceof Markup ? toFloat(value.text) : toFloat(value)
  if (number !== undefined) return number
  if (value instanceof Undefined) return value.fail()
  if (textOf(value) === undefined) {
    throw new Fault(
      'TypeError',
      `float() argument must be a string or a real number, not '${typeName(value)}'`,
    )
  }
  throw new Fault('ValueError', `could not convert string to float: '${textOf(value)}'`)
}
