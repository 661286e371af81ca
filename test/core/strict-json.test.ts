import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assert as forAll, json, property } from 'fast-check'
import { JsonFault, JsonFloat, parseLossless, parseStrict } from '../../src/core/strict-json.ts'

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

describe('lossless JSON', () => {
  it('keeps what JavaScript loses: 1.0, big integers, the order of keys', () => {
    const value = parseLossless(
      '{"10": 1.0, "9": 12345678901234567890, "f": 1.5, "e": 1e3, "l": [1, -0, null, true, "a\\n"]}',
    )
    assert.ok(value instanceof Map)
    assert.deepEqual([...value.keys()], ['10', '9', 'f', 'e', 'l'])
    assert.deepEqual(value.get('10'), new JsonFloat(1))
    assert.equal(value.get('9'), 12345678901234567890n)
    assert.equal(value.get('f'), 1.5)
    assert.deepEqual(value.get('e'), new JsonFloat(1000))
    assert.deepEqual(value.get('l'), [1, -0, null, true, 'a\n'])
  })

  it('agrees with JSON.parse on everything that JSON.parse keeps', () => {
    forAll(
      property(json(), (text) => {
        assert.deepEqual(plain(parseLossless(text)), JSON.parse(text))
      }),
    )
  })
})

function plain(value: unknown): unknown {
  if (value instanceof JsonFloat) return value.value
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(plain)
  if (!(value instanceof Map)) return value
  const object: Record<string, unknown> = {}
  for (const [key, item] of value as Map<string, unknown>) {
    Object.defineProperty(object, key, {
      value: plain(item),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return object
}
