/** Arithmetic and the other operators, as Python's kinds define them. */
import { Fault, type Run } from '../limits.ts'
import { escape, markupFormat } from './markup.ts'
import { floatPower } from './float-power.ts'
import { bigOf, floatOf } from './numbers.ts'
import { printf } from './printf.ts'
import {
  float,
  integer,
  isFloat,
  isInt,
  isNumber,
  Markup,
  Tuple,
  typeName,
  Undefined,
  type Float,
  type Value,
} from '../values.ts'

type Numeric = number | bigint | boolean | Float

/** The largest int a template may compute, in bits: far beyond what can be printed. */
const MAX_BITS = 65_536

/** `a + b`. */
export function add(run: Run, a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') return plus(a, b)
  if (typeof a === 'string' && typeof b === 'string') {
    run.text(a.length + b.length)
    return a + b
  }
  if (a instanceof Markup || b instanceof Markup) {
    const both =
      (a instanceof Markup || typeof a === 'string') && (b instanceof Markup || typeof b === 'string')
    if (both) {
      const text = escape(run, a).text + escape(run, b).text
      run.text(text.length)
      return new Markup(text)
    }
  }
  if (isNumber(a) && isNumber(b)) {
    if (isInt(a) && isInt(b)) return integer(bigOf(a) + bigOf(b))
    return float(floatOf(a) + floatOf(b))
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    run.items(a.length + b.length)
    return a.concat(b)
  }
  if (a instanceof Tuple && b instanceof Tuple) {
    run.items(a.items.length + b.items.length)
    return new Tuple(a.items.concat(b.items))
  }
  return unsupported('+', a, b)
}

/** The usual case: a bigint only where the sum leaves the safe integers. */
function plus(a: number, b: number): Value {
  const sum = a + b
  if (Number.isInteger(a) && Number.isInteger(b))
    return Number.isSafeInteger(sum) ? sum : BigInt(a) + BigInt(b)
  return float(sum)
}

/** `a - b`. */
export function subtract(_run: Run, a: Value, b: Value): Value {
  if (isNumber(a) && isNumber(b)) {
    if (isInt(a) && isInt(b)) {
      const difference = typeof a === 'number' && typeof b === 'number' ? a - b : Number.NaN
      return Number.isSafeInteger(difference) ? difference : integer(bigOf(a) - bigOf(b))
    }
    return float(floatOf(a) - floatOf(b))
  }
  return unsupported('-', a, b)
}

/** `a * b`: also repeats text, lists and tuples. */
export function multiply(run: Run, a: Value, b: Value): Value {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    if (!(Number.isInteger(a) && Number.isInteger(b))) return float(product)
    if (Number.isSafeInteger(product)) return product + 0
  }
  if (isNumber(a) && isNumber(b)) {
    if (isInt(a) && isInt(b)) {
      const product = typeof a === 'number' && typeof b === 'number' ? a * b : Number.NaN
      if (Number.isSafeInteger(product)) return product + 0
      return whole(run, bigOf(a), bigOf(b))
    }
    return float(floatOf(a) * floatOf(b))
  }
  if (isInt(b)) return repeat(run, a, b) ?? unsupported('*', a, b)
  if (isInt(a)) return repeat(run, b, a) ?? unsupported('*', a, b)
  if (isSequence(a) && !(b instanceof Undefined)) {
    throw new Fault('TypeError', `can't multiply sequence by non-int of type '${typeName(b)}'`)
  }
  return unsupported('*', a, b)
}

/** A product of ints of any size, bounded before it is made. */
function whole(run: Run, a: bigint, b: bigint): number | bigint {
  const bits = bitsOf(a) + bitsOf(b)
  if (bits > MAX_BITS) throw new Fault('LimitError', `an integer of more than ${MAX_BITS} bits is too large`)
  run.tick(bits >> 6)
  return integer(a * b)
}

/** How many bits a number has, to the next four. */
function bitsOf(value: bigint): number {
  return value.toString(16).length * 4
}

function isSequence(value: Value): boolean {
  return (
    typeof value === 'string' || value instanceof Markup || Array.isArray(value) || value instanceof Tuple
  )
}

