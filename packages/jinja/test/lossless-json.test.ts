import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../../../test/helpers/random.ts'
import { parseLossless } from '../src/lossless-json.ts'
import { compile } from '../src/template.ts'
import { Float } from '../src/values.ts'

function plain(value: unknown): unknown {
  if (value instanceof Map)
    return Object.fromEntries([...(value as Map<string, unknown>)].map(([key, one]) => [key, plain(one)]))
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Float) return value.value
  return typeof value === 'bigint' ? Number(value) : value
}

describe('JSON read without loss', () => {
  it('keeps floats, large integers and the order of keys', () => {
    const value = parseLossless('{"10": 1.0, "9": 12345678901234567890, "1": [1e2, -0, 2.5, -1.0]}') as Map<
      string,
      unknown
    >
    assert.deepEqual([...value.keys()], ['10', '9', '1'])
    assert.ok(value.get('10') instanceof Float)
    assert.equal(value.get('9'), 12345678901234567890n)
    assert.equal(
      compile('{{ v }}').render({ v: value }),
      "{'10': 1.0, '9': 12345678901234567890, '1': [100.0, 0, 2.5, -1.0]}",
    )
  })

  it('agrees with JSON.parse on everything else', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        assert.equal(JSON.stringify(plain(parseLossless(text))), JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 500 },
    )
  })

  it('refuses what JSON.parse refuses', () => {
    for (const text of [
      '',
      ' ',
      '{',
      '[1,]',
      '{"a":1,}',
      "{'a':1}",
      '{a:1}',
      '01',
      '1.',
      '.5',
      '+1',
      '--1',
      '1e',
      'NaN',
      'tru',
      '"\n"',
      '"\\x"',
      '"\\u12"',
      '"open',
      '1 2',
      '[1 2]',
      '{"a" 1}',
      '\u00a01',
      '[',
      '{"a":',
      'nul',
    ]) {
      assert.ok(!accepts(() => JSON.parse(text) as unknown), text)
      assert.throws(() => parseLossless(text), SyntaxError, text)
    }
    assert.throws(() => parseLossless('['.repeat(100_000)), /nested deeper than 200/)
  })

  it('accepts any mutation of JSON only when JSON.parse does', () => {
    const mutation = fc.tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', ',', '"', '}', ']', '0', '-', '.', 'e', '\\', ' '),
    )
    fc.assert(
      fc.property(mutation, ([json, at, insert]) => {
        const place = at % (json.length + 1)
        const text = json.slice(0, place) + insert + json.slice(place + 1)
        assert.equal(
          accepts(() => parseLossless(text)),
          accepts(() => JSON.parse(text) as unknown),
          text,
        )
      }),
      { numRuns: 2_000 },
    )
  })

  it('gives a key such as __proto__ no meaning', () => {
    const value = parseLossless('{"__proto__": {"x": 1}}') as Map<string, unknown>
    assert.ok(value.has('__proto__'))
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
  })
})

function accepts(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}
