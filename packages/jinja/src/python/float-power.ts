/**
 * `base ** exponent` of doubles, rounded as the C library that Python uses rounds: JavaScript's
 * own is often one unit off in the last place, which shows in compound interest and the like.
 */
import { exact } from './decimals.ts'

/** Exponents up to here are computed exactly: a few thousand bits. */
const MAX_EXACT_EXPONENT = 400
/** Binary places of the fixed-point numbers that logarithms are computed in. */
const PLACES = 200n
const ONE = 1n << PLACES

/** The power of two finite doubles. */
export function floatPower(base: number, exponent: number): number {
  const rough = base ** exponent
  const size = Math.abs(rough)
  // Zeros, infinities, and what is too near them to be scaled exactly.
  if (!(size > 1e-290 && size < 1e290) || size === 1) return rough
  const whole = Number.isInteger(exponent) && Math.abs(exponent) <= MAX_EXACT_EXPONENT
  const result = whole ? exactPower(Math.abs(base), exponent) : viaLogarithm(Math.abs(base), exponent)
  return rough < 0 ? -result : result
}

function exactPower(base: number, exponent: number): number {
  const { numerator, power } = exact(base)
  const count = Math.abs(exponent)
  const digits = numerator ** BigInt(count)
  if (exponent > 0) return rounded(digits, power * count)
  // The reciprocal, to far more places than a double has.
  const shift = digits.toString(2).length + 80
  return rounded(((1n << BigInt(shift)) / digits) | 1n, -power * count - shift)
}

/** digits × 2^scale as the nearest double. */
function rounded(digits: bigint, scale: number): number {
  // 64 bits and a mark for all that was cut off are enough: the conversion rounds half to even.
  const cut = Math.max(0, digits.toString(2).length - 64)
  const kept = digits >> BigInt(cut)
  const marked = kept << BigInt(cut) === digits ? kept : kept | 1n
  const power = scale + cut
  return Number(marked) * 2 ** Math.max(-1000, power) * 2 ** Math.min(0, power + 1000)
}

function viaLogarithm(base: number, exponent: number): number {
  const { numerator, power } = exact(base)
  const bits = numerator.toString(2).length
  const mantissa = (numerator << PLACES) >> BigInt(bits - 1)
  const logarithm = logOf(mantissa) + BigInt(power + bits - 1) * LOG_TWO
  const multiplier = exact(Math.abs(exponent))
  const product = shifted(logarithm * multiplier.numerator, multiplier.power)
  const total = exponent < 0 ? -product : product
  let twos = total / LOG_TWO
  if (total < 0n) twos -= 1n
  return rounded(expOf(total - twos * LOG_TWO) | 1n, Number(twos) - Number(PLACES))
}

function shifted(value: bigint, by: number): bigint {
  return by >= 0 ? value << BigInt(by) : value >> BigInt(-by)
}

/** The natural logarithm of a fixed-point number from 1 to 2, as twice an area tangent. */
function logOf(value: bigint): bigint {
  const ratio = ((value - ONE) << PLACES) / (value + ONE)
  const square = (ratio * ratio) >> PLACES
  let sum = 0n
  let term = ratio
  for (let divisor = 1n; term !== 0n; divisor += 2n) {
    sum += term / divisor
    term = (term * square) >> PLACES
  }
  return 2n * sum
}

/** The exponential of a fixed-point number from 0 to 1. */
function expOf(value: bigint): bigint {
  let sum = ONE
  let term = ONE
  for (let divisor = 1n; term !== 0n; divisor += 1n) {
    term = ((term * value) >> PLACES) / divisor
    sum += term
  }
  return sum
}

const LOG_TWO = logOf(2n * ONE)
