/** The definition of a chart, in terms of a doctype's fields; its picture is made anew for each viewer. */
import type { Chart } from '#figures/vega-lite.ts'
import { listed, meantOrKnown } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import type { TableColumn } from '../documents/reports/run-sql.ts'
import { isSummable } from '../documents/values.ts'

/** The time that a chart over time looks back from today. */
export const timespans = ['Last Year', 'Last Quarter', 'Last Month', 'Last Week', 'All Time'] as const

/** A chart as its author describes it, in the names that the tool and the stored document have. */
export interface ChartDefinition extends Chart {
  readonly doctype: string
  readonly timespan?: (typeof timespans)[number] | undefined
  readonly filters?: unknown
}

/** A definition with every choice made, and the choices that were made for its author. */
export interface CompleteChart {
  readonly definition: ChartDefinition
  readonly warnings: readonly string[]
}

/**
 * Fills in the open parts of a definition from the fields that the caller may read. AppError
 * `invalid` lists every fault of it.
 */
export function completeChart(given: ChartDefinition, columns: readonly TableColumn[]): CompleteChart {
  const warnings: string[] = []
  const faults = faultsOf(given, columns)
  const choose = (
    key: string,
    fits: (column: TableColumn) => boolean,
    preferred: readonly string[],
  ): string | undefined => {
    const fitting = columns.filter(fits)
    const found =
      preferred.map((name) => fitting.find((column) => column.name === name)).find(Boolean) ?? fitting[0]
    if (found) warnings.push(`${key} was not given; ${found.name} was chosen`)
    return found?.name
  }
  const overTime = isOverTime(given)
  const time = overTime
    ? (given.time_series_based_on ?? choose('time_series_based_on', isDay, ownDates(columns)))
    : given.time_series_based_on
  const group = overTime ? given.based_on : (given.based_on ?? choose('based_on', isGroup, ['status']))
  if (overTime && given.based_on !== undefined)
    faults.push(
      `based_on: a ${given.chart_type} that is kept has one series; leave it out, or draw the rows of a statement (query_and_analyze, draw with series)`,
    )
  if (!overTime && given.time_interval !== undefined)
    faults.push(
      `time_interval: a ${given.chart_type} by groups has no intervals; for bars over time give time_series_based_on and no based_on`,
    )
  if (!overTime && given.time_series_based_on !== undefined && given.based_on === undefined)
    faults.push(
      `based_on: a ${given.chart_type} compares groups; name their field, or draw a line or bars over time`,
    )
  if (!overTime && group === undefined)
    faults.push(`based_on: a ${given.chart_type} chart needs a field to group by`)
  if (faults.length > 0) throw new AppError('invalid', faults.join('; '), { data: { problems: faults } })
  return {
    definition: {
      ...given,
      ...(time !== undefined && { time_series_based_on: time }),
      ...(group !== undefined && { based_on: group }),
      ...(overTime && {
        timespan: given.timespan ?? 'Last Month',
        time_interval: given.time_interval ?? 'Daily',
      }),
    },
    warnings,
  }
}

/** Lists the faults of a definition. */
function faultsOf(given: ChartDefinition, columns: readonly TableColumn[]): string[] {
  const { doctype, aggregate_function: how } = given
  const faults: string[] = []
  for (const [key, fits, kind] of fieldKeys) {
    const name = given[key]
    if (name === undefined) continue
    const column = columns.find((other) => other.name === name)
    const names = columns.filter(fits).map((other) => other.name)
    if (!column)
      faults.push(
        `${key}: ${doctype} has no field ${JSON.stringify(name)} that you may read${meantOrKnown(name, names)}`,
      )
    else if (!fits(column))
      faults.push(`${key}: ${name} is a ${column.type} field, not ${kind}: ${listed(names)}`)
  }
  const numbers = columns.filter(isNumber).map(({ name }) => name)
  if ((how === 'Sum' || how === 'Average') && given.value_based_on === undefined)
    faults.push(`value_based_on: ${how} needs a field of numbers: ${numbers.join(', ')}`)
  return faults
}

/** The keys that name fields, with the test of fitting fields and its wording. */
const fieldKeys = [
  ['value_based_on', isNumber, 'one of numbers'],
  ['based_on', () => true, 'a field'],
  ['time_series_based_on', isTime, 'one of dates'],
] as const

/** True if a chart's axis is time; bars go over time where they are given one and no groups. */
export function isOverTime({
  chart_type: type,
  based_on: group,
  time_series_based_on: time,
}: Pick<ChartDefinition, 'chart_type' | 'based_on' | 'time_series_based_on'>): boolean {
  const isTime = type === 'line' || type === 'heatmap'
  return isTime || (type === 'bar' && (group ?? null) === null && (time ?? null) !== null)
}

function isNumber({ type }: TableColumn): boolean {
  return isSummable(type)
}

function isTime({ type }: TableColumn): boolean {
  return type === 'date' || type === 'datetime'
}

function isGroup({ type }: TableColumn): boolean {
  return type === 'select' || type === 'link' || type === 'check'
}

function isDay({ name, type }: TableColumn): boolean {
  return type === 'date' || name === 'creation'
}

/** Returns the doctype's own dates: they say when something happened; `creation` says when somebody typed it in. */
function ownDates(columns: readonly TableColumn[]): readonly string[] {
  return columns.filter(({ type }) => type === 'date').map(({ name }) => name)
}
