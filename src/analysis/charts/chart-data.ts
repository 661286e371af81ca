/** The numbers behind a chart, calculated where the documents lie, over what the one who looks may read. */
import { isoTime } from '../../core/clock.ts'
import { all, always, type Condition, compared, never, not } from '../../core/conditions.ts'
import { DecimalSum } from '../../core/decimal.ts'
import type { DatePart, GroupAnswer, GroupQuestion } from '../../core/groups.ts'
import type { Principal } from '../../core/principal.ts'
import { collectionFor, type Documents } from '../../documents/documents.ts'
import { conditionOf, readFilters, storedName } from '../../documents/filters.ts'
import type { Access } from '../../documents/permission.ts'
import { openTo } from '../../documents/reading.ts'
import { readableColumns } from '../../documents/tables.ts'
import { type ChartDefinition, isOverTime } from './chart-definition.ts'

/** One mark of a chart. */
export interface ChartPoint {
  readonly label: string
  readonly value: number
}

/** Calculates over the documents of the chart of which a condition holds. */
type Ask = (groups: Omit<GroupQuestion, 'measures'>, holds?: Condition) => Promise<GroupAnswer>

const day = 86_400_000
const spans = { 'Last Week': 7, 'Last Month': 30, 'Last Quarter': 91, 'Last Year': 365 }
/** The groups that a chart shows (see `largest`). */
const mostGroups = 30

/** The points of a chart for one principal; a document that it may not read counts nowhere. */
export async function chartPoints(
  documents: Documents,
  principal: Principal,
  definition: ChartDefinition,
  now: number,
): Promise<readonly ChartPoint[]> {
  const { doctype, aggregate_function: how, based_on: group, time_series_based_on: time } = definition
  const value = how === 'Sum' || how === 'Average' ? definition.value_based_on : undefined
  const fields = [value, group, time].filter((field) => field !== undefined)
  const { access, columns } = readableColumns(documents, principal, doctype, fields)
  const overTime = isOverTime(definition.chart_type)
  const holds = openTo(
    access,
    all(
      conditionOf(readFilters(access, definition.filters ?? undefined)),
      time === undefined ? always : within(access, time, definition, now),
      // A hidden or missing value counts nowhere, rather than as zero.
      value === undefined
        ? always
        : all(shown(access, value), compared(storedName(value), '>=', -Number.MAX_VALUE)),
    ),
  )
  const measure =
    value === undefined
      ? ({ of: 'count' } as const)
      : ({ of: how === 'Sum' ? 'sum' : 'avg', field: storedName(value) } as const)
  const ask: Ask = async (groups, also = always) =>
    await collectionFor(documents, access.doctype).aggregate(
      { ...groups, measures: [measure] },
      { holds: all(holds, also) },
    )
  if (overTime) return time === undefined ? [] : await inOrder(ask, storedName(time), definition)
  if (group === undefined) return await nameless(ask, always)
  const isList = columns.find(({ name }) => name === group)?.type === 'json'
  const named = isList
    ? never
    : all(shown(access, group), ...[null, ''].map((none) => compared(storedName(group), '!=', none)))
  return await largest(ask, storedName(group), named, how)
}

/** The groups by size, nothing last of those alike; the smallest of many as one, where adding them up means something. */
async function largest(
  ask: Ask,
  field: string,
  named: Condition,
  how: ChartDefinition['aggregate_function'],
): Promise<readonly ChartPoint[]> {
  const none = await nameless(ask, not(named))
  const { rows, total } = await ask(
    { keys: [{ field }], order: [{ column: 1, descending: true }], limit: mostGroups },
    named,
  )
  const groups = rows.map(([key, value]): ChartPoint => ({ label: String(key), value: Number(value) }))
  const sorted = [...groups, ...none].sort((a, b) => b.value - a.value)
  if (total + none.length <= mostGroups || how === 'Average') return sorted.slice(0, mostGroups)
  const first = sorted.slice(0, mostGroups - 1)
  const rest = new DecimalSum()
  for (const { value } of await nameless(ask, always)) rest.add(value)
  for (const { value } of first) rest.add(-value)
  const others = total + none.length - first.length
  return [...first, { label: `${others} others`, value: rest.total().toNumber() }]
}

/** All documents of which a condition holds as one point; none when there are none. */
async function nameless(ask: Ask, holds: Condition): Promise<readonly ChartPoint[]> {
  const { rows, documents } = await ask({ keys: [] }, holds)
  return documents > 0 ? [{ label: '(none)', value: Number(rows[0]![0]) }] : []
}

/** One point for each interval, by its first day. */
async function inOrder(
  ask: Ask,
  field: string,
  { chart_type: type, time_interval: interval = 'Daily' }: ChartDefinition,
): Promise<readonly ChartPoint[]> {
  const { part, firstDay } = intervals[type === 'heatmap' ? 'Daily' : interval]
  const { rows } = await ask({ keys: [{ field, part }] })
  return rows
    .map(([key, value]) => ({ label: firstDay(String(key)), value: Number(value) }))
    .filter(({ label }) => /^\d{4}-\d{2}-\d{2}$/.test(label))
}

const intervals: Readonly<
  Record<
    NonNullable<ChartDefinition['time_interval']>,
    { readonly part: DatePart; readonly firstDay: (part: string) => string }
  >
> = {
  Yearly: { part: 'year', firstDay: (year) => `${year}-01-01` },
  Quarterly: {
    part: 'quarter',
    firstDay: (text) => `${text.slice(0, 4)}-${String(Number(text.slice(6)) * 3 - 2).padStart(2, '0')}-01`,
  },
  Monthly: { part: 'month', firstDay: (month) => `${month}-01` },
  Weekly: { part: 'week', firstDay: mondayOf },
  Daily: { part: 'day', firstDay: (date) => date },
}

/** The first day of a week such as `2026-W05`. */
function mondayOf(week: string): string {
  // The fourth of January is always in the first week of its year.
  const fourth = Date.parse(`${week.slice(0, 4)}-01-04T00:00:00Z`)
  const monday = fourth + (Number(week.slice(6)) * 7 - 7 - ((new Date(fourth).getUTCDay() + 6) % 7)) * day
  return Number.isNaN(monday) ? '' : isoTime(monday).slice(0, 10)
}

/** The documents that fall into the timespan of a chart. */
function within(
  access: Access,
  time: string,
  { chart_type: type, timespan = 'All Time' }: ChartDefinition,
  now: number,
): Condition {
  if (timespan === 'All Time') return isOverTime(type) ? shown(access, time) : always
  const dayOf = (moment: number): string => isoTime(moment).slice(0, 10)
  return all(
    shown(access, time),
    compared(storedName(time), '>=', dayOf(now - spans[timespan] * day)),
    compared(storedName(time), '<', dayOf(now + day)),
  )
}

/** Where a field may be seen; what every document has may be seen everywhere. */
function shown(access: Access, name: string): Condition {
  const field = access.doctype.fields.get(name)
  return field ? access.whereShown(field) : always
}