function repeat(run: Run, value: Value, times: number | bigint | boolean): Value | undefined {
  const count = Math.max(0, Number(times))
  // Python asks first whether the count fits an index.
  if (Math.abs(Number(times)) >= 2 ** 63)
    throw new Fault('OverflowError', "cannot fit 'int' into an index-sized integer")
  if (typeof value === 'string') {
    run.text(value.length * count)
    return value === '' ? '' : value.repeat(count)
  }
  if (value instanceof Markup) {
    run.text(value.text.length * count)
    return new Markup(value.text === '' ? '' : value.text.repeat(count))
  }
  const items = Array.isArray(value) ? value : value instanceof Tuple ? value.items : undefined
  if (items === undefined) return undefined
  const result: Value[] = []
  if (items.length > 0) {
    run.items(items.length * count)
    for (let i = 0; i < count; i++) for (const item of items) result.push(item)
  }
  return Array.isArray(value) ? result : new Tuple(result)
}

/** `a / b`: always a float. */
export function divide(_run: Run, a: Value, b: Value): Value {
  if (!isNumber(a) || !isNumber(b)) return unsupported('/', a, b)
  if (typeof a === 'bigint' || typeof b === 'bigint') return divideBig(a, b)
  const divisor = floatOf(b)
  if (divisor === 0)
    throw new Fault('ZeroDivisionError', isInt(a) && isInt(b) ? 'division by zero' : 'float division by zero')
  return float(floatOf(a) / divisor)
}

/** Ints too large to be doubles first: Python divides them exactly and rounds once. */
function divideBig(a: Numeric, b: Numeric): Value {
  if (!isInt(a) || !isInt(b)) {
    const divisor = floatOf(b)
    if (divisor === 0) throw new Fault('ZeroDivisionError', 'float division by zero')
    return float(floatOf(a) / divisor)
  }
  const [top, bottom] = [bigOf(a), bigOf(b)]
  if (bottom === 0n) throw new Fault('ZeroDivisionError', 'division by zero')
  // Far more bits than a double keeps, so that the one rounding at the end is right.
  const shift = BigInt(Math.max(0, bitsOf(bottom) - bitsOf(top) + 128))
  const scaled = (top << shift) / bottom
  const result =
    shift > 1000n ? Number(scaled >> (shift - 1000n)) / 2 ** 1000 : Number(scaled) / 2 ** Number(shift)
  if (!Number.isFinite(result))
    throw new Fault('OverflowError', 'integer division result too large for a float')
  return float(result)
}

/** `a // b`: rounded down. */
export function floorDivide(_run: Run, a: Value, b: Value): Value {
  if (!isNumber(a) || !isNumber(b)) return unsupported('//', a, b)
  if (isInt(a) && isInt(b)) {
    if (typeof a === 'number' && typeof b === 'number' && b !== 0) {
      const result = (a - floorMod(a, b)) / b
      if (Number.isSafeInteger(result)) return result + 0
    }
    return integer(bigDivide(bigOf(a), bigOf(b)).quotient)
  }
  return float(floatDivide(floatOf(a), floatOf(b)).quotient)
}

/** `a % b`: takes the sign of b; formats when a is text. */
export function modulo(run: Run, a: Value, b: Value): Value {
  if (typeof a === 'string') return printf(run, a, b)
  if (a instanceof Markup) return markupFormat(run, a.text, b)
  if (!isNumber(a) || !isNumber(b)) return unsupported('%', a, b)
  if (isInt(a) && isInt(b)) {
    if (typeof a === 'number' && typeof b === 'number' && b !== 0) return floorMod(a, b)
    return integer(bigDivide(bigOf(a), bigOf(b), 'integer modulo by zero').remainder)
  }
  return float(floatDivide(floatOf(a), floatOf(b)).remainder)
}

/** The remainder with the sign of the divisor, as Python has it. */
function floorMod(a: number, b: number): number {
  const remainder = a % b
  // `+ 0` turns -0 into 0: an int has no sign there.
  return (remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder) + 0
}

