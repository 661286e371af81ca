/** Runs the five analyses of `analyze_business_data` over the rows of one doctype. */
import { Decimal, DecimalSum } from '#leaf/decimal.ts'
import { AppError } from '#leaf/errors.ts'
import { unknownAmong } from '#leaf/names.ts'
import type { Column } from '#sandbox/tables.ts'
import type { SqlColumn, WholeResult } from './whole-result.ts'
import {
  correlations,
  distinctCount,
  isNumeric,
  numbersOf,
  percent,
  rounded,
  type Series,
  seriesOf,
  shapeOf,
  summaryOf,
  valueCounts,
} from './statistics.ts'

/** The kinds of analyses that the tool offers in its schema. */
export const businessAnalyses = ['profile', 'statistics', 'trends', 'quality', 'correlations'] as const
/** One kind of analysis, as a caller asks for it. */
export type BusinessAnalysis = (typeof businessAnalyses)[number]

/** The rows to analyse. */
export interface BusinessData {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly unknown[])[]
  /** The column with the time of each row, for trends. */
  readonly dateField: string
}

/** Returns the result of one analysis, with the keys that `analyze_business_data` answers. */
export function analyzeBusiness(
  kind: BusinessAnalysis,
  data: BusinessData,
): Readonly<Record<string, unknown>> {
  const all = seriesOf(data.columns, data.rows)
  return { profile, statistics, trends, quality, correlations: correlate }[kind](all, data)
}

function profile(all: readonly Series[], { columns, rows }: BusinessData): Record<string, unknown> {
  const fields = all.map((series, index) => {
    const present = series.values.filter((value) => value !== null)
    const nulls = series.values.length - present.length
    return [
      series.name,
      {
        type: columns[index]!.type,
        non_null: present.length,
        null: nulls,
        null_percent: percent(nulls, rows.length),
        unique: distinctCount(series),
        ...(isNumeric(series) ? numberProfile(series) : textProfile(present)),
      },
    ]
  })
  return {
    record_count: rows.length,
    field_count: columns.length,
    // The size as JSON, which the rows would take in an answer.
    memory_usage: Buffer.byteLength(JSON.stringify(rows)),
    fields: Object.fromEntries(fields),
  }
}

function numberProfile(series: Series): Record<string, unknown> {
  const summary = summaryOf(numbersOf(series))
  return summary
    ? { min: summary.min, max: summary.max, mean: summary.mean, median: summary['50%'], std: summary.std }
    : {}
}

function textProfile(present: readonly unknown[]): Record<string, unknown> {
  const lengths = present
    .filter((value): value is string => typeof value === 'string')
    .map((text) => text.length)
  const summary = summaryOf(lengths)
  return summary ? { avg_length: summary.mean, max_length: summary.max, min_length: summary.min } : {}
}

function statistics(all: readonly Series[]): Record<string, unknown> {
  const numeric = all.filter(isNumeric)
  if (numeric.length === 0) return { statistics: {}, message: 'no field of these rows holds numbers' }
  return {
    statistics: Object.fromEntries(
      numeric.map((series) => {
        const values = numbersOf(series)
        return [series.name, { ...summaryOf(values), ...shapeOf(values) }]
      }),
    ),
  }
}

function trends(all: readonly Series[], { columns, dateField }: BusinessData): Record<string, unknown> {
  const dates = all.find(({ name }) => name === dateField)
  if (!dates)
    throw new AppError(
      'invalid',
      `date_field: ${unknownAmong(
        'field',
        dateField,
        columns.filter(({ type }) => type === 'date' || type === 'datetime').map(({ name }) => name),
      )}`,
    )
  const days = dates.values.map((value) =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value) ? value.slice(0, 10) : null,
  )
  const known = days.filter((day): day is string => day !== null).sort()
  if (known.length === 0) return { message: `no row has a date in ${dateField}`, trends: {} }
  const [start, end] = [known[0]!, known.at(-1)!]
  const measures = [
    { name: 'record_count', values: days.map(() => 1) },
    ...all.filter((series) => series.name !== 'docstatus' && isNumeric(series)),
  ]
  const months = days.map((day) => day?.slice(0, 7) ?? null)
  return {
    date_field: dateField,
    date_range: {
      start,
      end,
      total_days: Math.round((Date.parse(end) - Date.parse(start)) / 86_400_000) + 1,
    },
    trends: Object.fromEntries(
      measures.map((series) => {
        const places = columns.find(({ name }) => name === series.name)?.places
        const byMonth = summed(months, series, places)
        return [
          series.name,
          {
            daily: trendOf(summed(days, series, places)),
            monthly: trendOf(byMonth),
            by_month: Object.fromEntries(byMonth),
          },
        ]
      }),
    ),
  }
}

function trendOf(points: readonly (readonly [string, number | Decimal])[]): Record<string, unknown> {
  const values = points.map(([, value]) => (value instanceof Decimal ? value.toNumber() : value))
  const [first = 0, last = 0] = [values[0], values.at(-1)]
  const { mean = null, max = null, min = null } = summaryOf(values) ?? {}
  return {
    points: values.length,
    average: mean,
    max,
    min,
    direction: last > first ? 'increasing' : last < first ? 'decreasing' : 'stable',
  }
}

