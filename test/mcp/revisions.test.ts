import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modern, promptOf, skillOf, startServer } from './server.ts'
import { add, pictures } from './tools-for-tests.ts'

const all = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', modern]

describe('every revision', () => {
  it('gets only the fields of a tool that it knows', async (t) => {
    const server = await startServer(t, { tools: [add] })
    const fields: Record<string, string[]> = {}
    for (const revision of all) {
      const { json } = await server.call('tools/list', {}, { revision })
      fields[revision] = Object.keys(json.result.tools[0]).sort()
    }
    const old = ['description', 'inputSchema', 'name']
    const full = ['annotations', ...old, 'outputSchema', 'title'].sort()
    assert.deepEqual(fields, {
      '2024-11-05': old,
      '2025-03-26': ['annotations', ...old],
      '2025-06-18': full,
      '2025-11-25': [...full, 'icons'].sort(),
      [modern]: [...full, 'icons'].sort(),
    })
  })

  it('gets only content that its clients can show', async (t) => {
    const server = await startServer(t, { tools: [pictures, add] })
    const kinds: Record<string, string[]> = {}
    for (const revision of all) {
      const { json } = await server.call('tools/call', { name: 'pictures' }, { revision })
      kinds[revision] = json.result.content.map((block: { type: string }) => block.type)
      const sum = await server.call('tools/call', { name: 'add', arguments: { a: 1, b: 1 } }, { revision })
      assert.equal('structuredContent' in sum.json.result, revision >= '2025-06-18', revision)
      assert.equal(sum.json.result.content[0].text, '{"sum":2}')
    }
    assert.deepEqual(kinds, {
      '2024-11-05': ['text', 'image', 'resource', 'text'],
      '2025-03-26': ['text', 'image', 'audio', 'text'],
      '2025-06-18': ['text', 'image', 'audio', 'resource_link'],
      '2025-11-25': ['text', 'image', 'audio', 'resource_link'],
      [modern]: ['text', 'image', 'audio', 'resource_link'],
    })
  })

  it('gets the title of a prompt, which the specification names', async (t) => {
    const server = await startServer(t, { prompts: [promptOf('greet')] })
    for (const revision of all) {
      const { json } = await server.call('prompts/list', {}, { revision })
      assert.equal(json.result.prompts[0].title, 'Prompt greet', revision)
    }
  })

  it('gets wrong arguments as an error up to 2025-06-18 and as a result after', async (t) => {
    const server = await startServer(t, { tools: [add] })
    for (const revision of all) {
      const { status, json } = await server.call('tools/call', { name: 'add' }, { revision })
      assert.equal(status, 200)
      if (revision <= '2025-06-18') assert.equal(json.error.code, -32602, revision)
      else assert.equal(json.result.isError, true, revision)
    }
  })

  it('gets its own code for a resource that does not exist', async (t) => {
    const server = await startServer(t)
    for (const revision of all) {
      const { json } = await server.call('resources/read', { uri: 'skill://nothing/SKILL.md' }, { revision })
      assert.equal(json.error.code, revision === modern ? -32602 : -32002, revision)
    }
  })

  it('refuses a batch with -32600', async (t) => {
    const server = await startServer(t)
    for (const revision of all) {
      const { status, json } = await server.send('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', {
        'mcp-protocol-version': revision,
      })
      assert.equal(json.error.code, -32600)
      assert.equal(status, revision === modern ? 400 : 200)
    }
  })

  it('is 2025-03-26 when a request does not say, unless its session id does', async (t) => {
    const server = await startServer(t, { tools: [add] })
    const bare = await server.call('tools/list', {}, { revision: undefined })
    assert.equal('title' in bare.json.result.tools[0], false)

    const hello = await server.call(
      'initialize',
      { protocolVersion: '2025-11-25', capabilities: {} },
      { revision: undefined },
    )
    const session = hello.headers.get('mcp-session-id')!
    const known = await server.call(
      'tools/list',
      {},
      { revision: undefined, headers: { 'mcp-session-id': session } },
    )
    assert.equal(known.json.result.tools[0].title, 'Add')
    assert.equal(known.headers.get('mcp-session-id'), session)

    // Made for another user, it is only a name.
    const foreign = await server.call(
      'tools/list',
      {},
      { revision: undefined, headers: { 'mcp-session-id': session }, token: 'other' },
    )
    assert.equal(foreign.status, 200)
    assert.equal('title' in foreign.json.result.tools[0], false)
  })

  it('offers the skills methods, with and without the envelope', async (t) => {
    const skills = [
      skillOf('demo', { 'SKILL.md': '# Demo', 'references/a.md': 'a', 'logo.png': Buffer.from([0xff]) }),
      skillOf('secret', { 'SKILL.md': '# Secret' }, ['System Manager']),
    ]
    const server = await startServer(t, { skills })
    for (const revision of ['2025-06-18', modern]) {
      const list = await server.call('skills/list', {}, { revision })
      assert.equal(list.json.result.skills.length, 1)
      assert.deepEqual(list.json.result.skills[0].resources[0], {
        uri: 'skill://demo/SKILL.md',
        digest: skills[0]!.files[0]!.digest,
        size: 6,
      })
      const root = await server.call('resources/directory/read', { uri: 'skill://demo' }, { revision })
      assert.deepEqual(
        root.json.result.resources.map(({ uri, mimeType }: { uri: string; mimeType: string }) => [
          uri,
          mimeType,
        ]),
        [
          ['skill://demo/SKILL.md', 'text/markdown'],
          ['skill://demo/references', 'inode/directory'],
          ['skill://demo/logo.png', 'application/octet-stream'],
        ],
      )
      for (const [method, uri] of [
        ['skills/get', 'skill://secret/SKILL.md'],
        ['skills/get', 'skill://demo'],
        ['resources/directory/read', 'skill://secret'],
        ['resources/directory/read', 'skill://demo/SKILL.md'],
        ['resources/directory/read', 'skill:/'],
        ['resources/read', 'skill://secret/SKILL.md'],
        ['resources/read', 'skill://demo/%2e%2e/secret/SKILL.md'],
      ]) {
        const { json } = await server.call(method!, { uri }, { revision })
        assert.ok([-32602, -32002].includes(json.error.code), `${method} ${uri}`)
      }
      const picture = await server.call('resources/read', { uri: 'skill://demo/logo.png' }, { revision })
      assert.equal(picture.json.result.contents[0].blob, '/w==')
    }
    assert.ok(server.events.some(({ type, target }) => type === 'skill.read' && target === 'demo/logo.png'))
    assert.ok(!server.events.some(({ target }) => target?.includes('secret')))
  })
})
