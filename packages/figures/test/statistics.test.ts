import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { analyzeBusiness, analyzeResult } from '#figures/business.ts'
import type { Column } from '#sandbox/tables.ts'
import { correlations, shapeOf, summaryOf, valueCounts } from '#figures/statistics.ts'

describe('statistics', () => {
  it('are those that pandas gives', () => {
    assert.deepEqual(summaryOf([1, 2, 3, 4, 10]), {
      count: 5,
      mean: 4,
      std: 3.535533906,
      min: 1,
      '25%': 2,
      '50%': 3,
      '75%': 4,
      max: 10,
    })
    assert.deepEqual(shapeOf([1, 2, 3, 4, 10]), { variance: 12.5, skewness: 1.697056275, kurtosis: 3.152 })
    assert.equal(summaryOf([]), undefined)
    assert.deepEqual(summaryOf([7])?.std, null)
    assert.deepEqual(shapeOf([1, 1]), { variance: 0, skewness: null, kurtosis: null })
  })

  it('lose no cents in long sums', () => {
    assert.equal(summaryOf(Array.from({ length: 100_000 }, () => 0.1))?.mean, 0.1)
  })

  it('correlate where both columns have a number', () => {
    const matrix = correlations([
      { name: 'a', values: [1, 2, 3, null] },
      { name: 'b', values: [2, 4, 6, 100] },
      { name: 'c', values: [3, 2, 1, 0] },
      { name: 'd', values: [5, 5, 5, 5] },
    ])
    assert.equal(matrix['a']!['b'], 1)
    assert.equal(matrix['a']!['c'], -1)
    assert.equal(matrix['a']!['d'], null)
  })

  it('count values of every kind', () => {
    assert.deepEqual(valueCounts({ name: 'x', values: ['a', 'b', 'a', null, true] }, 2), [
      { value: 'a', count: 2 },
      { value: 'b', count: 1 },
    ])
  })
})

const columns: Column[] = [
  { name: 'title', type: 'text' },
  { name: 'amount', type: 'number' },
  { name: 'qty', type: 'integer' },
  { name: 'day', type: 'date' },
]
const rows = [
  ['a', 10, 1, '2026-01-01'],
  ['a', 20, 2, '2026-01-01'],
  ['bcd', -5, 3, '2026-02-10'],
  [null, null, null, null],
]
const analyze = (
  kind: Parameters<typeof analyzeBusiness>[0],
  data: readonly (readonly unknown[])[] = rows,
): any => analyzeBusiness(kind, { columns, rows: data, dateField: 'day' })

describe('the analyses of business data', () => {
  it('profile each field', () => {
    const { fields, record_count: count, field_count: width } = analyze('profile')
    assert.deepEqual([count, width], [4, 4])
    assert.deepEqual(fields.title, {
      type: 'text',
      non_null: 3,
      null: 1,
      null_percent: 25,
      unique: 2,
      avg_length: 1.666666667,
      max_length: 3,
      min_length: 1,
    })
    assert.deepEqual([fields.amount.min, fields.amount.max, fields.amount.median], [-5, 20, 10])
  })

  it('tell trends by day and month', () => {
    const { date_range: range, trends } = analyze('trends')
    assert.deepEqual(range, { start: '2026-01-01', end: '2026-02-10', total_days: 41 })
    assert.deepEqual(trends.amount.by_month, { '2026-01': 30, '2026-02': -5 })
    assert.equal(trends.amount.monthly.direction, 'decreasing')
    assert.deepEqual(trends.record_count.daily, {
      points: 2,
      average: 1.5,
      max: 2,
      min: 1,
      direction: 'decreasing',
    })
  })

  it('tell no average of numbers whose rows have no date, where it was "NaN" between infinities', () => {
    const rows = [
      ['a', null, null, '2026-01-01'],
      ['b', 7, null, null],
    ]
    const { trends } = analyzeBusiness('trends', { columns, rows, dateField: 'day' }) as {
      trends: Record<string, { daily: unknown }>
    }
    const none = { points: 0, average: null, max: null, min: null, direction: 'stable' }
    assert.deepEqual(trends['amount']!.daily, none)
  })

  it('find what is missing, repeated or negative', () => {
    const { issues, overall_score: score } = analyze('quality')
    assert.deepEqual(issues.title, ['25 % of the values are missing', '1 values occur more than once'])
    assert.deepEqual(issues.amount, ['25 % of the values are missing', '1 values are negative'])
    assert.ok(score < 50)
  })

  it('find what moves together', () => {
    const { strong_correlations: strong } = analyze('correlations', [
      ['a', 1, 2, null],
      ['b', 2, 4, null],
      ['c', 3, 6, null],
    ])
    assert.deepEqual(strong, [{ fields: ['amount', 'qty'], r: 1, strength: 'positive' }])
  })

  it('have an answer for no rows at all', () => {
    for (const kind of ['profile', 'statistics', 'trends', 'quality', 'correlations'] as const)
      assert.ok(analyze(kind, []))
  })

  it('describe the result of a statement as deeply as asked', () => {
    const types = columns.map(({ name, type }) => ({ name, type }))
    assert.deepEqual(Object.keys(analyzeResult('statistical', types, rows)), [
      'rows_analysed',
      'statistical_summary',
      'data_types',
      'missing_values',
    ])
    assert.deepEqual(Object.keys(analyzeResult('detailed', types, rows)).slice(-2), [
      'correlation_matrix',
      'unique_value_counts',
    ])
  })
})
