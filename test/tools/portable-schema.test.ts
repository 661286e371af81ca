/** Every tool is listed with a schema that the models of all vendors take, whoever wrote it; calls are checked by what was written. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from '../helpers/random.ts'
import { builtInTools } from '../../src/tools/index.ts'
import { optionalTools } from '../../src/tools/gate/optional-tools.ts'
import { portable } from '#leaf/portable-schema.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { admin, siteOf, someone } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'
import { everyTool } from './every-tool.ts'
import { vendorFaults } from './vendor-schemas.ts'

const listed = (inputSchema: Record<string, unknown>): Parameters<typeof vendorFaults>[0] => ({
  name: 'tool',
  description: 'For a test.',
  inputSchema,
})
const ofOne = (property: unknown): any =>
  portable({ type: 'object', properties: { x: property } }).schema['properties']
const told = (input: Record<string, unknown>): string[] =>
  portable({ type: 'object', ...input }).changed.map(({ path, message }) => `${path.join('.')} ${message}`)

describe('a schema as it is listed', () => {
  it('has one type each, the first that was written, and items in every list', () => {
    assert.deepEqual(ofOne({ type: ['object', 'array'], description: 'd' }), {
      x: { type: 'object', description: 'd' },
    })
    assert.deepEqual(ofOne({ type: ['null', 'integer'], minimum: 1 }), { x: { type: 'integer' } })
    assert.deepEqual(ofOne({ type: 'array' }), { x: { type: 'array', items: { type: 'string' } } })
    assert.deepEqual(ofOne({}), { x: { type: 'string' } })
    assert.deepEqual(ofOne(true), { x: { type: 'string' } })
    assert.deepEqual(ofOne({ items: { type: ['string', 'null'] } }), {
      x: { type: 'array', items: { type: 'string' } },
    })
  })

  it('has no alternatives: those of one type are joined, of others the first stands', () => {
    assert.deepEqual(ofOne({ anyOf: [{ type: 'string' }, { type: 'null' }] }), { x: { type: 'string' } })
    assert.deepEqual(ofOne({ oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] }), {
      x: { type: 'string', enum: ['a', 'b'] },
    })
    assert.deepEqual(ofOne({ anyOf: [{ type: 'integer' }, { type: 'string' }] }), { x: { type: 'integer' } })
    const either = {
      oneOf: [
        { properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a', 'b'] },
        { properties: { a: { type: 'string' }, c: { type: 'number' } }, required: ['a', 'c'] },
      ],
    }
    assert.deepEqual(portable({ type: 'object', required: ['a'], ...either }).schema, {
      type: 'object',
      properties: { c: { type: 'number' }, a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
    })
    const all = {
      allOf: [
        { properties: { a: {} }, required: ['a'] },
        { properties: { b: {} }, required: ['b'] },
      ],
    }
    assert.deepEqual(portable({ type: 'object', ...all }).schema['required'], ['a', 'b'])
  })

  it('follows references, and ends where one is within itself', () => {
    const $defs = {
      node: { type: 'object', properties: { name: { type: 'string' }, child: { $ref: '#/$defs/node' } } },
    }
    const { schema, changed } = portable({
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' } },
      $defs,
    })
    assert.deepEqual((schema['properties'] as any).root, {
      type: 'object',
      properties: { name: { type: 'string' }, child: { type: 'object' } },
    })
    assert.match(changed[0]!.message, /within itself/)
    assert.deepEqual(vendorFaults(listed(schema)), [])
  })

  it('tells what it leaves out, at its place', () => {
    const properties = {
      when: { type: ['string', 'number'] },
      größe: { type: 'string' },
      map: { type: 'object', additionalProperties: { type: 'string' } },
    }
    assert.deepEqual(told({ properties, if: {}, not: {} }).sort(), [
      'if is not listed, since some models do not take it',
      'not is not listed, since some models do not take it',
      'properties.größe is not listed: some models take no such name',
      'properties.map.additionalProperties is listed as open, since some models take no schema there',
      'properties.when.type is listed as string, since some models take one type',
    ])
    assert.match(
      told({ properties, required: ['größe'] }).join(),
      /some models take no argument of this name/,
    )
    assert.deepEqual(told({ properties: { a: { type: 'string', format: 'email', examples: ['x'] } } }), [])
  })

  const leaf = fc.oneof(
    fc.constantFrom<unknown>(
      {},
      true,
      { type: 'string' },
      { type: ['string', 'null'] },
      { type: 'array' },
      { enum: [1, 2, null] },
      { const: 'a' },
      { enum: ['a', 'b'] },
      { $ref: '#/$defs/a' },
      { $ref: '#/nowhere' },
      { type: 'integer', exclusiveMinimum: 0, format: 'int64' },
      { type: 'string', format: 'email', pattern: '^a' },
      { type: 'object', patternProperties: { '^x': {} } },
      { not: {} },
    ),
  )
  const { schema: drawn } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({
        allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
        type: fc.constant('object'),
      }),
      fc.record({ type: fc.constantFrom<unknown>('array', ['array', 'string']), items: tie('schema') }),
      fc.record({
        type: fc.constantFrom<unknown>('object', ['object', 'array']),
        properties: fc.dictionary(fc.constantFrom('a', 'b', 'c d'), tie('schema')),
        required: fc.subarray(['a', 'b', 'z']),
      }),
    ),
  }))

  it('is taken by all, whatever was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('p', 'q'), drawn), drawn, (properties, a) => {
        const { schema } = portable({ type: 'object', properties, $defs: { a } })
        assert.deepEqual(
          vendorFaults(listed(schema)).filter((fault) => !/c d: name|more than 100/.test(fault)),
          [],
        )
      }),
      { numRuns: 500 },
    )
  })

  it('is that of every tool of the program', async (t) => {
    const { catalogue } = await openOffice(t, { tools: everyTool() })
    const offered = catalogue.offered(admin)
    assert.ok(offered.length >= builtInTools.length + optionalTools.length)
    for (const { tool, listedInput } of offered)
      assert.deepEqual(vendorFaults({ ...tool, inputSchema: listedInput }), [], tool.name)
  })

  it('is that of a tool of anybody, while its calls are checked by the one that was written', async (t) => {
    const tool: Tool = {
      name: 'theirs',
      title: 'Theirs',
      description: 'Of another server.',
      category: 'read_only',
      input: {
        type: 'object',
        properties: { when: { type: ['array', 'string'] } },
        anyOf: [{ required: ['when'] }],
      },
      run: (args) => Promise.resolve(args),
    }
    const files = siteOf({
      'config/doctypes/a.yaml': 'doctype: Thing\nfields: [{fieldname: title, type: text}]',
    })
    const { catalogue, answer, call } = await openOffice(t, { files, tools: [tool] })
    const who = someone('x@example.com', 'Assistant User')
    const [offered] = catalogue.offered(who)
    assert.deepEqual(offered!.listedInput, {
      type: 'object',
      properties: { when: { type: 'array', items: { type: 'string' } } },
      required: ['when'],
    })
    assert.deepEqual(await answer(who, 'theirs', { when: 'now' }), { when: 'now' })
    assert.equal((await call(who, 'theirs', {})).isError, true)
  })
})
