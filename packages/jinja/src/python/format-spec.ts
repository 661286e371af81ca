/** `format(value, spec)`: the format specifications of `str.format`. */
import { Fault, type Run } from '../limits.ts'
import { floatOf, floatText, intText } from './numbers.ts'
import { realDigits } from './printf.ts'
import { str } from './repr.ts'
import { center, chars, lengthOf } from './text.ts'
import { isFloat, isInt, textOf, typeName, type Float, type Value } from '../values.ts'

/** A specification taken apart: fill, align, sign, `z`, `#`, `0`, width, grouping, precision, type. */
interface Spec {
  fill: string
  align: string
  sign: string
  noNegativeZero: boolean
  alternate: boolean
  zero: boolean
  width: number
  grouping: string
  precision: number | undefined
  type: string
}

const SPEC = /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su

/** The value as text in the way the specification says. */
export function format(run: Run, value: Value, text: string): string {
  if (text === '') return str(run, value)
  const isText = textOf(value)
  if (isText === undefined && !isInt(value) && !isFloat(value)) {
    throw new Fault('TypeError', `unsupported format string passed to ${typeName(value)}.__format__`)
  }
  const spec = parse(text)
  run.text(spec.width)
  run.text(spec.precision ?? 0)
  if (isText !== undefined) return formatText(isText, spec)
  const number = value as number | bigint | boolean | Float
  if (isFloat(number)) return formatFloat(number, spec)
  // An int asked for in a style of floats becomes one.
  if (spec.type !== '' && 'eEfFgG%'.includes(spec.type)) return formatFloat(floatOf(number), spec)
  return formatInt(number, spec)
}

function parse(text: string): Spec {
  const match = SPEC.exec(text)
  if (!match) throw new Fault('ValueError', 'Invalid format specifier')
  const [, fill, align, sign, z, alternate, zero, width, grouping, precision, type] = match
  return {
    fill: fill ?? (zero && !align ? '0' : fill === undefined && zero ? '0' : ' '),
    align: align ?? '',
    sign: sign ?? '',
    noNegativeZero: z !== undefined,
    alternate: alternate !== undefined,
    zero: zero !== undefined,
    width: Number(width ?? 0),
    grouping: grouping ?? '',
    precision: precision === undefined ? undefined : Number(precision),
    type: type ?? '',
  }
}

function formatText(text: string, spec: Spec): string {
  if (spec.type !== '' && spec.type !== 's') unknown(spec.type, 'str')
  if (spec.sign !== '') throw new Fault('ValueError', 'Sign not allowed in string format specifier')
  if (spec.alternate)
    throw new Fault('ValueError', 'Alternate form (#) not allowed in string format specifier')
  if (spec.grouping !== '') throw new Fault('ValueError', `Cannot specify '${spec.grouping}' with 's'.`)
  if (spec.align === '=')
    throw new Fault('ValueError', "'=' alignment not allowed in string format specifier")
  const cut = spec.precision === undefined ? text : chars(text).slice(0, spec.precision).join('')
  return pad('', cut, spec, '<')
}

function formatInt(value: number | bigint | boolean, spec: Spec): string {
  if (spec.precision !== undefined) {
    throw new Fault('ValueError', 'Precision not allowed in integer format specifier')
  }
  if (spec.noNegativeZero)
    throw new Fault('ValueError', 'Negative zero coercion (z) not allowed in integer format specifier')
  const number = typeof value === 'boolean' ? (value ? 1 : 0) : value
  const negative = number < 0
  const size = negative ? -number : number
  let digits: string
  let prefix = ''
  let group = 3
  switch (spec.type) {
    case '':
    case 'd':
    case 'n':
      if (spec.type === 'n' && spec.grouping !== '') {
        throw new Fault('ValueError', `Cannot specify '${spec.grouping}' with 'n'.`)
      }
      digits = intText(size)
      break
    case 'b':
    case 'o':
    case 'x':
    case 'X':
      if (spec.grouping === ',') throw new Fault('ValueError', `Cannot specify ',' with '${spec.type}'.`)
      group = 4
      digits = size.toString(spec.type === 'b' ? 2 : spec.type === 'o' ? 8 : 16)
      if (spec.type === 'X') digits = digits.toUpperCase()
      if (spec.alternate) prefix = `0${spec.type}`
      break
    case 'c':
      return formatChar(number, spec)
    default:
      return unknown(spec.type, 'int')
  }
  return place(signOf(negative, spec) + prefix, digits, '', spec, group)
}

