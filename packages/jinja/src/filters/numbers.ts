/** Filters on numbers. */
import { native, type Native } from '../binding.ts'
import { fixed, roundFloat, roundInteger } from '../python/decimals.ts'
import { truth } from '../python/iterate.ts'
import { Fault, type Run } from '../limits.ts'
import { wantInt } from '../native-arguments.ts'
import { bigOf, floatOf, parseFloatText, parseIntText, truncate } from '../python/numbers.ts'
import { divide, multiply, power } from '../python/operators.ts'
import { needFloat } from '../python/printf.ts'
import {
  float,
  integer,
  isFloat,
  isInt,
  isNumber,
  textOf,
  typeName,
  Undefined,
  type Env,
  type Float,
  type Value,
} from '../values.ts'

/** Filters that calculate with a number or make one of a text. */
export const numberFilters: readonly [string, Native][] = [
  ['abs', native('/', (_env, value) => absolute(value))],
  [
    'int',
    native('default? base?', (_env, value, absent, base) =>
      toInt(value, absent === undefined ? 0 : absent, wantInt(base, 10)),
    ),
  ],
  [
    'float',
    native('default?', (_env, value, absent) => toFloat(value, absent === undefined ? float(0) : absent)),
  ],
  ['round', native('precision? method?', round)],
  ['filesizeformat', native('binary?', fileSize)],
]

function absolute(value: Value): Value {
  if (isFloat(value)) return float(Math.abs(floatOf(value)))
  if (isInt(value)) {
    const number = bigOf(value)
    return integer(number < 0n ? -number : number)
  }
  throw new Fault('TypeError', `bad operand type for abs(): '${typeName(value)}'`)
}

function toInt(value: Value, absent: Value, base: number): Value {
  if (value instanceof Undefined) return value.fail()
  const text = textOf(value)
  if (text !== undefined) {
    const whole = base === 0 || (base >= 2 && base <= 36) ? parseIntText(text, base) : undefined
    if (whole !== undefined) return whole
    const number = parseFloatText(text)
    return number === undefined || !Number.isFinite(number) ? absent : truncate(float(number))
  }
  if (!isNumber(value)) return absent
  // As in Jinja2, an infinity fails while NaN takes the default.
  return isFloat(value) && Number.isNaN(floatOf(value)) ? absent : truncate(value)
}

function toFloat(value: Value, absent: Value): Value {
  if (value instanceof Undefined) return value.fail()
  if (isNumber(value)) return float(floatOf(value))
  const text = textOf(value)
  const number = text === undefined ? undefined : parseFloatText(text)
  return number === undefined ? absent : float(number)
}

function round({ run }: Env, value: Value, precision?: Value, method?: Value): Value {
  const how = method === undefined ? 'common' : textOf(method)
  if (how !== 'common' && how !== 'ceil' && how !== 'floor') {
    throw new Fault('FilterArgumentError', 'method must be common, ceil or floor')
  }
  if (value instanceof Undefined) return value.fail()
  if (!isNumber(value))
    throw new Fault('TypeError', `type ${typeName(value)} doesn't define __round__ method`)
  if (how === 'common') return roundCommon(value, precision)
  return roundDirected(run, value, precision === undefined ? 0 : precision, how)
}

function roundCommon(value: number | bigint | boolean | Float, precision: Value | undefined): Value {
  const toWhole = precision === null
  const digits = toWhole ? 0 : wantInt(precision, 0)
  if (isInt(value)) return digits >= 0 ? integer(bigOf(value)) : roundWhole(bigOf(value), digits)
  const number = floatOf(value)
  if (!Number.isFinite(number)) return toWhole ? truncate(value) : float(number)
  const rounded = roundFloat(number, digits)
  if (!Number.isFinite(rounded)) throw new Fault('OverflowError', 'rounded value too large to represent')
  return toWhole ? truncate(float(rounded)) : float(rounded)
}

function roundWhole(value: bigint, digits: number): Value {
  return digits < -30_000 ? 0 : integer(roundInteger(value, digits))
}

/** Ceil and floor: scaled, rounded, and divided again, with all the error that brings. */
function roundDirected(run: Run, value: Value, precision: Value, how: 'ceil' | 'floor'): Value {
  const scale = power(run, 10, precision)
  const scaled = multiply(run, value, scale)
  if (!isNumber(scaled)) throw new Fault('TypeError', 'must be real number')
  const whole = isInt(scaled) ? scaled : truncate(float(Math[how](floatOf(scaled))))
  return divide(run, whole, scale)
}

const UNITS = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y']

function fileSize({ run }: Env, value: Value, binary?: Value): string {
  const bytes = needFloat(value)
  const base = binary !== undefined && truth(run, binary) ? 1024 : 1000
  if (bytes === 1) return '1 Byte'
  if (bytes < base) return `${truncate(float(bytes))} Bytes`
  if (Number.isNaN(bytes)) return `nan ${base === 1024 ? 'YiB' : 'YB'}`
  let index = 0
  // Against whole numbers, exactly: 1e24 is a little less than 1000⁸.
  while (index < UNITS.length - 1 && bytes >= BigInt(base) ** BigInt(index + 2)) index++
  const unit = UNITS[index]!
  const suffix = base === 1024 ? `${unit.toUpperCase()}iB` : `${unit}B`
  const amount = (base * bytes) / base ** (index + 2)
  return `${Number.isFinite(amount) ? fixed(amount, 1) : 'inf'} ${suffix}`
}
