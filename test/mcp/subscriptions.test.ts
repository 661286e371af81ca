import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modern, promptOf, skillOf, startServer } from './server.ts'
import { getStream, streamOf } from './stream.ts'
import { adminOnly, add, echo } from './tools-for-tests.ts'

const id = 'io.modelcontextprotocol/subscriptionId'
const listen = { revision: modern, id: 42 }

describe('subscriptions/listen', () => {
  it('acknowledges, then tells what a reload changed for this principal and what it asked for', async (t) => {
    const server = await startServer(t, { tools: [echo], skills: [skillOf('demo', { 'SKILL.md': 'one' })] })
    const stream = await streamOf(
      t,
      server.url,
      'subscriptions/listen',
      {
        notifications: {
          toolsListChanged: true,
          promptsListChanged: true,
          resourceSubscriptions: ['skill://demo/SKILL.md'],
          unknownChanged: true,
        },
      },
      listen,
    )
    assert.match(stream.headers.get('content-type')!, /^text\/event-stream/)
    assert.equal(stream.headers.get('x-accel-buffering'), 'no')
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: {
          toolsListChanged: true,
          promptsListChanged: true,
          resourceSubscriptions: ['skill://demo/SKILL.md'],
        },
        _meta: { [id]: 42 },
      },
    })
    // Nothing that this user sees changed: nothing is said.
    server.reload({ tools: [echo, adminOnly], skills: [skillOf('demo', { 'SKILL.md': 'one' })] })
    server.reload({ tools: [echo, add, adminOnly], skills: [skillOf('demo', { 'SKILL.md': 'two' })] })
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { _meta: { [id]: 42 } },
    })
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri: 'skill://demo/SKILL.md', _meta: { [id]: 42 } },
    })
    server.reload({
      tools: [echo, add],
      prompts: [promptOf('greet')],
      skills: [skillOf('demo', { 'SKILL.md': 'two' })],
    })
    assert.equal((await stream.next()).method, 'notifications/prompts/list_changed')
    stream.leave()
    while (server.subscriptions.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  })

  it('ends with the answer to its request: on shutdown, when the token expires, when the user loses access', async (t) => {
    const server = await startServer(t, {
      principals: { brief: { expiresAt: Date.now() + 50 } },
    })
    const open = async (token: string): Promise<Awaited<ReturnType<typeof streamOf>>> => {
      const stream = await streamOf(
        t,
        server.url,
        'subscriptions/listen',
        { notifications: {} },
        { ...listen, token },
      )
      await stream.next()
      return stream
    }
    const ended = { jsonrpc: '2.0', id: 42, result: { resultType: 'complete', _meta: { [id]: 42 } } }
    const brief = await open('brief')
    assert.deepEqual(await brief.next(), ended)
    const gone = await open('gone')
    const revoked = await open('revoked')
    const stays = await open('stays')
    server.disable('gone@example.com')
    server.subscriptions.changed()
    assert.deepEqual(await gone.next(), ended)
    server.subscriptions.closeWhere(({ user }) => user === 'revoked@example.com')
    assert.deepEqual(await revoked.next(), ended)
    server.subscriptions.close()
    assert.deepEqual(await stays.next(), ended)
    assert.equal(await stays.next(), undefined)
  })

  it('is bounded per user', async (t) => {
    const server = await startServer(t, { settings: (settings) => (settings.mcp.max_streams_per_user = 2) })
    for (let i = 0; i < 2; i++) await streamOf(t, server.url, 'subscriptions/listen', {}, listen)
    const third = await server.call('subscriptions/listen', {}, listen)
    assert.match(third.json.error.message, /too many open streams/)
    await streamOf(t, server.url, 'subscriptions/listen', {}, { ...listen, token: 'other' })
    assert.equal(server.subscriptions.size, 3)
  })

  it('needs a client that takes streams and a sane list of URIs', async (t) => {
    const server = await startServer(t)
    const deaf = await server.call(
      'subscriptions/listen',
      {},
      { ...listen, headers: { accept: 'application/json' } },
    )
    assert.equal(deaf.json.error.code, -32600)
    for (const uris of ['x', [7], Array.from({ length: 101 }, String)]) {
      const { json } = await server.call(
        'subscriptions/listen',
        { notifications: { resourceSubscriptions: uris } },
        listen,
      )
      assert.equal(json.error.code, -32602)
    }
    assert.equal(server.subscriptions.size, 0)
  })
})

describe('the GET stream of legacy clients', () => {
  it('is 405 where the site turns it off, and then nothing is promised that would come on it', async (t) => {
    const server = await startServer(t, {
      settings: (settings) => (settings.mcp.legacy_streams = false),
      skills: [skillOf('demo', { 'SKILL.md': 'one' })],
    })
    const refused = await server.send('', {}, 'GET')
    assert.equal(refused.status, 405)
    assert.equal(refused.headers.get('allow'), 'POST, OPTIONS')
    const { json } = await server.call('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    const { tools, prompts, resources } = json.result.capabilities
    assert.deepEqual([tools, prompts, resources], [{}, {}, {}])
    const subscribed = await server.call('resources/subscribe', { uri: 'skill://demo/SKILL.md' })
    assert.equal(subscribed.json.error.code, -32601)
    assert.match(subscribed.json.error.message, /switched off/)
  })

  it('is refused to a conversation that watches as much as it may', async (t) => {
    const files = Object.fromEntries(
      Array.from({ length: 101 }, (_, i) => [i === 0 ? 'SKILL.md' : `${i}.md`, 'x']),
    )
    const server = await startServer(t, { skills: [skillOf('demo', files)] })
    const codes = []
    for (const path of [...Object.keys(files), 'SKILL.md']) {
      const { json } = await server.call('resources/subscribe', { uri: `skill://demo/${path}` })
      if (json.error) codes.push([path, json.error.code])
    }
    assert.equal(codes.length, 1)
    assert.equal(codes[0]![1], -32000)
  })

  it('tells of lists and of the resources that its conversation subscribed to', async (t) => {
    const skill = (content: string) => ({ skills: [skillOf('demo', { 'SKILL.md': content })] })
    const server = await startServer(t, skill('one'))
    const hello = await server.call('initialize', { protocolVersion: '2025-06-18', capabilities: {} })
    assert.deepEqual(hello.json.result.capabilities.resources, { listChanged: true, subscribe: true })
    const headers = { 'mcp-session-id': hello.headers.get('mcp-session-id')! }
    const stream = await getStream(t, server.url, headers)
    assert.equal(stream.status, 200)
    const uri = 'skill://demo/SKILL.md'
    assert.deepEqual((await server.call('resources/subscribe', { uri }, { headers })).json.result, {})
    const unknown = await server.call('resources/subscribe', { uri: 'skill://nothing/SKILL.md' }, { headers })
    assert.equal(unknown.json.error.code, -32002)
    server.reload(skill('two'))
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/resources/list_changed',
      params: {},
    })
    assert.deepEqual(await stream.next(), {
      jsonrpc: '2.0',
      method: 'notifications/resources/updated',
      params: { uri },
    })
    await server.call('resources/unsubscribe', { uri }, { headers })
    server.reload({ ...skill('three'), tools: [echo] })
    assert.equal((await stream.next()).method, 'notifications/tools/list_changed')
    assert.equal((await stream.next()).method, 'notifications/resources/list_changed')
    server.subscriptions.close()
    assert.equal(await stream.next(), undefined)
  })
})
