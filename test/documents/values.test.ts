import { compared, tester } from '#state/questions/conditions.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { type FieldType, fieldTypes } from '../../src/documents/platform/platform.ts'
import { readValue } from '../../src/documents/values.ts'

const read = (type: FieldType, value: unknown, more: { length?: number; precision?: number } = {}) =>
  readValue({ type, options: ['Open', 'Done'], ...more }, value)

describe('values', () => {
  const good: [FieldType, unknown, unknown][] = [
    ['text', 'Grüße', 'Grüße'],
    ['text', 12, '12'],
    ['text', '   ', null],
    ['long_text', 'a\nb\tc', 'a\nb\tc'],
    ['text', 'safe\u202Etxt.exe\u{E0041}\u0000', 'safetxt.exe'],
    ['number', '1.5', 1.5],
    ['integer', '42', 42],
    ['currency', 1.005, 1.01],
    ['percent', 33.3333, 33.3333],
    ['check', 1, true],
    ['check', 'false', false],
    ['date', '2024-02-29', '2024-02-29'],
    ['datetime', '2026-03-31T14:30:00+02:00', '2026-03-31T12:30:00.000Z'],
    ['datetime', '2026-03-31 14:30:00', '2026-03-31T14:30:00.000Z'],
    ['datetime', '2026-03-31', '2026-03-31T00:00:00.000Z'],
    ['select', 'Open', 'Open'],
    ['json', { a: [1] }, { a: [1] }],
    ['link', '', null],
    ['text', null, null],
  ]
  for (const [type, value, stored] of good)
    it(`${type} takes ${JSON.stringify(value)}`, () => assert.deepEqual(read(type, value), { value: stored }))

  const bad: [FieldType, unknown, RegExp][] = [
    ['text', {}, /must be a text/],
    ['text', 'a\nb', /must be one line/],
    ['text', 'x'.repeat(501), /at most 500 characters, not 501/],
    ['number', '1,5', /must be a number/],
    ['number', Infinity, /must be a number/],
    ['integer', 1.5, /whole number/],
    ['integer', 2 ** 53, /whole number/],
    ['check', 'yes', /true or false/],
    ['date', '2026-02-29', /must be a date such as/],
    ['date', '31.3.2026', /must be a date/],
    ['datetime', '2026-13-01T00:00:00Z', /must be a date and time/],
    ['select', 'open', /must be one of Open, Done, not "open"; did you mean "Open"\?/],
    ['json', 'x'.repeat(70_000), /at most 65536 bytes/],
    ['link', {}, /name of a document/],
    ['table', 'x', /table of rows/],
  ]
  for (const [type, value, problem] of bad)
    it(`${type} refuses ${JSON.stringify(value)?.slice(0, 30) ?? ''}`, () => {
      const result = read(type, value)
      assert.ok('problem' in result)
      assert.match(result.problem, problem)
    })

  it('are stable: what was stored is taken again as it is', () => {
    fc.assert(
      fc.property(fc.constantFrom(...fieldTypes), fc.jsonValue(), (type, value) => {
        const first = read(type, value)
        if (!('value' in first)) return
        assert.deepEqual(read(type, first.value), first)
      }),
    )
  })
})

describe('like', () => {
  const like = (pattern: string, text: unknown) => tester(compared('f', 'like', pattern))({ f: text })
  it('takes % and _, any case, and a part without either', () => {
    assert.ok(like('acme', 'The ACME Company'))
    assert.ok(like('%co_pany', 'The ACME Company'))
    assert.ok(!like('acme%', 'The ACME Company'))
    assert.ok(like('a%b%c', 'a--b--b--c'))
    assert.ok(!like('%', null))
  })

  it('is quick for patterns that make others slow', () => {
    assert.ok(!like(`${'%a'.repeat(200)}b`, 'a'.repeat(20_000)))
  })
})
