import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drawingKinds, drawingOf } from '#figures/drawing.ts'
import { aggregateNames, type Chart, chartTypes, timeIntervals, vegaLiteOf } from '#figures/vega-lite.ts'
import { specificationFault } from '#sandbox/chart-specification.ts'

describe('specifications', () => {
  it('of every kind of chart hold no data, and nothing that a stored chart may not say', () => {
    for (const chart_type of chartTypes)
      for (const aggregate_function of aggregateNames)
        for (const time_interval of timeIntervals) {
          const chart: Chart = {
            chart_name: 'Orders',
            chart_type,
            aggregate_function,
            time_interval,
            time_series_based_on: 'day',
            value_based_on: 'amount',
          }
          const spec = vegaLiteOf(chart)
          assert.deepEqual(spec['data'], { name: 'rows' })
          assert.equal(specificationFault(spec), undefined, `${chart_type} ${aggregate_function}`)
        }
  })

  it('of every kind of drawing likewise', () => {
    for (const as of drawingKinds) {
      const { spec } = drawingOf(['day', 'sold'], [['2026-01-01', 3]], { as, x: 'day', y: ['sold'] })
      assert.equal(specificationFault(spec), undefined, as)
    }
  })

  it('name fields by their labels', () => {
    const chart = { chart_name: 'a', chart_type: 'line', aggregate_function: 'Sum' } as const
    const spec = vegaLiteOf(
      { ...chart, time_series_based_on: 'day', value_based_on: 'sum' },
      (field) => `<${field}>`,
    )
    const { x, y } = spec['encoding'] as Record<string, { title: string }>
    assert.deepEqual([x!.title, y!.title], ['<day>', 'Sum of <sum>'])
  })
})
