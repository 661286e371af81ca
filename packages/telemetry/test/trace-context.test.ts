import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readTraceContext, traceparentOf } from '#telemetry/trace-context.ts'

const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

describe('a traceparent', () => {
  it('is read with its trace, span and sampling, and written as it was', () => {
    for (const [flags, sampled] of [
      ['01', true],
      ['00', false],
      ['03', true],
    ] as const) {
      const read = readTraceContext(`00-${trace}-${span}-${flags}`)
      assert.deepEqual(read, { traceId: trace, spanId: span, sampled })
      assert.equal(traceparentOf(read), `00-${trace}-${span}-${sampled ? '01' : '00'}`)
    }
  })

  it('of a later version may say more after the flags', () => {
    assert.equal(readTraceContext(`01-${trace}-${span}-01-what-comes`)?.traceId, trace)
  })

  it('that is not one counts as absent', () => {
    for (const text of [
      undefined,
      null,
      7,
      ['00'],
      '',
      `ff-${trace}-${span}-01`,
      `00-${'0'.repeat(32)}-${span}-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-${span}-01`,
      `00-${trace}-${span}-01-more`,
      `00-${trace}-${span}-1`,
      ` 00-${trace}-${span}-01`,
    ])
      assert.equal(readTraceContext(text), undefined, JSON.stringify(text))
  })

  it('brings its tracestate along unless that is too long or not printable', () => {
    const parent = `00-${trace}-${span}-01`
    assert.equal(readTraceContext(parent, 'vendor=1,other=2')?.state, 'vendor=1,other=2')
    for (const state of [undefined, 7, '', 'x'.repeat(513), 'a=\u0007', 'a=ä'])
      assert.equal(readTraceContext(parent, state)?.state, undefined)
  })
})