function formatChar(number: number | bigint, spec: Spec): string {
  if (spec.sign !== '') throw new Fault('ValueError', "Sign not allowed with integer format specifier 'c'")
  if (number < 0 || number > 0x10ffff) throw new Fault('OverflowError', '%c arg not in range(0x110000)')
  return pad('', String.fromCodePoint(Number(number)), spec, '<')
}

function formatFloat(value: number | Float, spec: Spec): string {
  const number = floatOf(value)
  const kind = spec.type.toLowerCase()
  let size = Math.abs(number)
  let tail = ''
  let digits: string
  if (kind === '' && spec.precision === undefined) digits = floatText(size)
  else if (kind === '') digits = realDigits(size, 'g', spec.precision!, spec.alternate, true)
  else if (kind === '%') {
    size *= 100
    digits = realDigits(size, 'f', spec.precision ?? 6, spec.alternate)
    tail = '%'
  } else if (kind === 'n') digits = realDigits(size, 'g', spec.precision ?? 6, spec.alternate)
  else if (kind === 'e' || kind === 'f' || kind === 'g') {
    digits = realDigits(size, kind, spec.precision ?? 6, spec.alternate)
  } else return unknown(spec.type, 'float')
  if (spec.type !== kind) digits = digits.toUpperCase()
  // `z` drops the sign of what rounds to zero, which only the digits tell.
  const zero = spec.noNegativeZero && !/[1-9a-z]/i.test(digits)
  const negative = (number < 0 || Object.is(number, -0)) && !zero
  const [, whole, rest] = /^(\d*)(.*)$/s.exec(digits)!
  return place(signOf(negative, spec), whole!, rest! + tail, spec, 3)
}

function unknown(type: string, kind: string): never {
  throw new Fault('ValueError', `Unknown format code '${type}' for object of type '${kind}'`)
}

function signOf(negative: boolean, spec: Spec): string {
  return negative ? '-' : spec.sign === '+' ? '+' : spec.sign === ' ' ? ' ' : ''
}

/** Puts sign, grouped digits and the rest together, padded. */
function place(prefix: string, digits: string, rest: string, spec: Spec, group: number): string {
  // With a grouping mark the padding zeros are grouped too, so they are added one by one below.
  const zeros = spec.fill === '0' && (spec.align === '=' || (spec.align === '' && spec.zero))
  let body = digits
  if (spec.grouping !== '' && digits !== '') {
    const room = zeros ? spec.width - prefix.length - rest.length : 0
    body = grouped(digits, spec.grouping, group)
    while (body.length < room) {
      digits = `0${digits}`
      body = grouped(digits, spec.grouping, group)
    }
  }
  if (spec.align === '=' || zeros) {
    const missing = spec.width - lengthOf(prefix + body + rest)
    return missing > 0 ? prefix + spec.fill.repeat(missing) + body + rest : prefix + body + rest
  }
  return pad(prefix, body + rest, spec, '>')
}

/** Digits with a mark between groups, counted from the right. */
function grouped(digits: string, mark: string, size: number): string {
  const parts: string[] = []
  for (let end = digits.length; end > 0; end -= size)
    parts.unshift(digits.slice(Math.max(0, end - size), end))
  return parts.join(mark)
}

function pad(prefix: string, body: string, spec: Spec, natural: string): string {
  const text = prefix + body
  const missing = spec.width - lengthOf(text)
  if (missing <= 0) return text
  const align = spec.align === '' ? natural : spec.align
  if (align === '<') return text + spec.fill.repeat(missing)
  if (align === '>') return spec.fill.repeat(missing) + text
  const left = Math.floor(missing / 2)
  return align === '^'
    ? spec.fill.repeat(left) + text + spec.fill.repeat(missing - left)
    : center(text, spec.width)
}
