import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drawingOf } from '../../src/analysis/drawing.ts'

describe('drawings of rows', () => {
  it('each of the sectors that a pie may have has a color of its own', () => {
    const rows = Array.from({ length: 40 }, (_, index) => [`Part ${index}`, index + 1])
    const { spec, points } = drawingOf(['part', 'size'], rows, { as: 'pie', x: 'part', y: ['size'] })
    const { color } = spec['encoding'] as { color: { scale: { range: string[] } } }
    assert.equal(points.length, 30)
    assert.equal(new Set(color.scale.range).size, points.length)
  })
})
