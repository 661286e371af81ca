/** A first look agrees with what is compiled wherever it answers, and answers almost always. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileSchema, FirstLook } from '../src/file-schema.ts'
import { schemaPatterns } from '../src/pattern.ts'
import { compileSchema } from '../src/schema.ts'

type Schema = Readonly<Record<string, unknown>>

const texts = {
  pattern: schemaPatterns,
  format: (name: string) => (name === 'email' ? /^\w+@\w+$/ : undefined),
}

/** The schemas: each asks for something else, and some for nothing that the value's type has. */
const schemas: readonly Schema[] = [
  { type: 'string', minLength: 2, maxLength: 3 },
  { minLength: 2 },
  { type: ['string', 'null'], pattern: '^a+$', title: 'some a' },
  { type: 'integer', minimum: 1, maximum: 3, description: 'few' },
  { type: 'number', maximum: 1.5 },
  { enum: ['a', 1, null, true] },
  { const: 'a' },
  { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 2 },
  { type: 'array', uniqueItems: true },
  { type: 'object', required: ['a'], properties: { a: { type: 'string' } }, additionalProperties: false },
  { properties: { a: true, b: false }, minProperties: 1 },
  { type: 'object', additionalProperties: { type: 'integer' }, propertyNames: { maxLength: 1 } },
  { type: 'object', properties: { toString: { type: 'string' } }, additionalProperties: false },
  { oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }, { maxLength: 1 }] },
  { anyOf: [{ type: 'string' }, { const: 1 }], maxProperties: 1 },
  { type: 'object', maxProperties: 1 },
  { type: 'object', properties: { a: { oneOf: [{ const: 1 }, { type: 'integer' }] } }, 'x-asked': 'a' },
]

const words = ['', 'a', 'aa', 'aaaa', 'b', '😀', '😀😀', '\ud83d']
const lists: readonly unknown[] = [
  [],
  [1],
  [1, 1],
  [1, '1'],
  [1, 2, 3],
  ['a'],
  [[1], [1]],
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ],
]
const objects: readonly unknown[] = [
  {},
  { a: 'a' },
  { a: 1 },
  { a: 2 },
  { a: undefined },
  { a: 'a', b: 1 },
  { c: 1 },
  { toString: 'x' },
]
const inherited: readonly unknown[] = [JSON.parse('{"__proto__": 1}'), { constructor: 1 }, { long: 1 }]
const plain = [null, true, false, 0, 1, 1.5, 2, 4, -1, 1e21, NaN, Infinity]
const values: readonly unknown[] = [...plain, ...words, ...lists, ...objects, ...inherited]

/** Returns the check that is compiled. */
function compiled(schema: Schema, defaults = false): (value: unknown) => boolean {
  const check = compileSchema(structuredClone(schema), { defaults })
  return (value) => check(value).length === 0
}

describe('a first look', () => {
  it('answers as what is compiled does, or not at all', () => {
    let unknown = 0
    for (const schema of schemas) {
      const look = new FirstLook(schema, false, texts)
      const check = compiled(schema)
      for (const value of values) {
        const fits = look.at(value)
        if (fits === undefined) unknown++
        else assert.equal(fits, check(value), `${JSON.stringify(schema)} of ${JSON.stringify(value)}`)
      }
    }
    assert.equal(unknown, 0)
  })

  it('does not know what it cannot read, even beside what fits', () => {
    for (const asked of [
      { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } },
      { allOf: [{ type: 'string' }] },
      { anyOf: [{ type: 'string' }, { unheard: 1 }] },
      { not: { type: 'number' } },
      { enum: [{ a: 1 }, 'a'] },
      { format: 'url' },
      { oneOf: [{ type: 'string' }, { if: {} }] },
      { unheard: 1 },
    ])
      assert.equal(
        new FirstLook({ type: 'string', ...asked }, false, texts).at('a'),
        undefined,
        JSON.stringify(asked),
      )
    const small = { type: 'integer', format: 'int32' }
    assert.equal(new FirstLook(small, false, texts).at(2 ** 40), undefined)
    assert.equal(compileSchema(small)(2 ** 40).length, 1, 'a number beyond its format got through')
    const parts = { properties: { a: {} }, patternProperties: { '^x': {} }, additionalProperties: false }
    assert.equal(new FirstLook(parts, false, texts).at({ x: 1 }), undefined)
  })

  it('fills in what is missing, each time anew, as what is compiled does', () => {
    const inner = {
      type: 'object',
      properties: { list: { type: 'array', default: [1] }, on: { default: false } },
    }
    const schema = {
      type: 'object',
      required: ['part', 'name'],
      properties: { part: { ...inner, default: {} }, name: { type: 'string', default: 'x' } },
      additionalProperties: false,
    }
    const given = [{}, { part: {} }, { part: { list: [] }, name: 'y' }, { name: 1 }, { other: 1 }]
    const look = new FirstLook(schema, true, texts)
    const check = compiled(schema, true)
    for (const value of given) {
      const [looked, checked] = [structuredClone(value), structuredClone(value)]
      assert.equal(look.at(looked), check(checked), JSON.stringify(value))
      assert.deepEqual(looked, checked)
    }
    const [one, other] = [{ part: {} }, { part: {} }] as { part: { list?: unknown[] } }[]
    look.at(one)
    look.at(other)
    one!.part.list!.push(2)
    assert.deepEqual(other!.part.list, [1])
  })
})

describe('a check', () => {
  it('tells of a wrong schema also where a look would pass the value', () => {
    const wrong = fileSchema({ type: 'string', pattern: '(' })
    assert.deepEqual(wrong(1).length, 1)
    assert.throws(() => fileSchema({ type: 'string', unheard: 1 })('a'), /unheard/)
  })

  it('finds the same problems behind many values that were only looked at', () => {
    const check = fileSchema({ type: 'object', properties: { a: { maxLength: 2 } } })
    const first = check({ a: 'abc' })
    for (let time = 0; time < 300; time++) assert.deepEqual(check({ a: 'ab' }), [])
    assert.deepEqual(check({ a: 'abc' }), first)
    assert.deepEqual(first, [{ path: ['a'], message: 'must have at most 2 characters' }])
  })
})
