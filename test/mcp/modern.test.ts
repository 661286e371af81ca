import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallOptions, modern, promptOf, requestOf, skillOf, startServer } from './server.ts'
import { add, adminOnly, echo, fail, regional } from './tools-for-tests.ts'

const at: CallOptions = { revision: modern }
const metaKey = 'io.modelcontextprotocol'

describe('the MCP endpoint at 2026-07-28', () => {
  it('needs no handshake: every request describes itself', async (t) => {
    const server = await startServer(t, { tools: [echo] })
    const { status, json, headers } = await server.call('server/discover', {}, at)
    assert.equal(status, 200)
    assert.deepEqual(json.result.supportedVersions, [modern])
    assert.equal(json.result.resultType, 'complete')
    assert.equal(json.result.cacheScope, 'private')
    assert.equal(typeof json.result.ttlMs, 'number')
    assert.deepEqual(json.result.capabilities.extensions, {
      'io.modelcontextprotocol/skills': { directoryRead: true },
      'io.modelcontextprotocol/tasks': {},
    })
    const { icons, ...info } = json.result._meta[`${metaKey}/serverInfo`]
    assert.ok(icons.every(({ src }: { src: string }) => src.includes('/assets/icons/server.')))
    assert.deepEqual(info, {
      name: 'assistant-core',
      title: 'Assistant Core',
      version: '9.9.9',
    })
    assert.equal(headers.get('mcp-session-id'), null)
  })

  it('gives caching hints with every answer that may be kept, and with no other', async (t) => {
    const server = await startServer(t, {
      tools: [echo],
      prompts: [promptOf('greet')],
      skills: [skillOf('demo', { 'SKILL.md': '# Demo' })],
    })
    const calls: [string, Record<string, unknown>, boolean][] = [
      ['tools/list', {}, true],
      ['prompts/list', {}, true],
      ['resources/list', {}, true],
      ['resources/templates/list', {}, true],
      ['skills/list', {}, true],
      ['skills/get', { uri: 'skill://demo/SKILL.md' }, true],
      ['resources/read', { uri: 'skill://demo/SKILL.md' }, true],
      ['tools/call', { name: 'echo' }, false],
      ['prompts/get', { name: 'greet', arguments: { who: 'moon' } }, false],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } },
        false,
      ],
    ]
    for (const [method, params, caching] of calls) {
      const { json } = await server.call(method, params, at)
      assert.equal(json.result.resultType, 'complete', method)
      assert.equal('ttlMs' in json.result, caching, method)
      assert.equal(json.result.cacheScope, caching ? 'private' : undefined, method)
      assert.ok(json.result._meta[`${metaKey}/serverInfo`], method)
    }
  })

  it('checks _meta, headers and version in this order, each with its code at HTTP 400', async (t) => {
    const server = await startServer(t, { tools: [echo] })
    const body = (meta: unknown, method = 'tools/list', params = {}): string =>
      JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method,
        params: { ...params, ...(meta !== undefined && { _meta: meta }) },
      })
    const full = { [`${metaKey}/protocolVersion`]: modern, [`${metaKey}/clientCapabilities`]: {} }
    const headers = { 'mcp-protocol-version': modern, 'mcp-method': 'tools/list' }
    const without = (key: string): object =>
      Object.fromEntries(Object.entries(full).filter(([name]) => !name.endsWith(key)))
    const cases: [string, Record<string, string>, number, number][] = [
      [body(undefined), headers, 400, -32602],
      [body({}), headers, 400, -32602],
      [body(without('protocolVersion')), headers, 400, -32602],
      [body(without('clientCapabilities')), headers, 400, -32602],
      [body({ ...full, [`${metaKey}/protocolVersion`]: 7 }), headers, 400, -32602],
      [body({ ...full, [`${metaKey}/clientCapabilities`]: [] }), headers, 400, -32602],
      [body({ ...full, [`${metaKey}/logLevel`]: 'loud' }), headers, 200, -32602],
      [body(full), { 'mcp-method': 'tools/list' }, 400, -32020],
      [body(full), { ...headers, 'mcp-protocol-version': '2025-11-25' }, 400, -32020],
      [body(full), { 'mcp-protocol-version': modern }, 400, -32020],
      [body(full), { ...headers, 'mcp-method': 'Tools/List' }, 400, -32020],
      [body(full), { ...headers, 'mcp-method': 'tools/list, tools/list' }, 400, -32020],
      [
        body({ ...full, [`${metaKey}/protocolVersion`]: '2025-06-18' }),
        { ...headers, 'mcp-protocol-version': '2025-06-18' },
        400,
        -32022,
      ],
      [body(full, 'ping'), { ...headers, 'mcp-method': 'ping' }, 404, -32601],
      [body(full, 'initialize'), { ...headers, 'mcp-method': 'initialize' }, 404, -32601],
      [
        body(undefined, 'initialize', { protocolVersion: modern }),
        { 'mcp-protocol-version': modern },
        400,
        -32020,
      ],
      [`[${body(full)}]`, headers, 400, -32600],
      [body(full, 'tools/call', { name: 'echo' }), { ...headers, 'mcp-method': 'tools/call' }, 400, -32020],
      [
        body(full, 'tools/call', { name: 'echo' }),
        { ...headers, 'mcp-method': 'tools/call', 'mcp-name': 'Echo' },
        400,
        -32020,
      ],
      [
        body(full, 'tools/call', { name: 'echo' }),
        { ...headers, 'mcp-method': 'tools/call', 'mcp-name': '=?base64?ZWNobw=?=' },
        400,
        -32020,
      ],
    ]
    for (const [text, sent, status, code] of cases) {
      const answer = await server.send(text, sent)
      assert.equal(answer.json.error.code, code, `${text} ${JSON.stringify(sent)}`)
      assert.equal(answer.status, status, text)
      if (!text.startsWith('[')) assert.equal(answer.json.id, 7)
    }
    const unsupported = await server.send(body({ ...full, [`${metaKey}/protocolVersion`]: '2030-01-01' }), {
      ...headers,
      'mcp-protocol-version': '2030-01-01',
    })
    assert.deepEqual(unsupported.json.error.data, { supported: [modern], requested: '2030-01-01' })
    assert.match(
      (await server.send(body({}), headers)).json.error.message,
      /protocolVersion and .*clientCapabilities required/,
    )
  })

  it('takes a name that a header cannot carry in base64', async (t) => {
    const server = await startServer(t, { tools: [echo] })
    const { status, json } = await server.call(
      'tools/call',
      { name: 'echo' },
      { ...at, headers: { 'mcp-name': `=?base64?${Buffer.from('echo').toString('base64')}?=` } },
    )
    assert.equal(status, 200)
    assert.equal(json.result.isError, false)
  })

  it('compares arguments that a tool mirrors in headers', async (t) => {
    const server = await startServer(t, { tools: [regional] })
    const call = async (
      args: object,
      headers: Record<string, string>,
    ): Promise<[number, number | undefined]> => {
      const { status, json } = await server.call(
        'tools/call',
        { name: 'regional', arguments: args },
        { ...at, headers },
      )
      return [status, json.error?.code]
    }
    const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`
    assert.deepEqual(await call({}, {}), [200, undefined])
    assert.deepEqual(await call({ region: 'eu' }, { 'mcp-param-region': 'eu' }), [200, undefined])
    assert.deepEqual(await call({ region: 'Köln' }, { 'mcp-param-region': base64('Köln') }), [200, undefined])
    assert.deepEqual(await call({ count: 42 }, { 'mcp-param-count': '42.0' }), [200, undefined])
    assert.deepEqual(await call({ region: 'eu' }, {}), [400, -32020])
    assert.deepEqual(await call({ region: 'eu' }, { 'mcp-param-region': 'us' }), [400, -32020])
    assert.deepEqual(await call({}, { 'mcp-param-region': 'eu' }), [400, -32020])
    assert.deepEqual(await call({ region: 'eu' }, { 'mcp-param-region': '=?base64?ZXU?=' }), [400, -32020])
    assert.deepEqual(await call({ count: 1 }, { 'mcp-param-count': '' }), [400, -32020])
  })

  it('tells a model about wrong arguments in the result, and a client about refused tools in an error', async (t) => {
    const server = await startServer(t, { tools: [add, adminOnly, fail], disabled: ['fail'] })
    const wrong = await server.call('tools/call', { name: 'add', arguments: { a: 1 } }, at)
    assert.equal(wrong.json.result.isError, true)
    assert.match(wrong.json.result.content[0].text, /"b" is required/)
    // -32000 is closed to new revisions.
    for (const name of ['nothing', 'admin_only', 'fail']) {
      const { status, json } = await server.call('tools/call', { name }, at)
      assert.deepEqual([status, json.error.code], [200, -32602])
    }
    const absent = await server.call('resources/read', { uri: 'skill://nothing/SKILL.md' }, at)
    assert.equal(absent.json.error.code, -32602)
    assert.deepEqual(absent.json.error.data, { uri: 'skill://nothing/SKILL.md' })
  })

  it('ignores the session header altogether', async (t) => {
    const server = await startServer(t, { tools: [echo] })
    const { status, headers } = await server.call(
      'tools/call',
      { name: 'nothing' },
      { ...at, headers: { 'mcp-session-id': 'x'.repeat(200) } },
    )
    assert.equal(status, 200)
    assert.equal(headers.get('mcp-session-id'), null)
    assert.equal(server.events.at(-1)!.session_id, undefined)
  })

  it('accepts notifications and stray answers with 202', async (t) => {
    const server = await startServer(t)
    const { body, headers } = requestOf('notifications/cancelled', { requestId: 1 }, at)
    delete body['id']
    assert.equal((await server.send(JSON.stringify(body), headers)).status, 202)
    assert.equal((await server.send('{"jsonrpc":"2.0","id":"x","result":{}}', headers)).status, 202)
  })
})
