import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assert as forAll, json, property } from '../helpers/random.ts'
import { JsonFault, parseStrict } from '../../src/core/strict-json.ts'

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