/** Sums a column per day or month, in order of time; a decimal where the column has them. */
function summed(
  keys: readonly (string | null)[],
  series: Series,
  places: number | undefined,
): [string, number | Decimal][] {
  const sums = new Map<string, DecimalSum>()
  keys.forEach((key, index) => {
    const value = series.values[index]
    if (key === null || typeof value !== 'number') return
    const sum = sums.get(key) ?? new DecimalSum()
    sum.add(value)
    sums.set(key, sum)
  })
  return [...sums]
    .map(([key, sum]): [string, number | Decimal] => [
      key,
      places === undefined ? rounded(sum.total().toNumber()) : sum.total(places),
    ])
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function quality(all: readonly Series[], { rows }: BusinessData): Record<string, unknown> {
  const rowCount = rows.length
  const checks = all.flatMap((series) => {
    const present = series.values.filter((value) => value !== null)
    const nulls = percent(series.values.length - present.length, rowCount)
    const empty = { field: series.name, ok: nulls <= 10, issue: `${nulls} % of the values are missing` }
    const repeated = present.length - distinctCount(series)
    // Judged by the names of the fields, the only hint at which are meant to be unique or positive.
    const unique = /(^|_)(name|title|email|code|number)$/.test(series.name)
      ? [{ field: series.name, ok: repeated === 0, issue: `${repeated} values occur more than once` }]
      : []
    const negative = numbersOf(series).filter((value) => value < 0).length
    const amounts =
      /(amount|total|price|rate|qty|quantity|cost|salary|value)/.test(series.name) && isNumeric(series)
        ? [{ field: series.name, ok: negative === 0, issue: `${negative} values are negative` }]
        : []
    return [empty, ...unique, ...amounts]
  })
  const failed = checks.filter(({ ok }) => !ok)
  const issues: Record<string, string[]> = {}
  for (const { field, issue } of failed) (issues[field] ??= []).push(issue)
  const score = rowCount === 0 ? 100 : percent(checks.length - failed.length, checks.length)
  return {
    issues,
    overall_score: score,
    summary: `${checks.length - failed.length} of ${checks.length} checks passed over ${rowCount} records`,
  }
}

function correlate(all: readonly Series[]): Record<string, unknown> {
  const numeric = all.filter((series) => isNumeric(series) && distinctCount(series) > 1)
  const matrix = correlations(numeric)
  const strong = numeric.flatMap((a, index) =>
    numeric.slice(index + 1).flatMap((b) => {
      const r = matrix[a.name]![b.name]
      return typeof r === 'number' && Math.abs(r) > 0.7
        ? [{ fields: [a.name, b.name], r, strength: r > 0 ? 'positive' : 'negative' }]
        : []
    }),
  )
  return {
    correlation_matrix: matrix,
    strong_correlations: strong.sort((a, b) => Math.abs(b.r) - Math.abs(a.r)),
    summary:
      numeric.length < 2
        ? 'fewer than two fields hold numbers that vary'
        : `${strong.length} of ${(numeric.length * (numeric.length - 1)) / 2} pairs of fields move together (|r| > 0.7)`,
  }
}

/** Returns the facts that `query_and_analyze` adds to its rows; `whole` has those of all rows, where these are only the first. */
export function analyzeResult(
  depth: 'statistical' | 'detailed',
  columns: readonly SqlColumn[],
  rows: readonly (readonly unknown[])[],
  whole?: WholeResult,
): Readonly<Record<string, unknown>> {
  const all = seriesOf(columns, rows).map((series, index) =>
    columns[index]!.type.startsWith('DECIMAL') ? estimated(series) : series,
  )
  const numeric = all.filter(isNumeric)
  const missing = all.map((series) => [series.name, series.values.filter((value) => value === null).length])
  const statistical = {
    rows_analysed: whole?.total ?? rows.length,
    statistical_summary:
      whole?.summaries ??
      Object.fromEntries(numeric.map((series) => [series.name, summaryOf(numbersOf(series))])),
    data_types: Object.fromEntries(columns.map(({ name, type }) => [name, type])),
    missing_values: whole?.missing ?? Object.fromEntries(missing),
  }
  if (depth === 'statistical') return statistical
  // Five columns: these counts are for a first look, and every line takes the model's context.
  const words = all.filter((series) => !isNumeric(series)).slice(0, 5)
  return {
    ...statistical,
    ...(whole && { note: `correlations and frequent values are of the first ${rows.length} rows only` }),
    correlation_matrix: correlations(numeric),
    unique_value_counts: Object.fromEntries(words.map((series) => [series.name, valueCounts(series, 10)])),
  }
}

/** Converts decimals, which come as text, to numbers: statistics are estimates. */
function estimated({ name, values }: Series): Series {
  return { name, values: values.map((value) => (value === null ? null : Number(value))) }
}
