import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileSchema } from '#leaf/schema.ts'
import type { Principal } from '../../src/core/principal.ts'
import { builtInTools } from '../../src/tools/index.ts'
import type { OfferedTool } from '../../src/tools/gate/catalogue.ts'
import { admin, hr, plain, sales } from '../documents/trading-company.ts'
import { everyTool } from './every-tool.ts'
import { openOffice } from './offices.ts'

/** Arguments whose names say all: a sentence about each is read by every model, in every conversation. */
const plainArguments = new Set(
  'doctype report_name name names id data submit fields query format offset dry_run comment file_name include_columns include_filters include_history metrics.[].field metrics.[].function metrics.[].as'.split(
    ' ',
  ),
)

describe('every tool', () => {
  for (const tool of builtInTools)
    it(`${tool.name} is described so that a model can call it`, () => {
      assert.match(tool.name, /^[a-z_]{1,64}$/)
      assert.ok(tool.title.length > 0)
      assert.ok(tool.description.length > 20 && tool.description.length < 1000)
      assert.equal(tool.input['type'], 'object')
      assert.equal(tool.input['additionalProperties'], false)
      assert.deepEqual(
        undescribed(tool.input, '').filter((name) => !plainArguments.has(name)),
        [],
      )
      assert.ok(tool.example, 'has an example')
      assert.deepEqual(compileSchema(tool.input)(tool.example), [])
    })

  it('that declares the shape of its answers answers in it', async (t) => {
    const office = await openOffice(t)
    const silent: string[] = []
    for (const { name, input, example, ...tool } of builtInTools) {
      const output = tool.output ?? tool.largeOutput
      if (!output) continue
      const dryRun = 'dry_run' in (input['properties'] as object) && { dry_run: true }
      const { isError, structured, text } = await office.call(admin, name, { ...example, ...dryRun })
      if (isError) silent.push(`${name}: ${text}`)
      else assert.deepEqual(compileSchema(output)(structuredClone(structured)), [], `${name}: ${text}`)
    }
    assert.ok(silent.length < 8, silent.join('\n'))
    assert.deepEqual(
      everyTool()
        .filter((tool) => !tool.output && !tool.largeOutput)
        .map(({ name }) => name),
      ['read_skill'],
      'text is not structured',
    )
  })

  it('that writes can be tried without writing', () => {
    const writers = builtInTools.filter((tool) => tool.category !== 'read_only')
    assert.ok(writers.length > 8)
    for (const tool of writers) {
      const { dry_run: dryRun } = tool.input['properties'] as Record<string, unknown>
      assert.ok(dryRun, tool.name)
    }
  })
})

describe('a write whose answer would be too long', () => {
  const long = '"'.repeat(5000)
  const limits = { max_result_bytes: 1000 }
  const order = { customer: 'Müller Bau', items: [{ item: 'ITEM-1', qty: 2, rate: 3 }] }
  const writes: [tool: string, args: object, as?: Principal][] = [
    ['create_document', { doctype: 'Note', data: { title: 'Long', content: long } }],
    ['create_document', { doctype: 'Sales Order', data: { ...order, remarks: long }, submit: true }],
    ['update_document', { doctype: 'Task', name: 'TASK-00001', data: { description: long } }],
    ['bulk_update', { doctype: 'Task', filters: { name: ['like', '%'] }, data: { status: 'Done' } }, admin],
  ]
  for (const [tool, args, as = sales] of writes)
    it(`is told as done by ${tool}, in short`, async (t) => {
      const office = await openOffice(t, { limits })
      const many = { doctype: 'Task', data: { subject: 'Call the supplier' } }
      if (tool === 'bulk_update')
        for (let n = 0; n < 100; n++) await office.answer(sales, 'create_document', many)
      office.events.length = 0
      const { isError, text, structured } = await office.call(as, tool, args)
      assert.ok(!isError, text)
      assert.ok(Buffer.byteLength(text) <= limits.max_result_bytes, text)
      assert.match(text, /done, but the answer of \w+ has \d+ bytes, more than the 1000 allowed/)
      assert.deepEqual(JSON.parse(text), structured)
      const shape = builtInTools.find(({ name }) => name === tool)!
      assert.deepEqual(compileSchema((shape.output ?? shape.largeOutput)!)(structuredClone(structured)), [])
      const own = office.events.filter(({ type }) => type === 'tool.call')
      assert.deepEqual(
        own.map(({ status, success }) => [status, success]),
        [['ok', true]],
      )
      assert.ok(office.events.some(({ type }) => /^document\.(?:create|update)$/.test(type)))
    })

  it('is an error where it reads only, and nothing was written', async (t) => {
    const { call, events } = await openOffice(t, { limits })
    const note = { doctype: 'Note', data: { title: 'Long', content: long } }
    const { structured } = await call(sales, 'create_document', note)
    events.length = 0
    const refused = await call(sales, 'get_document', { doctype: 'Note', name: structured!['name'] })
    assert.ok(refused.isError)
    assert.match(refused.text, /more than the 1000 allowed; ask for fewer fields/)
    assert.deepEqual(
      events.map(({ type, status }) => [type, status]),
      [['tool.call', 'error']],
    )
  })
})

describe('the list of tools', () => {
  it('costs an ordinary user less than 4000 tokens', async (t) => {
    const { catalogue } = await openOffice(t)
    for (const who of [plain, sales, hr]) {
      const tokens = listTokens(catalogue.offered(who))
      assert.ok(tokens < 4000, `${who.user}: ${tokens}`)
      assert.ok(tokens > 2000)
    }
    assert.equal(catalogue.offered(admin).length, builtInTools.length)
  })
})

/** About how many tokens of a model's context the list of tools takes: four characters of JSON each. */
function listTokens(offered: readonly OfferedTool[]): number {
  const listed = offered.map(({ tool, annotations }) => ({
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.input,
    ...(tool.output && { outputSchema: tool.output }),
    annotations,
  }))
  return Math.ceil(JSON.stringify({ tools: listed }).length / 4)
}

/** The properties of a schema, at any depth, that say nothing about themselves. */
function undescribed(schema: Readonly<Record<string, unknown>>, path: string): string[] {
  const properties = (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>
  const below = Object.entries(properties).flatMap(([name, property]) => [
    ...(typeof property['description'] === 'string' && property['description'] !== ''
      ? []
      : [`${path}${name}`]),
    ...undescribed(property, `${path}${name}.`),
  ])
  const items = schema['items'] as Record<string, unknown> | undefined
  return items ? [...below, ...undescribed(items, `${path}[].`)] : below
}
