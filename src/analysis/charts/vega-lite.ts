/** A chart definition as a Vega-Lite specification; its data is named `rows` and added when it is looked at. */
import type { ChartDefinition } from './chart-definition.ts'

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
  const label = { field: 'label', title: definition.based_on ?? null }
  const value = { field: 'value', type: 'quantitative', title: measure }
  // Ordered by size, so that the same data always look the same.
  const slices = {
    theta: { field: 'value', type: 'quantitative', stack: true },
    color: { ...label, type: 'nominal', sort: null },
    order: { field: 'value', sort: 'descending' },
  }
  switch (type) {
    case 'line':
      return {
        ...common,
        mark: { type: 'line', point: true, color },
        encoding: {
          x: { field: 'label', type: 'temporal', title: definition.time_series_based_on },
          y: value,
        },
      }
    case 'heatmap':
      return {
        ...common,
        height: 160,
        mark: 'rect',
        encoding: {
          x: { field: 'label', type: 'ordinal', timeUnit: 'yearweek', title: null },
          y: { field: 'label', type: 'ordinal', timeUnit: 'day', title: null },
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
          color: { ...label, type: 'nominal', sort: null },
        },
      }
    case 'bar':
      return {
        ...common,
        mark: { type: 'bar', color },
        encoding: { x: { ...label, type: 'nominal', sort: '-y', axis: { labelAngle: -40 } }, y: value },
      }
  }
  return common
}

function measureOf({ aggregate_function: how, value_based_on: value }: ChartDefinition): string {
  return how === 'Sum' || how === 'Average' ? `${how} of ${value ?? ''}` : 'Count'
}
