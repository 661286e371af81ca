import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compileSchema } from '../../src/core/schema.ts'
import { builtInTools } from '../../src/tools/index.ts'
import type { OfferedTool } from '../../src/tools/catalogue.ts'
import { admin, hr, plain, sales } from '../documents/trading-company.ts'
import { openOffice } from './offices.ts'

describe('every tool', () => {
  for (const tool of builtInTools)
    it(`${tool.name} is described so that a model can call it`, () => {
      assert.match(tool.name, /^[a-z_]{1,64}$/)
      assert.ok(tool.title.length > 0)
      assert.ok(tool.description.length > 20 && tool.description.length < 1000)
      assert.equal(tool.input['type'], 'object')
      assert.equal(tool.input['additionalProperties'], false)
      assert.deepEqual(undescribed(tool.input, ''), [])
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
      builtInTools.filter((tool) => !tool.output && !tool.largeOutput).map(({ name }) => name),
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
