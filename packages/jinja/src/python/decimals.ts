/**
 * Decimal digits of a double, rounded correctly (half to even on the exact value) as Python's
 * `round`, `%.2f` and format specifications need them. JavaScript's own toFixed rounds exact
 * halves up, so those take the slow exact way.
 */

/** Digits after the point that JavaScript's toFixed can give. */
const NATIVE_DIGITS = 100

/** No double has more digits than this after the point; what follows is zeros. */
const MAX_PLACES = 1_100

/** A finite number with so many digits after the point. */
export function fixed(value: number, digits: number): string {
  if (digits > MAX_PLACES) return fixed(value, MAX_PLACES) + '0'.repeat(digits - MAX_PLACES)
  const size = Math.abs(value)
  if (size < 1e21 && digits <= NATIVE_DIGITS && !mayBeHalf(value, digits)) return value.toFixed(digits)
  const { numerator, power } = exact(size)
  const scaled = roundRatio(numerator * 10n ** BigInt(digits), power)
  const text = scaled.toString().padStart(digits + 1, '0')
  const whole = text.slice(0, text.length - digits)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  return sign + whole + (digits > 0 ? `.${text.slice(text.length - digits)}` : '')
}

/** A finite number in exponent form: its digits (`precision + 1` of them) and its exponent. */
export function scientific(value: number, precision: number): { digits: string; exponent: number } {
  if (precision > MAX_PLACES) {
    const { digits, exponent } = scientific(value, MAX_PLACES)
    return { digits: digits + '0'.repeat(precision - MAX_PLACES), exponent }
  }
  const size = Math.abs(value)
  if (size === 0) return { digits: '0'.repeat(precision + 1), exponent: 0 }
  const { numerator, power } = exact(size)
  let exponent = Number(size.toExponential(0).split('e')[1])
  // toExponential may have rounded 9.7 up to 1e1, so try the lower exponent first.
  if (10 ** exponent > size || exponent > 308) exponent--
  for (;;) {
    const shift = precision - exponent
    const ratio =
      shift >= 0
        ? roundRatio(numerator * 10n ** BigInt(shift), power)
        : roundQuotient(numerator, power, 10n ** BigInt(-shift))
    const digits = ratio.toString()
    if (digits.length === precision + 1) return { digits, exponent }
    exponent += digits.length > precision + 1 ? 1 : -1
  }
}

/** `round(value, digits)` of a finite double, where digits may be negative. */
export function roundFloat(value: number, digits: number): number {
  if (digits > 323 || value === 0) return value
  if (digits >= 0) return Number(fixed(value, digits))
  if (digits < -308) return value < 0 ? -0 : 0
  const unit = 10n ** BigInt(-digits)
  const { numerator, power } = exact(Math.abs(value))
  const rounded = Number(roundQuotient(numerator, power, unit) * unit)
  return value < 0 ? -rounded : rounded
}

/** `round(value, digits)` of an int with negative digits: to tens, hundreds, … half to even. */
export function roundInteger(value: bigint, digits: number): bigint {
  const unit = 10n ** BigInt(-digits)
  const size = value < 0n ? -value : value
  const quotient = size / unit
  const twice = (size % unit) * 2n
  const up = twice > unit || (twice === unit && quotient % 2n === 1n)
  const rounded = (quotient + (up ? 1n : 0n)) * unit
  return value < 0n ? -rounded : rounded
}

/** A half needs exactly digits + 1 binary places, so only such a value can be one. */
function mayBeHalf(value: number, digits: number): boolean {
  return digits < 60 && Number.isInteger(value * 2 ** (digits + 1))
}

/** A positive double as numerator × 2^power. */
export function exact(size: number): { numerator: bigint; power: number } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, size)
  const bits = view.getBigUint64(0)
  const biased = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & 0xfffffffffffffn
  return biased === 0
    ? { numerator: fraction, power: -1074 }
    : { numerator: fraction | 0x10000000000000n, power: biased - 1075 }
}

/** numerator × 2^power, rounded half to even. */
function roundRatio(numerator: bigint, power: number): bigint {
  if (power >= 0) return numerator << BigInt(power)
  return divideHalfEven(numerator, 1n << BigInt(-power))
}

/** numerator × 2^power / divisor, rounded half to even. */
function roundQuotient(numerator: bigint, power: number, divisor: bigint): bigint {
  return power >= 0
    ? divideHalfEven(numerator << BigInt(power), divisor)
    : divideHalfEven(numerator, divisor << BigInt(-power))
}

function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator
  const twice = (numerator % denominator) * 2n
  return twice > denominator || (twice === denominator && quotient % 2n === 1n) ? quotient + 1n : quotient
}

/** A float by its bits: `0x1.8000000000000p+0`. */
export function hexOf(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value < 0 ? '-inf' : 'inf'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (value === 0) return `${sign}0x0.0p+0`
  const bits = new DataView(new Float64Array([value]).buffer).getBigUint64(0, true)
  const stored = Number((bits >> 52n) & 0x7ffn)
  // Numbers next to zero have no leading one.
  const power = stored === 0 ? -1022 : stored - 1023
  const fraction = (bits & 0xfffffffffffffn).toString(16).padStart(13, '0')
  return `${sign}0x${stored === 0 ? 0 : 1}.${fraction}p${power < 0 ? '-' : '+'}${Math.abs(power)}`
}
