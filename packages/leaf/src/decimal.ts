/**
 * Decimal numbers without loss. Money is stored as JSON numbers of at most 15 digits, which binary
 * fractions hold exactly; results computed from them do not fit any more, and stay decimal.
 */

/** `units` × 10^-`places`, such as 166008755 and 2 for 1660087.55; its JSON is a text (specification §4.5 rule 1). */
export class Decimal {
  readonly units: bigint
  readonly places: number

  constructor(units: bigint, places: number) {
    this.units = units
    this.places = places
  }

  /** Converts a finite number to the decimal it is written as: 0.1 is one tenth, whatever its binary fraction is. */
  static of(number: number): Decimal {
    const [digits = '', exponent = '0'] = String(number).split('e')
    const [whole = '', fraction = ''] = digits.split('.')
    const places = fraction.length - Number(exponent)
    const units = BigInt(whole + fraction)
    return places < 0 ? new Decimal(units * tenTo(-places), 0) : new Decimal(units, places)
  }

  /** Parses a text such as `-12.50`, keeping its last zeros; undefined for any other text. */
  static read(text: string): Decimal | undefined {
    const parts = /^(-?\d{1,400})(?:\.(\d{1,400}))?$/.exec(text)
    if (!parts) return undefined
    return new Decimal(BigInt(parts[1]! + (parts[2] ?? '')), parts[2]?.length ?? 0)
  }

  negated(): Decimal {
    return new Decimal(-this.units, this.places)
  }

  /** Rounds to so many places; halves go away from zero, as people do with money. */
  round(places: number): Decimal {
    if (places >= this.places) return new Decimal(this.units * tenTo(places - this.places), places)
    return new Decimal(divided(this.units, tenTo(this.places - places)), places)
  }

  /** Compares two decimals: negative, zero or positive. */
  compare(other: Decimal): number {
    const places = Math.max(this.places, other.places)
    const difference = this.round(places).units - other.round(places).units
    return difference < 0n ? -1 : difference > 0n ? 1 : 0
  }

  /** Returns the nearest number, for drawing or estimates only. */
  toNumber(): number {
    return Number(this.toString())
  }

  toString(): string {
    if (this.places === 0) return String(this.units)
    const digits = String(this.units < 0n ? -this.units : this.units).padStart(this.places + 1, '0')
    return `${this.units < 0n ? '-' : ''}${digits.slice(0, -this.places)}.${digits.slice(-this.places)}`
  }

  toJSON(): string {
    return this.toString()
  }
}

/** A sum of numbers, added as the decimals they are written as; no digit is lost, however many there are. */
export class DecimalSum {
  // Most amounts have few places and add up as whole units, which is ten times faster than big integers.
  #units = 0
  #rest = new Decimal(0n, 0)
  #count = 0

  add(value: number | Decimal): void {
    this.#count++
    const units = typeof value === 'number' ? Math.round(value * unitsOfOne) : NaN
    // The division gives the number back only when rounding lost nothing.
    if (Math.abs(units) <= mostUnits && units / unitsOfOne === value) {
      this.#units += units
      if (Math.abs(this.#units) > mostUnits) this.#carry()
    } else {
      const next = typeof value === 'number' ? Decimal.of(value) : value
      const places = Math.max(this.#rest.places, next.places)
      this.#rest = new Decimal(this.#rest.round(places).units + next.round(places).units, places)
    }
  }

  /** Returns the sum with so many places, rounded where it has more; without a number, with all places. */
  total(places?: number): Decimal {
    this.#carry()
    return places === undefined ? this.#rest : this.#rest.round(places)
  }

  /** Returns the average; undefined when nothing was added. */
  average(places: number): Decimal | undefined {
    if (this.#count === 0) return undefined
    this.#carry()
    const { units, places: had } = this.#rest.round(Math.max(places, this.#rest.places))
    return new Decimal(divided(units, BigInt(this.#count) * tenTo(had - places)), places)
  }

  #carry(): void {
    const places = Math.max(this.#rest.places, unitPlaces)
    const units = BigInt(this.#units) * tenTo(places - unitPlaces)
    this.#rest = new Decimal(this.#rest.round(places).units + units, places)
    this.#units = 0
  }
}

const unitPlaces = 4
const unitsOfOne = 10 ** unitPlaces
/** The largest sum of units: two numbers up to it add up to a whole number without loss. */
const mostUnits = 2 ** 52

function tenTo(power: number): bigint {
  return 10n ** BigInt(power)
}

/** Divides, rounding halves away from zero. */
function divided(units: bigint, by: bigint): bigint {
  const half = by / 2n
  return (units < 0n ? units - half : units + half) / by
}
