/** Calculates the numbers behind a chart, in the store, over the documents that the viewer may read. */
import { isoTime } from '#leaf/clock.ts'
import {
  all,
  always,
  type Condition,
  compared,
  never,
  not,
  type DatePart,
  type GroupAnswer,
  type GroupQuestion,
  order,
} from '#state/questions.ts'
import { Decimal, DecimalSum } from '#leaf/decimal.ts'
import { Slice } from '#leaf/slices.ts'
import type { Principal } from '../core/principal.ts'
import type { Documents } from '../documents/documents.ts'
import { type CountedStates, statesOf } from '../documents/asking/aggregating.ts'
import { conditionOf, openTo, readFilters, storedName } from '../documents/asking/filters.ts'
import type { Access } from '../documents/permission.ts'
import { placesOf } from '../documents/values.ts'
import { readableColumns } from '../documents/reports/tables.ts'
import { type ChartDefinition, isOverTime } from './chart-definition.ts'
import type { ChartPoint } from '#sandbox/sandbox.ts'

/** Calculates over the documents of the chart that pass a condition. */
type Ask = (groups: Omit<GroupQuestion, 'measures'>, holds?: Condition) => Promise<GroupAnswer>

const day = 86_400_000
const spans = { 'Last Week': 7, 'Last Month': 30, 'Last Quarter': 91, 'Last Year': 365 }
/** The most groups that a chart shows (see `largest`). */
const mostGroups = 30

/** Returns the points of a chart for one principal; documents that it may not read do not count. */
export async function chartPoints(
  documents: Documents,
  principal: Principal,
  definition: ChartDefinition,
  now: number,
): Promise<readonly ChartPoint[]> {
  const { aggregate_function: how, based_on: group, time_series_based_on: time } = definition
  const { access, columns, value, holds } = chosenBy(documents, principal, definition, now)
  const overTime = isOverTime(definition)
  const measure =
    value === undefined
      ? ({ of: 'count' } as const)
      : ({
          of: how === 'Sum' ? 'sum' : 'avg',
          field: storedName(value),
          places: placesIn(access, value),
        } as const)
  const ask: Ask = async (groups, also = always) =>
    await access.collection().aggregate({ ...groups, measures: [measure] }, { holds: all(holds, also) })
  if (overTime) return time === undefined ? [] : await inOrder(ask, storedName(time), definition)
  if (group === undefined) return await nameless(ask, always)
  const isList = columns.find(({ name }) => name === group)?.type === 'json'
  const named = isList
    ? never
    : all(shown(access, group), ...[null, ''].map((none) => compared(storedName(group), '!=', none)))
  const labelOf = isTick(access, group) ? (key: unknown) => String(key === 1) : String
  return await largest(ask, { field: storedName(group), named, labelOf, how })
}

/** True for a field of ticks, which stores keep as numbers; its groups are called `true` and `false`. */
export function isTick({ doctype }: Access, field: string): boolean {
  return doctype.fields.get(field)?.type === 'check'
}

/** Counts the states of the documents that a chart shows; undefined where they have none. */
export async function chartStates(
  documents: Documents,
  principal: Principal,
  definition: ChartDefinition,
  now: number,
): Promise<CountedStates | undefined> {
  const { access, holds } = chosenBy(documents, principal, definition, now)
  return await statesOf(access, holds)
}

/** Returns which documents a chart shows, and the field of their values. */
function chosenBy(documents: Documents, principal: Principal, definition: ChartDefinition, now: number) {
  const { doctype, aggregate_function: how, based_on: group, time_series_based_on: time } = definition
  const value = how === 'Sum' || how === 'Average' ? definition.value_based_on : undefined
  const fields = [value, group, time].filter((field) => field !== undefined)
  const { access, columns } = readableColumns(documents, principal, doctype, fields)
  const holds = openTo(
    access,
    all(
      conditionOf(readFilters(access, definition.filters ?? undefined)),
      time === undefined ? always : within(access, time, definition, now),
      // A hidden or missing value does not count, instead of counting as zero.
      value === undefined
        ? always
        : all(shown(access, value), compared(storedName(value), '>=', -Number.MAX_VALUE)),
    ),
  )
  return { access, columns, value, holds }
}

