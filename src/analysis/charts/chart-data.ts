/** The numbers behind a chart, computed from the rows that the one who looks may read. */
import { readTableRows } from '../../documents/tables.ts'
import { isoTime } from '../../core/clock.ts'
import { DecimalSum } from '../../core/decimal.ts'
import type { Principal } from '../../core/principal.ts'
import type { Documents } from '../../documents/documents.ts'
import { rounded } from '../statistics.ts'
import { type ChartDefinition, isOverTime } from './chart-definition.ts'

/** One mark of a chart. */
export interface ChartPoint {
  readonly label: string
  readonly value: number
}

const day = 86_400_000
const spans = { 'Last Week': 7, 'Last Month': 30, 'Last Quarter': 91, 'Last Year': 365 }
/** Bounds of one chart: the rows that it reads, and the groups that it shows (see `largest`). */
const mostRows = 100_000
const mostGroups = 30

/** The points of a chart for one principal; a row that it may not read counts nowhere. */
export async function chartPoints(
  documents: Documents,
  principal: Principal,
  definition: ChartDefinition,
  now: number,
): Promise<readonly ChartPoint[]> {
  const {
    doctype,
    filters,
    value_based_on: value,
    based_on: group,
    time_series_based_on: time,
    timespan,
  } = definition
  const fields = [...new Set([value, group, time].filter((field) => field !== undefined))]
  const page = await readTableRows(documents, principal, {
    doctype,
    fields: fields.length > 0 ? fields : ['name'],
    ...(filters !== undefined && filters !== null && { filters }),
    limit: mostRows,
  })
  const column = (name: string | undefined): number => page.columns.findIndex((other) => other.name === name)
  const [valueAt, groupAt, timeAt] = [column(value), column(group), column(time)]
  const since =
    timespan === undefined || timespan === 'All Time' ? '' : isoTime(now - spans[timespan] * day).slice(0, 10)
  const until = isoTime(now).slice(0, 10)
  const overTime = isOverTime(definition.chart_type)
  const parts = new Map<string, number[]>()
  for (const row of page.rows) {
    const date = timeAt === -1 ? undefined : textOf(row[timeAt]).slice(0, 10)
    if (date !== undefined && since !== '' && (date < since || date > until)) continue
    const label = overTime ? bucketOf(date ?? '', definition) : textOf(row[groupAt]) || '(none)'
    const number =
      valueAt === -1 || !['Sum', 'Average'].includes(definition.aggregate_function) ? 1 : row[valueAt]
    // A hidden or missing value counts nowhere, rather than as zero.
    if (label === '' || typeof number !== 'number') continue
    const numbers = parts.get(label)
    if (numbers) numbers.push(number)
    else parts.set(label, [number])
  }
  const points = [...parts].map(([label, numbers]) => ({ label, value: aggregate(numbers, definition) }))
  return overTime ? points.sort((a, b) => (a.label < b.label ? -1 : 1)) : largest(points, definition)
}

function aggregate(numbers: readonly number[], { aggregate_function: how }: ChartDefinition): number {
  const total = sumOf(numbers)
  return how === 'Average' ? rounded(total / numbers.length) : total
}

/** As decimals: a mark has the digits that the other ways to the same sum show. */
function sumOf(numbers: readonly number[]): number {
  const sum = new DecimalSum()
  for (const number of numbers) sum.add(number)
  return sum.total().toNumber()
}

/** The first groups by size; the others as one, where adding them up means something. */
function largest(points: readonly ChartPoint[], { aggregate_function: how }: ChartDefinition): ChartPoint[] {
  const sorted = [...points].sort((a, b) => b.value - a.value)
  if (sorted.length <= mostGroups || how === 'Average') return sorted.slice(0, mostGroups)
  const rest = sorted.slice(mostGroups - 1)
  return [
    ...sorted.slice(0, mostGroups - 1),
    { label: `${rest.length} others`, value: sumOf(rest.map(({ value }) => value)) },
  ]
}

/** The first day of the interval that a day belongs to; empty for what is no day. */
function bucketOf(date: string, { chart_type: type, time_interval: interval }: ChartDefinition): string {
  const time = Date.parse(`${date}T00:00:00Z`)
  if (Number.isNaN(time)) return ''
  if (type === 'heatmap') return date
  switch (interval) {
    case 'Yearly':
      return `${date.slice(0, 4)}-01-01`
    case 'Quarterly':
      return `${date.slice(0, 4)}-${String(Math.floor((Number(date.slice(5, 7)) - 1) / 3) * 3 + 1).padStart(2, '0')}-01`
    case 'Monthly':
      return `${date.slice(0, 7)}-01`
    case 'Weekly':
      return isoTime(time - ((new Date(time).getUTCDay() + 6) % 7) * day).slice(0, 10)
    case 'Daily':
    case undefined:
      return date
  }
  return date
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
