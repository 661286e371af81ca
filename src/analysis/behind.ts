/** The documents behind a chart, and behind one of its points, as filters of a list. */
import { isoTime } from '#leaf/clock.ts'
import { readFilters } from '../documents/asking/filters.ts'
import type { Access } from '../documents/permission.ts'
import { daysOf, isTick } from './chart-data.ts'
import { type ChartDefinition, isOverTime } from './chart-definition.ts'

/** A filter as `list_documents` takes it. */
type Triple = readonly [field: string, operator: string, value: unknown]

/** Returns the filters of the documents that a chart shows. */
export function filtersBehind(access: Access, definition: ChartDefinition, now: number): readonly Triple[] {
  const { aggregate_function: how, time_series_based_on: time, value_based_on: value } = definition
  const own = readFilters(access, definition.filters ?? undefined)
  const days = time === undefined ? undefined : daysOf(definition, now)
  const isMeasured = value !== undefined && (how === 'Sum' || how === 'Average')
  return [
    ...own.map(({ field, operator, value: wanted }): Triple => [field, operator, wanted]),
    ...(days && time !== undefined ? between(time, days) : []),
    ...(isMeasured ? [[value, 'is', 'set'] as const] : []),
  ]
}

/** Returns the filters of one point of a chart besides; undefined for what adds up several. */
export function filtersOfPoint(
  access: Access,
  definition: ChartDefinition,
  label: string,
): readonly Triple[] | undefined {
  const { based_on: group, time_series_based_on: time } = definition
  if (isOverTime(definition))
    return time === undefined ? undefined : between(time, intervalOf(definition, label))
  if (group === undefined || /^\d+ others$/.test(label)) return undefined
  if (label === '(none)') return [[group, 'is', 'not set']]
  return [[group, '=', isTick(access, group) ? label === 'true' : label]]
}

function between(field: string, [from, to]: readonly [string, string]): Triple[] {
  return [
    [field, '>=', from],
    [field, '<', to],
  ]
}

/** Returns the first day of an interval, and the first after it. */
function intervalOf(
  { chart_type: type, time_interval: interval = 'Daily' }: ChartDefinition,
  first: string,
): readonly [string, string] {
  const day = new Date(`${first}T00:00Z`)
  const after = new Date(day)
  const how = type === 'heatmap' ? 'Daily' : interval
  const months = { Yearly: 12, Quarterly: 3, Monthly: 1, Weekly: 0, Daily: 0 }[how]
  after.setUTCMonth(day.getUTCMonth() + months)
  if (months === 0) after.setUTCDate(day.getUTCDate() + (how === 'Weekly' ? 7 : 1))
  return [first, isoTime(after.getTime()).slice(0, 10)]
}
