import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { metricText, Tally, Timings } from '#telemetry/metric-text.ts'

describe('metrics in Prometheus\u2019 text format', () => {
  it('say their help, type and value, and take any text for a label', () => {
    assert.equal(metricText('gauge', 'up', 'Whether', 1), '# HELP up Whether\n# TYPE up gauge\nup 1\n')
    const text = metricText('counter', 'n', 'How many', [[2, { name: 'a"b\\c\nd', kind: 'x' }]])
    assert.equal(text.split('\n')[2], String.raw`n{name="a\"b\\c\nd",kind="x"} 2`)
  })

  it('count by all labels together, whose names are asked for once', () => {
    const tally = new Tally()
    let asked = 0
    const labels = (of: string) => () => ({ of: `${of}${++asked}` })
    for (const of of ['a', 'b', 'a']) tally.add(of, labels(of))
    assert.deepEqual(
      [...tally],
      [
        [2, { of: 'a1' }],
        [1, { of: 'b2' }],
      ],
    )
  })

  it('give a histogram cumulative buckets, with their ends in them, a sum and a count for each label', () => {
    const timings = new Timings([0.1, 1], 'tool')
    for (const seconds of [0.1, 0.5, 5]) timings.took(seconds, 'x')
    assert.deepEqual(
      [...timings].map(([value, labels, suffix]) => [suffix, labels?.['le'], value]),
      [
        ['_bucket', '0.1', 1],
        ['_bucket', '1', 2],
        ['_bucket', '+Inf', 3],
        ['_sum', undefined, 5.6],
        ['_count', undefined, 3],
      ],
    )
    assert.equal([...new Timings([1])].at(-1)![0], 0, 'one without a label is told before anything happened')
  })
})
