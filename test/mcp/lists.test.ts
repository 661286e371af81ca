import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modern, promptOf, skillOf, startServer } from './server.ts'
import { echo } from './tools-for-tests.ts'
import { readSkill } from '../../src/tools/reading/read-skill.ts'

const pageSize = (size: number) => ({
  settings: (settings: { mcp: { page_size: number } }) => void (settings.mcp.page_size = size),
})
const names = Array.from({ length: 7 }, (_, index) => `prompt_${index}`)

describe('list methods', () => {
  it('give pages that follow one another, and no empty cursor', async (t) => {
    const server = await startServer(t, {
      prompts: names.map((name) => promptOf(name)),
      ...pageSize(3),
    })
    for (const revision of ['2025-06-18', modern]) {
      const seen: string[] = []
      let cursor: string | undefined
      let pages = 0
      do {
        const { json } = await server.call('prompts/list', cursor === undefined ? {} : { cursor }, {
          revision,
        })
        seen.push(...json.result.prompts.map(({ name }: { name: string }) => name))
        cursor = json.result.nextCursor
        assert.notEqual(cursor, '')
        pages++
      } while (cursor !== undefined)
      assert.deepEqual(seen, names)
      assert.equal(pages, 3)
    }
  })

  it('go on after the item where they were, when the list changed between two pages', async (t) => {
    const some = (from: number) => ({
      prompts: names.slice(from).map((name) => promptOf(name)),
      ...pageSize(3),
    })
    const server = await startServer(t, some(0))
    const { json } = await server.call('prompts/list')
    server.reload(some(2))
    const next = await server.call('prompts/list', { cursor: json.result.nextCursor })
    assert.deepEqual(
      next.json.result.prompts.map(({ name }: { name: string }) => name),
      ['prompt_3', 'prompt_4', 'prompt_5'],
    )
  })

  it('refuse a cursor that is not theirs', async (t) => {
    const server = await startServer(t, {
      prompts: names.map((name) => promptOf(name)),
      tools: [echo],
      ...pageSize(3),
    })
    const { json } = await server.call('prompts/list')
    const cursor = json.result.nextCursor as string
    const cases: [string, unknown][] = [
      ['prompts/list', `${cursor}x`],
      ['prompts/list', ''],
      ['prompts/list', 7],
      ['prompts/list', Buffer.from('{"at":0}').toString('base64url')],
      ['tools/list', cursor],
    ]
    for (const [method, wrong] of cases) {
      const answer = await server.call(method, { cursor: wrong })
      assert.equal(answer.status, 200)
      assert.equal(answer.json.error.code, -32602, `${method} ${String(wrong)}`)
    }
  })

  it('say only where the guide is, for tools that a skill teaches in replace mode', async (t) => {
    const skill = { ...skillOf('echoing', { 'SKILL.md': '# Echo' }), tools: ['echo'] }
    const server = await startServer(t, {
      tools: [{ ...echo, description: 'Gives back what it is given. Much more about it.' }],
      skills: [skill],
      settings: (settings) => (settings.mcp.skill_mode = 'replace'),
    })
    const { json } = await server.call('tools/list')
    assert.equal(json.result.tools[0].description, 'Read the skill echoing first.')
  })

  it('name the skills in the instructions, so that a model knows when to read which', async (t) => {
    const server = await startServer(t, {
      tools: [readSkill],
      skills: [
        skillOf('demo', { 'SKILL.md': '' }),
        skillOf('secret', { 'SKILL.md': '' }, ['System Manager']),
      ],
    })
    const { json } = await server.call('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    assert.match(json.result.instructions, /read_skill/)
    assert.match(json.result.instructions, /- demo: How to do demo/)
    assert.doesNotMatch(json.result.instructions, /secret/)
  })

  it('say whom the model works for, with roles and day, before all skills', async (t) => {
    const server = await startServer(t, { tools: [readSkill], skills: [skillOf('demo', { 'SKILL.md': '' })] })
    const { json } = await server.call('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    assert.match(
      json.result.instructions.slice(0, 512),
      /You work for .+ \(.+@.+; roles: .*Assistant User.*\), who is "me" in filters\. Today is \d{4}-\d\d-\d\d; days and times are UTC\./,
    )
  })

  it('say which language and time zone the person has chosen, and the currency of the site', async (t) => {
    const server = await startServer(t, {
      settings: (settings) => (settings.documents.currency = 'CHF'),
      choices: { language: 'de', timezone: 'Asia/Tokyo' },
    })
    const { json } = await server.call('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    assert.match(json.result.instructions, /They read German\. Their pages show times of Asia\/Tokyo\./)
    assert.match(json.result.instructions, /days and times are UTC\. Amounts are in CHF\./)
  })

  it('leave instructions of the site as they are written', async (t) => {
    const own = 'Ask before you write.\n'
    const server = await startServer(t, {
      tools: [readSkill],
      skills: [skillOf('demo', { 'SKILL.md': '' })],
      settings: (settings) => (settings.mcp.instructions = own),
    })
    const { json } = await server.call('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    assert.equal(json.result.instructions, own)
  })
})

describe('completion/complete', () => {
  it('suggests values for prompt arguments and for skills', async (t) => {
    const server = await startServer(t, {
      prompts: [promptOf('greet')],
      skills: [skillOf('demo', { 'SKILL.md': '', 'references/a.md': '' })],
    })
    const complete = async (ref: object, name: string, value?: string): Promise<any> =>
      (await server.call('completion/complete', { ref, argument: { name, value } })).json
    const prompt = { type: 'ref/prompt', name: 'greet' }
    assert.deepEqual((await complete(prompt, 'who', 'm')).result.completion, {
      values: ['moon'],
      total: 1,
      hasMore: false,
    })
    assert.deepEqual((await complete(prompt, 'who', '')).result.completion.values, ['world', 'moon'])
    const template = { type: 'ref/resource', uri: 'skill://{name}/{+path}' }
    assert.deepEqual((await complete(template, 'name', '')).result.completion.values, ['demo'])
    assert.deepEqual((await complete(template, 'path', 'ref')).result.completion.values, ['references/a.md'])
    for (const ref of [
      { type: 'ref/prompt', name: 'nothing' },
      { type: 'ref/resource', uri: 'x' },
      { type: 'x' },
      {},
    ]) {
      assert.equal((await complete(ref, 'who')).error.code, -32602)
    }
  })
})
