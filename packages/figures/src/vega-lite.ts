/** Converts a chart to a Vega-Lite specification; its data is named `rows` and added for each viewer. */
import { weekdays } from '#leaf/weeks.ts'

/** The kinds of charts, in the words of the platform's dashboards. */
export const chartTypes = ['line', 'bar', 'percentage', 'pie', 'donut', 'heatmap'] as const
/** The functions computed per group or interval. `Group By` counts as `Count` does; both names are in use. */
export const aggregateNames = ['Count', 'Sum', 'Average', 'Group By'] as const
/** The interval of one mark of a chart over time. */
export const timeIntervals = ['Yearly', 'Quarterly', 'Monthly', 'Weekly', 'Daily'] as const

/** What is drawn, and of which fields. */
export interface Chart {
  readonly chart_name: string
  readonly chart_type: (typeof chartTypes)[number]
  readonly aggregate_function: (typeof aggregateNames)[number]
  /** The field whose values are added up or averaged. */
  readonly value_based_on?: string | undefined
  /** The field whose values are the groups. */
  readonly based_on?: string | undefined
  /** The field with the time of each document. */
  readonly time_series_based_on?: string | undefined
  readonly time_interval?: (typeof timeIntervals)[number] | undefined
  /** A color such as `#4c78a8`. */
  readonly color?: string | undefined
}

/** A part of a specification. */
export type VegaPart = Readonly<Record<string, unknown>>

/** Returns the specification that is stored with a chart, and that its owner may refine; its axes have the labels of fields. */
export function vegaLiteOf(
  definition: Chart,
  labelOf: (field: string) => string = (field) => field,
): VegaPart {
  const { based_on: group, time_series_based_on: time, value_based_on: value } = definition
  // Here fields are only named.
  const named = {
    ...definition,
    based_on: group && labelOf(group),
    time_series_based_on: time && labelOf(time),
    value_based_on: value && labelOf(value),
  }
  return framed(definition.chart_name, kinds[definition.chart_type](named))
}

/** Returns a whole specification. */
export function framed(title: string | undefined, parts: VegaPart): VegaPart {
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    ...(title !== undefined && { title }),
    width: 640,
    height: 360,
    // Neither data nor a URL of data: a stored chart must not carry values that its author could see.
    data: { name: 'rows' },
    ...parts,
  }
}

const usualColor = '#4c78a8'

/** The parts in which the kinds of charts differ. */
const kinds: Readonly<Record<Chart['chart_type'], (definition: Chart) => VegaPart>> = {
  line: (definition) => ({
    mark: { type: 'line', point: true, color: definition.color ?? usualColor },
    encoding: {
      x: {
        field: 'label',
        type: 'temporal',
        title: definition.time_series_based_on,
        axis: timeAxis(definition),
      },
      y: valueOf(definition),
    },
  }),
  heatmap: (definition) => ({
    height: 160,
    mark: 'rect',
    encoding: {
      x: { field: 'week', type: 'ordinal', title: null },
      y: { field: 'weekday', type: 'ordinal', sort: [...weekdays], title: null },
      color: { ...valueOf(definition), scale: { scheme: 'blues' } },
    },
  }),
  pie: (definition) => ({ mark: { type: 'arc' }, encoding: sectorsOf(titleOf(definition)) }),
  donut: (definition) => ({
    mark: { type: 'arc', innerRadius: 80 },
    encoding: sectorsOf(titleOf(definition)),
  }),
  percentage: (definition) => ({
    height: 120,
    mark: 'bar',
    encoding: {
      x: { ...valueOf(definition), stack: 'normalize', axis: { format: '%' } },
      color: { ...labelOf(titleOf(definition)), scale: { range: colors } },
    },
  }),
  bar: (definition) => ({
    mark: { type: 'bar', color: definition.color ?? usualColor },
    encoding: { x: { ...labelOf(titleOf(definition)), axis: { labelAngle: -40 } }, y: valueOf(definition) },
  }),
}

function titleOf({ based_on: group, time_series_based_on: time }: Chart): string | null {
  return group ?? time ?? null
}

function labelOf(title: string | null): VegaPart {
  return { field: 'label', title, type: 'nominal', sort: null }
}

function valueOf(definition: Chart): VegaPart {
  return { field: 'value', type: 'quantitative', title: measureOf(definition) }
}

/** Orders sectors by size, so that the same data always look the same. */
export function sectorsOf(title: string | null): VegaPart {
  return {
    theta: { field: 'value', type: 'quantitative', stack: true },
    color: { ...labelOf(title), scale: { range: colors } },
    order: { field: 'value', sort: 'descending' },
  }
}

/** As many colors as a chart has groups at most, neighbours far apart. */
export const colors = Array.from(
  { length: 30 },
  (_, index) => `hsl(${Math.round((210 + index * 137.5) % 360)}, 55%, ${[50, 68, 36][index % 3]}%)`,
)

/** Puts a mark at each interval, where there is one; otherwise Vega chooses the marks. */
function timeAxis({ time_interval: interval }: Chart): VegaPart {
  if (interval === 'Yearly') return { tickCount: 'year', format: '%Y' }
  return interval === 'Monthly' ? { tickCount: 'month', format: '%b %Y', labelAngle: -40 } : {}
}

function measureOf({ aggregate_function: how, value_based_on: value }: Chart): string {
  return how === 'Sum' || how === 'Average' ? `${how} of ${value ?? ''}` : 'Count'
}
