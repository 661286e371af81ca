/** A chart definition as a Vega-Lite specification; its data is named `rows` and added when it is looked at. */
import type { ChartDefinition } from './chart-definition.ts'
import { weekdays } from './weeks.ts'

/** The specification that is stored with a chart, and that its owner may refine. */
export function vegaLiteOf(definition: ChartDefinition): Readonly<Record<string, unknown>> {
  const { chart_name: title, chart_type: type, color = '#4c78a8' } = definition
  const measure = measureOf(definition)
  const common = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title,
    width: 640,
    height: 360,
    // No data and no address of data: a stored chart must not carry what its author could see.
    data: { name: 'rows' },
  }
  const time = { field: 'label', type: 'temporal', title: definition.time_series_based_on }
  const label = { field: 'label', title: definition.based_on ?? null }
  const value = { field: 'value', type: 'quantitative', title: measure }
  // Ordered by size, so that the same data always look the same.
  const slices = {
    theta: { field: 'value', type: 'quantitative', stack: true },
    color: { ...label, type: 'nominal', sort: null, scale: { range: colors } },
    order: { field: 'value', sort: 'descending' },
  }
  switch (type) {
    case 'line':
      return {
        ...common,
        mark: { type: 'line', point: true, color },
        encoding: { x: { ...time, axis: timeAxis(definition) }, y: value },
      }
    case 'heatmap':
      return {
        ...common,
        height: 160,
        mark: 'rect',
        encoding: {
          x: { field: 'week', type: 'ordinal', title: null },
          y: { field: 'weekday', type: 'ordinal', sort: [...weekdays], title: null },
          color: { ...value, scale: { scheme: 'blues' } },
        },
      }
    case 'pie':
      return { ...common, mark: { type: 'arc' }, encoding: slices }
    case 'donut':
      return { ...common, mark: { type: 'arc', innerRadius: 80 }, encoding: slices }
    case 'percentage':
      return {
        ...common,
        height: 120,
        mark: 'bar',
        encoding: {
          x: {
            field: 'value',
            type: 'quantitative',
            stack: 'normalize',
            axis: { format: '%' },
            title: measure,
          },
          color: { ...label, type: 'nominal', sort: null, scale: { range: colors } },
        },
      }
    case 'bar':
      return {
        ...common,
        mark: { type: 'bar', color },
        encoding: { x: { ...label, type: 'nominal', sort: null, axis: { labelAngle: -40 } }, y: value },
      }
  }
  return common
}

/** As many as a chart has groups at most, neighbours far apart. */
const colors = Array.from(
  { length: 30 },
  (_, index) => `hsl(${Math.round((210 + index * 137.5) % 360)}, 55%, ${[50, 68, 36][index % 3]}%)`,
)

/** A mark for each interval, where there is one; otherwise Vega marks what it likes. */
function timeAxis({ time_interval: interval }: ChartDefinition): Readonly<Record<string, unknown>> {
  if (interval === 'Yearly') return { tickCount: 'year', format: '%Y' }
  return interval === 'Monthly' ? { tickCount: 'month', format: '%b %Y', labelAngle: -40 } : {}
}

function measureOf({ aggregate_function: how, value_based_on: value }: ChartDefinition): string {
  return how === 'Sum' || how === 'Average' ? `${how} of ${value ?? ''}` : 'Count'
}
