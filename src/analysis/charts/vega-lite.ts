/** A chart definition as a Vega-Lite specification; its data is named `rows` and added when it is looked at. */
import type { ChartDefinition } from './chart-definition.ts'
import { weekdays } from './weeks.ts'

type Part = Readonly<Record<string, unknown>>

/** The specification that is stored with a chart, and that its owner may refine. */
export function vegaLiteOf(definition: ChartDefinition): Part {
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: definition.chart_name,
    width: 640,
    height: 360,
    // No data and no address of data: a stored chart must not carry what its author could see.
    data: { name: 'rows' },
    ...kinds[definition.chart_type](definition),
  }
}

/** What tells the kinds of charts apart. */
const kinds: Readonly<Record<ChartDefinition['chart_type'], (definition: ChartDefinition) => Part>> = {
  line: (definition) => ({
    mark: { type: 'line', point: true, color: colorOf(definition) },
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
  pie: (definition) => ({ mark: { type: 'arc' }, encoding: slicesOf(definition) }),
  donut: (definition) => ({ mark: { type: 'arc', innerRadius: 80 }, encoding: slicesOf(definition) }),
  percentage: (definition) => ({
    height: 120,
    mark: 'bar',
    encoding: {
      x: { ...valueOf(definition), stack: 'normalize', axis: { format: '%' } },
      color: { ...labelOf(definition), scale: { range: colors } },
    },
  }),
  bar: (definition) => ({
    mark: { type: 'bar', color: colorOf(definition) },
    encoding: { x: { ...labelOf(definition), axis: { labelAngle: -40 } }, y: valueOf(definition) },
  }),
}

function colorOf({ color = '#4c78a8' }: ChartDefinition): string {
  return color
}

function labelOf({ based_on: title }: ChartDefinition): Part {
  return { field: 'label', title: title ?? null, type: 'nominal', sort: null }
}

function valueOf(definition: ChartDefinition): Part {
  return { field: 'value', type: 'quantitative', title: measureOf(definition) }
}

/** Ordered by size, so that the same data always look the same. */
function slicesOf(definition: ChartDefinition): Part {
  return {
    theta: { field: 'value', type: 'quantitative', stack: true },
    color: { ...labelOf(definition), scale: { range: colors } },
    order: { field: 'value', sort: 'descending' },
  }
}

/** As many as a chart has groups at most, neighbours far apart. */
const colors = Array.from(
  { length: 30 },
  (_, index) => `hsl(${Math.round((210 + index * 137.5) % 360)}, 55%, ${[50, 68, 36][index % 3]}%)`,
)

/** A mark for each interval, where there is one; otherwise Vega marks what it likes. */
function timeAxis({ time_interval: interval }: ChartDefinition): Part {
  if (interval === 'Yearly') return { tickCount: 'year', format: '%Y' }
  return interval === 'Monthly' ? { tickCount: 'month', format: '%b %Y', labelAngle: -40 } : {}
}

function measureOf({ aggregate_function: how, value_based_on: value }: ChartDefinition): string {
  return how === 'Sum' || how === 'Average' ? `${how} of ${value ?? ''}` : 'Count'
}