/** Sorts groups by size, "(none)" last among equals; adds up the smallest of many as one, where a sum means something. */
async function largest(
  ask: Ask,
  {
    field,
    named,
    labelOf,
    how,
  }: {
    readonly field: string
    readonly named: Condition
    readonly labelOf: (key: unknown) => string
    readonly how: ChartDefinition['aggregate_function']
  },
): Promise<readonly ChartPoint[]> {
  const none = await nameless(ask, not(named))
  const { rows, total } = await ask(
    { keys: [{ field }], order: [{ column: 1, descending: true }], limit: mostGroups },
    named,
  )
  const groups = rows.map(([key, value]): ChartPoint => ({ label: labelOf(key), value: valueOf(value) }))
  const sorted = [...groups, ...none].sort((a, b) => order(b.value, a.value))
  if (total + none.length <= mostGroups || how === 'Average') return sorted.slice(0, mostGroups)
  const first = sorted.slice(0, mostGroups - 1)
  const rest = new DecimalSum()
  for (const { value } of await nameless(ask, always)) rest.add(value)
  for (const { value } of first) rest.add(value instanceof Decimal ? value.negated() : -value)
  const others = total + none.length - first.length
  const [{ value: size }] = first as [ChartPoint]
  const value = size instanceof Decimal ? rest.total(size.places) : rest.total().toNumber()
  return [...first, { label: `${others} others`, value }]
}

/** Returns all documents that pass a condition as one point; no point when there are none. */
async function nameless(ask: Ask, holds: Condition): Promise<readonly ChartPoint[]> {
  const { rows, documents } = await ask({ keys: [] }, holds)
  return documents > 0 ? [{ label: '(none)', value: valueOf(rows[0]![0]) }] : []
}

/** Returns one point for each interval, labelled with its first day. */
async function inOrder(
  ask: Ask,
  field: string,
  { chart_type: type, time_interval: interval = 'Daily' }: ChartDefinition,
): Promise<readonly ChartPoint[]> {
  const { part, firstDay } = intervals[type === 'heatmap' ? 'Daily' : interval]
  const { rows } = await ask({ keys: [{ field, part }] })
  const points: ChartPoint[] = []
  const slice = new Slice()
  for (const [key, value] of rows) {
    const label = firstDay(String(key))
    if (/^\d{4}-\d{2}-\d{2}$/.test(label)) points.push({ label, value: valueOf(value) })
    await slice.rest()
  }
  return points
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

/** Returns the first day of a week such as `2026-W05`. */
function mondayOf(week: string): string {
  // The fourth of January is always in the first week of its year.
  const fourth = Date.parse(`${week.slice(0, 4)}-01-04T00:00:00Z`)
  const monday = fourth + (Number(week.slice(6)) * 7 - 7 - ((new Date(fourth).getUTCDay() + 6) % 7)) * day
  return Number.isNaN(monday) ? '' : isoTime(monday).slice(0, 10)
}

/** Returns the condition for documents in the timespan of a chart. */
function within(access: Access, time: string, definition: ChartDefinition, now: number): Condition {
  const days = daysOf(definition, now)
  if (!days) return isOverTime(definition) ? shown(access, time) : always
  const [from, to] = days
  return all(shown(access, time), compared(storedName(time), '>=', from), compared(storedName(time), '<', to))
}

/** Returns the first day of the timespan of a chart, and the first after it; undefined for all time. */
export function daysOf({ timespan }: ChartDefinition, now: number): readonly [string, string] | undefined {
  if ((timespan ?? 'All Time') === 'All Time') return undefined
  const dayOf = (moment: number): string => isoTime(moment).slice(0, 10)
  return [dayOf(now - spans[timespan as keyof typeof spans] * day), dayOf(now + day)]
}

/** Keeps a decimal, which a number would round. */
function valueOf(value: unknown): number | Decimal {
  return value instanceof Decimal ? value : Number(value)
}

/** Returns the digits after the point of a field of money. */
function placesIn({ doctype }: Access, name: string): number | undefined {
  const field = doctype.fields.get(name)
  return field && placesOf(field)
}

/** Returns the condition under which a field may be seen; standard fields may be seen everywhere. */
function shown(access: Access, name: string): Condition {
  const field = access.doctype.fields.get(name)
  return field ? access.whereShown(field) : always
}
