import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drawingOf } from '#figures/drawing.ts'

describe('drawings of rows', () => {
  it('each of the sectors that a pie may have has a color of its own', () => {
    const rows = Array.from({ length: 40 }, (_, index) => [`Part ${index}`, index + 1])
    const { spec, points } = drawingOf(['part', 'size'], rows, { as: 'pie', x: 'part', y: ['size'] })
    const { color } = spec['encoding'] as { color: { scale: { range: string[] } } }
    assert.equal(points.length, 30)
    assert.equal(new Set(color.scale.range).size, points.length)
  })

  const columns = ['day', 'sold', 'by']
  const rows = [
    ['2026-01-01', 3, 'Ann'],
    ['2026-01-02', -1, 'Bob'],
  ]
  const refused: readonly (readonly [
    string,
    Partial<Parameters<typeof drawingOf>[2]>,
    unknown[][],
    RegExp,
  ])[] = [
    ['a column that is not there', { y: ['sodl'] }, rows, /no column "sodl"; did you mean "sold"\?/],
    ['no rows', {}, [], /answers no rows/],
    ['a text for a number', { y: ['by'] }, rows, /by holds "Ann", which is no number/],
    ['a blank for a number', {}, [['2026-01-01', ' ', 'Ann']], /which is no number/],
    ['negative sectors', { as: 'pie' }, rows, /no negative parts/],
    ['two rows of one label', {}, [rows[0]!, rows[0]!], /several rows have the same day/],
    ['sectors by series', { as: 'donut', series: 'by' }, rows, /one y and no series/],
    ['too many points', {}, Array.from({ length: 2001 }, (_, n) => [`d${n}`, n, 'x']), /more than 2000/],
    [
      'too many series',
      { series: 'by' },
      Array.from({ length: 31 }, (_, n) => ['d', n, `s${n}`]),
      /31 series/,
    ],
    ['a label that is too long', {}, [['x'.repeat(501), 1, 'a']], /longer than 500/],
  ]
  for (const [what, changes, given, why] of refused)
    it(`is refused for ${what}`, () => {
      const drawing = { as: 'bar', x: 'day', y: ['sold'], ...changes } as const
      assert.throws(() => drawingOf(columns, given, drawing), { code: 'invalid', message: why })
    })

  it('has a point for each number of the rows, and none for an empty cell', () => {
    const { points } = drawingOf(columns, [...rows, ['2026-01-03', null, 'Ann']], {
      as: 'line',
      x: 'day',
      y: ['sold'],
    })
    assert.deepEqual(points, [
      { label: '2026-01-01', value: 3 },
      { label: '2026-01-02', value: -1 },
    ])
  })
})
