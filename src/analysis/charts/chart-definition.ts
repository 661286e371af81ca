/** What a chart shows, said in fields of a doctype; its picture is made anew for whoever looks. */
import { didYouMean } from '../../core/names.ts'
import { AppError } from '../../core/errors.ts'
import type { TableColumn } from '../../documents/run-sql.ts'
import { isSummable } from '../../documents/values.ts'

/** The kinds of charts, in the words of the platform's dashboards. */
export const chartTypes = ['line', 'bar', 'percentage', 'pie', 'donut', 'heatmap'] as const
/** What is computed per group or interval. `Group By` counts as `Count` does; both names are in use. */
export const aggregateNames = ['Count', 'Sum', 'Average', 'Group By'] as const
/** How far back from today a chart over time looks. */
export const timespans = ['Last Year', 'Last Quarter', 'Last Month', 'Last Week', 'All Time'] as const
/** What one mark of a chart over time stands for. */
export const timeIntervals = ['Yearly', 'Quarterly', 'Monthly', 'Weekly', 'Daily'] as const

/** A chart as its author describes it, in the names that the tool and the stored document have. */
export interface ChartDefinition {
  readonly chart_name: string
  readonly chart_type: (typeof chartTypes)[number]
  readonly doctype: string
  readonly aggregate_function: (typeof aggregateNames)[number]
  /** The field whose values are added up or averaged. */
  readonly value_based_on?: string | undefined
  /** The field whose values are the groups. */
  readonly based_on?: string | undefined
  /** The field with the time of each document. */
  readonly time_series_based_on?: string | undefined
  readonly timespan?: (typeof timespans)[number] | undefined
  readonly time_interval?: (typeof timeIntervals)[number] | undefined
  readonly filters?: unknown
  /** Such as `#4c78a8`. */
  readonly color?: string | undefined
}

/** A definition with every choice made, and what was chosen for its author. */
export interface CompleteChart {
  readonly definition: ChartDefinition
  readonly warnings: readonly string[]
}

/**
 * Fills in what a definition leaves open from the fields that the caller may read. AppError
 * `invalid` lists everything that is wrong with it.
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
  const overTime = isOverTime(given.chart_type)
  const time = overTime
    ? (given.time_series_based_on ?? choose('time_series_based_on', isDay, ownDates(columns)))
    : given.time_series_based_on
  const group = overTime ? given.based_on : (given.based_on ?? choose('based_on', isGroup, ['status']))
  if (!overTime && group === undefined)
    faults.push(`based_on: a ${given.chart_type} chart needs a field to group by`)
  if (faults.length > 0) throw new AppError('invalid', faults.join('; '))
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

/** What is wrong with what was given. */
function faultsOf(given: ChartDefinition, columns: readonly TableColumn[]): string[] {
  const { doctype, aggregate_function: how } = given
  const faults: string[] = []
  for (const [key, fits, kind] of fieldKeys) {
    const name = given[key]
    if (name === undefined) continue
    const column = columns.find((other) => other.name === name)
    const names = columns.map((other) => other.name)
    if (!column)
      faults.push(
        `${key}: ${doctype} has no field ${JSON.stringify(name)} that you may read${didYouMean(name, names)}`,
      )
    else if (!fits(column)) faults.push(`${key}: ${name} is a ${column.type} field, not ${kind}`)
  }
  const numbers = columns.filter(isNumber).map(({ name }) => name)
  if ((how === 'Sum' || how === 'Average') && given.value_based_on === undefined)
    faults.push(`value_based_on: ${how} needs a field of numbers: ${numbers.join(', ')}`)
  return faults
}

/** The keys that name fields, what fits each, and what that is called. */
const fieldKeys = [
  ['value_based_on', isNumber, 'one of numbers'],
  ['based_on', () => true, 'a field'],
  ['time_series_based_on', isTime, 'one of dates'],
] as const

/** Whether a chart's axis is time. */
export function isOverTime(type: ChartDefinition['chart_type']): boolean {
  return type === 'line' || type === 'heatmap'
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

/** Of the doctype itself: they say when something happened; creation says when somebody typed it in. */
function ownDates(columns: readonly TableColumn[]): readonly string[] {
  return columns.filter(({ type }) => type === 'date').map(({ name }) => name)
}
