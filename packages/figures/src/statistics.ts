/** Statistics: plain functions over columns of values. */
import { keyOfText } from '#state/questions.ts'

/** A column of a result: its name and its values, row by row. */
export interface Series {
  readonly name: string
  readonly values: readonly unknown[]
}

/** The summary of a column of numbers, with the names that data frames use; `std` is null for a single value. */
export type NumberSummary = NonNullable<ReturnType<typeof summaryOf>>

/** Returns the columns of rows. */
export function seriesOf(
  columns: readonly { readonly name: string }[],
  rows: readonly (readonly unknown[])[],
): Series[] {
  return columns.map(({ name }, index) => ({ name, values: rows.map((row) => row[index] ?? null) }))
}

/** Returns the finite numbers of a column. */
export function numbersOf(series: Series): number[] {
  return series.values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value))
}

/** True if a column holds numbers, empty values aside. */
export function isNumeric(series: Series): boolean {
  const present = series.values.filter((value) => value !== null)
  return present.length > 0 && present.every((value) => typeof value === 'number')
}

/** Returns count, mean, spread and quartiles; undefined without numbers. */
export function summaryOf(values: readonly number[]) {
  if (values.length === 0) return undefined
  const sorted = [...values].sort((a, b) => a - b)
  const variance = varianceOf(values)
  return {
    count: values.length,
    mean: rounded(mean(values)),
    std: variance === null ? null : rounded(Math.sqrt(variance)),
    min: sorted[0]!,
    '25%': rounded(quantile(sorted, 0.25)),
    '50%': rounded(quantile(sorted, 0.5)),
    '75%': rounded(quantile(sorted, 0.75)),
    max: sorted.at(-1)!,
  }
}

/** Returns variance, skewness and excess kurtosis of a sample, corrected for its size; each is null where the values are too few or too alike for it. */
export function shapeOf(values: readonly number[]) {
  const n = values.length
  const variance = varianceOf(values)
  const average = n > 0 ? mean(values) : 0
  const moment = (power: number): number => sum(values.map((value) => (value - average) ** power)) / n
  const m2 = n > 0 ? moment(2) : 0
  const skewness = n > 2 && m2 > 0 ? (Math.sqrt(n * (n - 1)) / (n - 2)) * (moment(3) / m2 ** 1.5) : null
  const kurtosis =
    n > 3 && m2 > 0 ? ((n - 1) / ((n - 2) * (n - 3))) * ((n + 1) * (moment(4) / m2 ** 2 - 3) + 6) : null
  return {
    variance: variance === null ? null : rounded(variance),
    skewness: skewness === null ? null : rounded(skewness),
    kurtosis: kurtosis === null ? null : rounded(kurtosis),
  }
}

/** Returns Pearson's r of each pair of columns over the rows where both have a number; null where it is undefined. */
export function correlations(columns: readonly Series[]): Record<string, Record<string, number | null>> {
  return Object.fromEntries(
    columns.map((a) => [a.name, Object.fromEntries(columns.map((b) => [b.name, correlation(a, b)]))]),
  )
}

/** Counts the occurrences of each value, most frequent first. */
export function valueCounts(series: Series, most: number): { value: unknown; count: number }[] {
  const counts = new Map<string, { value: unknown; count: number }>()
  for (const value of series.values) {
    if (value === null) continue
    const key = keyOfText(typeof value === 'string' ? value : JSON.stringify(value))
    const entry = counts.get(key)
    if (entry) entry.count += 1
    else counts.set(key, { value, count: 1 })
  }
  return [...counts.values()].sort((a, b) => b.count - a.count).slice(0, most)
}

/** Counts the different values, empty ones aside. */
export function distinctCount(series: Series): number {
  const present = series.values.filter((value) => value !== null)
  const keys = present.map((value) => (typeof value === 'object' ? JSON.stringify(value) : value))
  return new Set(keys.map((key) => (typeof key === 'string' ? keyOfText(key) : key))).size
}

/** Returns the average of at least one value. */
function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

/** Rounds to ten significant digits, six more than anyone reads, without tails of binary fractions. */
export function rounded(value: number): number {
  return Number(value.toPrecision(10))
}

/** Returns a share as a percentage with two digits. */
export function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100
}

function correlation(a: Series, b: Series): number | null {
  const pairs = a.values.flatMap((x, index) => {
    const y = b.values[index]
    return typeof x === 'number' && typeof y === 'number' ? [[x, y] as const] : []
  })
  if (pairs.length < 2) return null
  const [meanX, meanY] = [mean(pairs.map(([x]) => x)), mean(pairs.map(([, y]) => y))]
  const covariance = sum(pairs.map(([x, y]) => (x - meanX) * (y - meanY)))
  const spread = Math.sqrt(
    sum(pairs.map(([x]) => (x - meanX) ** 2)) * sum(pairs.map(([, y]) => (y - meanY) ** 2)),
  )
  return spread === 0 ? null : Math.round((covariance / spread) * 10_000) / 10_000
}

function varianceOf(values: readonly number[]): number | null {
  if (values.length < 2) return null
  const average = mean(values)
  return sum(values.map((value) => (value - average) ** 2)) / (values.length - 1)
}

/** Returns a quantile by linear interpolation between the neighbours, as spreadsheets and pandas do. */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share
  const low = sorted[Math.floor(at)]!
  return low + (sorted[Math.ceil(at)]! - low) * (at - Math.floor(at))
}

function sum(values: readonly number[]): number {
  // Kahan summation: amounts are added up in the thousands, and cents must not get lost.
  let total = 0
  let lost = 0
  for (const value of values) {
    const next = value - lost
    const grown = total + next
    lost = grown - total - next
    total = grown
  }
  return total
}
