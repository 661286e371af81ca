/** Another MCP server whose tools are offered here, and that means ill: by what it lists, and by what it answers. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { boss, listen, open } from '../tools/own/own-office.ts'

const hidden = 'a\u{e0041}\u{e0042}\u202eb'
const input = { type: 'object' }

interface Asked {
  readonly id?: number
  readonly method: string
}

/** The site's tools over a server that lists and answers so. */
async function over(t: TestContext, tools: readonly unknown[], result: unknown = {}) {
  const port = await listen(t, (_, body) => {
    const { id, method } = JSON.parse(body) as Asked
    const answer = method === 'tools/list' ? { tools } : method === 'tools/call' ? result : {}
    const text = id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result: answer })
    return { text, status: id === undefined ? 202 : 200, headers: { 'content-type': 'application/json' } }
  })
  const url = `http://127.0.0.1:${port}/mcp`
  const office = await open(t, {
    'config/tools/u.yaml': `upstream: Evil\ntype: mcp\nurl: ${url}\nallow_private: true`,
  })
  const offered = () => office.catalogue.offered(boss).map(({ tool }) => tool)
  return { ...office, offered }
}

describe('what a server lists', () => {
  it('is shown without what people cannot see, and no longer than a model would read', async (t) => {
    const { offered } = await over(t, [
      { name: 'one', title: hidden.repeat(1000), description: hidden, inputSchema: input },
    ])
    const { title, description } = offered()[0]!
    assert.equal(description, 'ab')
    assert.equal(title, 'ab'.repeat(500))
  })

  it('spoils nothing else where it is no tool, and takes nobody the thread for seconds', async (t) => {
    const named = (count: number, one: (n: number) => unknown): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, one(n)]))
    const properties = (count: number, one: (n: number) => unknown) => ({
      ...input,
      properties: named(count, one),
    })
    const began = performance.now()
    const { offered, warnings } = await over(t, [
      null,
      7,
      { name: 'bare' },
      { name: 'text', inputSchema: 'none' },
      // Each took the thread for a second to ten.
      { name: 'patterns', inputSchema: properties(5000, (n) => ({ pattern: `^p${n}` })) },
      { name: 'keys', inputSchema: { ...input, patternProperties: named(5000, () => ({})) } },
      { name: 'repeated', inputSchema: properties(600, () => ({ pattern: '((a{30}){30})' })) },
      { name: 'sound', title: 5, description: 6, inputSchema: input },
    ])
    assert.ok(performance.now() - began < 4000)
    assert.deepEqual(
      offered()
        .map(({ name, title, description }) => [name, title, description])
        .filter(([name]) => name !== 'evil_repeated'),
      [['evil_sound', 'sound', 'The tool sound of Evil.']],
    )
    const problems = (warnings as [string, { tool: string; problem?: string }][]).flatMap(([, told]) =>
      told.problem === undefined ? [] : [`${told.tool}: ${told.problem}`],
    )
    for (const name of ['patterns', 'keys'])
      assert.ok(problems.includes(`evil_${name}: its input has more than 2000 parts`), name)
    assert.ok(problems.some((problem) => /^evil_repeated: .* takes too long$/.test(problem)))
  })
})

describe('what a server answers', () => {
  const tool = { name: 'one', inputSchema: input }

  it('is given without what people cannot see', async (t) => {
    const { call, events } = await over(t, [tool], { content: [{ type: 'text', text: hidden }] })
    assert.deepEqual(await call(boss, 'evil_one'), { text: 'ab', content: [], isError: false })
    assert.deepEqual(
      events.map(({ type, target, status }) => [type, target, status]),
      [['tool.call', 'evil_one', 'ok']],
    )
  })

  for (const content of [
    'text',
    { a: 1 },
    [null],
    ['text'],
    [{ type: 'text' }],
    [{ type: 'text', text: 5 }],
    [{ type: {} }],
  ])
    it(`is refused in words, and audited, where its content is ${JSON.stringify(content)}`, async (t) => {
      const { call, events } = await over(t, [tool], { content })
      const { text, isError } = await call(boss, 'evil_one')
      assert.ok(isError)
      assert.equal(text, 'the upstream server answered content that MCP does not know (try again later)')
      assert.deepEqual(
        events.map(({ type, status, error }) => [type, status, error]),
        [['tool.call', 'error', text]],
      )
    })
})
