/** How expressions and filters compare and calculate: total functions on JSON values, null for what makes no sense. */

export function truthy(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false && value !== 0 && value !== ''
}

export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if ((a === null || a === undefined) && (b === null || b === undefined)) return true
  // A check is written 1 or true.
  if (typeof a === 'boolean' && typeof b === 'number') return Number(a) === b
  if (typeof b === 'boolean' && typeof a === 'number') return Number(b) === a
  return false
}

/** Negative, zero or positive; undefined when the two cannot be compared. */
export function compare(a: unknown, b: unknown): number | undefined {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'boolean' || typeof b === 'boolean') {
    const [x, y] = [Number(a), Number(b)]
    return Number.isNaN(x) || Number.isNaN(y) ? undefined : x - y
  }
  return undefined
}

/** An order over all values for sorting: nothing first, then numbers, then texts. */
export function order(a: unknown, b: unknown): number {
  return compare(a, b) ?? rank(a) - rank(b)
}

export function contains(list: unknown, value: unknown): boolean {
  if (Array.isArray(list)) return list.some((item) => equal(item, value))
  return typeof list === 'string' && typeof value === 'string' && list.includes(value)
}

export function numeric(a: unknown, b: unknown, calculate: (a: number, b: number) => number): number | null {
  if (typeof a !== 'number' || typeof b !== 'number') return null
  const result = calculate(a, b)
  return Number.isFinite(result) ? result : null
}

export function add(a: unknown, b: unknown): unknown {
  if (typeof a === 'string' && typeof b === 'string') return (a + b).slice(0, 10_000)
  return numeric(a, b, (x, y) => x + y)
}

export function divide(a: unknown, b: unknown): number | null {
  return numeric(a, b, (x, y) => (y === 0 ? NaN : x / y))
}

/** Rounds halves away from zero, as people do with money. */
export function roundTo(value: number, digits: number): number {
  const places = Math.max(0, Math.min(9, Math.trunc(digits)))
  const scaled = Number(`${Math.abs(value)}e${places}`)
  if (!Number.isFinite(scaled)) return value
  // `|| 0` turns -0 into 0.
  return Math.sign(value) * Number(`${Math.round(scaled)}e-${places}`) || 0
}

function rank(value: unknown): number {
  if (value === null || value === undefined) return 0
  if (typeof value === 'boolean' || typeof value === 'number') return 1
  return typeof value === 'string' ? 2 : 3
}
