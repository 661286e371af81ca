import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assert as forAll, json, property } from '../../../test/helpers/random.ts'
import { jsonIn, JsonFault, newJsonBudget, parseStrict } from '#leaf/strict-json.ts'

describe('strict JSON', () => {
  it('reads every JSON value as JSON.parse does', () => {
    forAll(
      property(json(), (text) => {
        const expected: unknown = JSON.parse(text)
        if (text.includes('__proto__')) return
        assert.deepEqual(parseStrict(text, 100), expected)
      }),
    )
  })

  it('refuses the same key twice, at any depth, however it is written', () => {
    for (const text of ['{"a":1,"a":2}', '{"x":[{"a":1,"b":2,"a":1}]}', '{"a":1,"\\u0061":2}']) {
      assert.throws(() => parseStrict(text, 100), { name: 'JsonFault', kind: 'refused' }, text)
    }
    assert.deepEqual(parseStrict('{"a":"\\"b\\":1","c":":"}', 100), { a: '"b":1', c: ':' })
  })

  it('refuses __proto__ as a key and allows it as a value', () => {
    assert.throws(() => parseStrict('{"__proto__":{}}', 100), /__proto__/)
    assert.throws(() => parseStrict('{"a":[{"\\u005f_proto__":1}]}', 100), /__proto__/)
    assert.deepEqual(parseStrict('{"a":"__proto__"}', 100), { a: '__proto__' })
  })

  it('refuses depth before it builds anything, even a hundred thousand levels', () => {
    assert.throws(() => parseStrict('['.repeat(100_000), 100), { kind: 'refused' })
    assert.doesNotThrow(() => parseStrict(`${'['.repeat(100)}${']'.repeat(100)}`, 100))
  })

  it('bounds members, values, depth and letters by one cost, before it builds anything', () => {
    const members = (count: number): string =>
      `{${Array.from({ length: count }, (_, n) => `"k${n}":0`).join(',')}}`
    const values = (count: number): string => `[${'1,'.repeat(count)}1]`
    const deep = (count: number): string =>
      `[${Array.from({ length: count }, () => '['.repeat(90) + ']'.repeat(90)).join(',')}]`
    const letters = `"${'a'.repeat(4_000_000)}"`
    const refused = { kind: 'refused', message: /all together at most 150000/ }
    for (const one of [members(28_000), values(140_000), deep(250), letters])
      assert.doesNotThrow(() => parseStrict(one, 100))
    for (const one of [members(31_000), values(151_000), deep(400)])
      assert.throws(() => parseStrict(one, 100), refused)
    // What each alone may be, they may not be together.
    for (const other of [values(60_000), deep(150), letters])
      assert.throws(() => parseStrict(`[${members(27_000)},${other}]`, 100), refused)
  })

  it('reads what a document may have: a thousand rows of twenty fields, and four megabytes of text', () => {
    const row = `{${Array.from({ length: 20 }, (_, n) => `"field_${n}":"some value"`).join(',')}}`
    const rows = Array.from({ length: 1000 }, () => row).join(',')
    const text = `{"arguments":{"data":{"rows":[${rows}],"notes":"${'a'.repeat(3_000_000)}"}}}`
    assert.doesNotThrow(() => parseStrict(text, 100))
  })

  it('counts the JSON that stands in several texts of a request together', () => {
    const budget = newJsonBudget()
    const text = `[${'1,'.repeat(60_000)}1]`
    assert.ok(Array.isArray(jsonIn(text, budget)))
    assert.ok(Array.isArray(jsonIn(text, budget)))
    assert.equal(jsonIn(text, budget), undefined)
  })

  it('calls everything else that is wrong a syntax fault', () => {
    for (const text of [
      '',
      '{',
      '"',
      '"\\',
      '{"a"}',
      '01',
      'NaN',
      '{"a":1,}',
      "{'a':1}",
      '\ufeff{}',
      '{}x',
    ]) {
      assert.throws(
        () => parseStrict(text, 100),
        (error) => error instanceof JsonFault && error.kind === 'syntax',
        text,
      )
    }
  })
})