function bigDivide(
  a: bigint,
  b: bigint,
  zero = 'integer division or modulo by zero',
): { quotient: bigint; remainder: bigint } {
  if (b === 0n) throw new Fault('ZeroDivisionError', zero)
  const quotient = a / b
  const remainder = a % b
  return remainder !== 0n && remainder < 0n !== b < 0n
    ? { quotient: quotient - 1n, remainder: remainder + b }
    : { quotient, remainder }
}

function floatDivide(a: number, b: number): { quotient: number; remainder: number } {
  if (b === 0) throw new Fault('ZeroDivisionError', 'float floor division by zero')
  let remainder = a % b
  let quotient = (a - remainder) / b
  if (remainder === 0) remainder = b < 0 ? -0 : 0
  else if (remainder < 0 !== b < 0) {
    remainder += b
    quotient -= 1
  }
  if (quotient === 0) return { quotient: a / b < 0 ? -0 : 0, remainder }
  const floor = Math.floor(quotient)
  return { quotient: quotient - floor > 0.5 ? floor + 1 : floor, remainder }
}

/** `a ** b`. */
export function power(run: Run, a: Value, b: Value): Value {
  if (!isNumber(a) || !isNumber(b)) return unsupported('** or pow()', a, b)
  if (isInt(a) && isInt(b) && Number(b) >= 0) {
    const [base, exponent] = [bigOf(a), bigOf(b)]
    if (base === 0n || base === 1n || exponent === 0n) return integer(base ** (exponent === 0n ? 0n : 1n))
    // From here on the size is bounded before it is computed: a short expression can name an enormous number.
    if (base === -1n) return exponent % 2n === 0n ? 1 : -1
    if (
      exponent * BigInt(bitsOf(base)) > BigInt(MAX_BITS * 4) ||
      Number(exponent) * Math.log2(Math.abs(Number(base))) > MAX_BITS
    ) {
      throw new Fault('LimitError', `an integer of more than ${MAX_BITS} bits is too large`)
    }
    run.tick(Number(exponent) >> 4)
    return integer(base ** exponent)
  }
  const [base, exponent] = [floatOf(a), floatOf(b)]
  if (base === 0 && exponent < 0) {
    throw new Fault('ZeroDivisionError', '0.0 cannot be raised to a negative power')
  }
  if (base < 0 && Number.isFinite(base) && Number.isFinite(exponent) && !Number.isInteger(exponent)) {
    throw new Fault(
      'ValueError',
      'a negative number to a fractional power is complex, which is not supported',
    )
  }
  // Python: 1 to any power is 1, where JavaScript says NaN.
  const result =
    base === 1 || (base === -1 && !Number.isFinite(exponent) && !Number.isNaN(exponent))
      ? 1
      : floatPower(base, exponent)
  if (!Number.isFinite(result) && Number.isFinite(base) && Number.isFinite(exponent)) {
    throw new Fault('OverflowError', 'Numerical result out of range')
  }
  return float(result)
}

/** `-a`. */
export function negate(a: Value): Value {
  if (typeof a === 'number') return a === 0 ? 0 : -a
  if (typeof a === 'bigint') return integer(-a)
  if (typeof a === 'boolean') return a ? -1 : 0
  if (isFloat(a)) return float(-floatOf(a))
  if (a instanceof Undefined) return a.fail()
  throw new Fault('TypeError', `bad operand type for unary -: '${typeName(a)}'`)
}

/** `+a`. */
export function positive(a: Value): Value {
  if (typeof a === 'boolean') return a ? 1 : 0
  if (isNumber(a)) return a
  if (a instanceof Undefined) return a.fail()
  throw new Fault('TypeError', `bad operand type for unary +: '${typeName(a)}'`)
}

function unsupported(operator: string, a: Value, b: Value): never {
  if (a instanceof Undefined) return a.fail()
  if (b instanceof Undefined) return b.fail()
  if (operator === '+' && isSequence(a)) {
    const kind = a instanceof Markup ? 'str' : typeName(a)
    throw new Fault('TypeError', `can only concatenate ${kind} (not "${typeName(b)}") to ${kind}`)
  }
  throw new Fault(
    'TypeError',
    `unsupported operand type(s) for ${operator}: '${typeName(a)}' and '${typeName(b)}'`,
  )
}
