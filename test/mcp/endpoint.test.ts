import { portable } from '#leaf/portable-schema.ts'
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { promptOf, skillOf, startServer } from './server.ts'
import { add, adminOnly, echo, fail, wipeTool } from './tools-for-tests.ts'

const tools = [echo, add, fail, adminOnly]

describe('the MCP endpoint at 2025-06-18', () => {
  it('negotiates the version: a known one is echoed, any other becomes 2025-06-18', async (t) => {
    const server = await startServer(t)
    for (const [asked, got] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['2026-07-28', '2025-06-18'],
      ['1999-01-01', '2025-06-18'],
    ]) {
      const { status, json, headers } = await server.call(
        'initialize',
        { protocolVersion: asked, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
        { revision: undefined },
      )
      assert.equal(status, 200)
      assert.equal(json.result.protocolVersion, got)
      assert.equal(json.result.serverInfo.name, 'assistant-core')
      assert.equal(json.result.serverInfo.version, '9.9.9')
      assert.equal(typeof json.result.capabilities.tools, 'object')
      assert.match(headers.get('mcp-session-id')!, /^[\x21-\x7e]{1,128}$/)
    }
  })

  it('answers ping, and takes notifications without an answer', async (t) => {
    const server = await startServer(t)
    const ping = await server.call('ping', undefined, { id: 'a text' })
    assert.deepEqual(ping.json, { jsonrpc: '2.0', id: 'a text', result: {} })
    const note = await server.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert.equal(note.status, 202)
    assert.equal(note.text, '')
  })

  it('lists what the user may call, and nothing else', async (t) => {
    const server = await startServer(t, {
      tools,
      principals: { admin: { roles: new Set(['System Manager']) } },
    })
    const names = async (token: string): Promise<string[]> => {
      const { json } = await server.call('tools/list', {}, { token })
      return (json.result.tools as { name: string }[]).map(({ name }) => name)
    }
    assert.deepEqual(await names('user'), ['add', 'echo', 'fail'])
    assert.deepEqual(await names('admin'), ['add', 'admin_only', 'echo', 'fail'])
    const { json } = await server.call('tools/list')
    assert.deepEqual(json.result.tools[1].inputSchema, portable(echo.input).schema)
    assert.equal(json.result.tools[1].annotations.readOnlyHint, true)
    assert.equal(json.result.tools[1].annotations.openWorldHint, false)
  })

  it('gives long answers a second time, structured, only where the site wants all of them so', async (t) => {
    const output = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } }
    const long = { ...echo, largeOutput: output }
    const server = await startServer(t, { tools: [long] })
    const seen = async (): Promise<unknown[]> => {
      const { json: list } = await server.call('tools/list')
      const { json: said } = await server.call('tools/call', { name: 'echo', arguments: { text: 'a' } })
      return [list.result.tools[0].outputSchema, said.result.structuredContent]
    }
    assert.deepEqual(await seen(), [undefined, undefined])
    server.reload({ tools: [long], settings: ({ mcp }) => Object.assign(mcp, { structured_results: 'all' }) })
    assert.deepEqual(await seen(), [output, { text: 'a', times: 1 }])
  })

  it('calls a tool: compact JSON text, structured content where declared, isError always there', async (t) => {
    const server = await startServer(t, { tools })
    const said = await server.call('tools/call', { name: 'echo', arguments: { text: 'Grüße' } })
    assert.deepEqual(said.json.result, {
      content: [{ type: 'text', text: '{"text":"Grüße","times":1}' }],
      isError: false,
    })
    const sum = await server.call('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })
    assert.deepEqual(sum.json.result.structuredContent, { sum: 3 })
    const failed = await server.call('tools/call', { name: 'fail' })
    assert.deepEqual(failed.json.result, {
      content: [{ type: 'text', text: 'you may not do this' }],
      isError: true,
    })
  })

  it('refuses tools with the codes of the specification, at HTTP 200, and audits it', async (t) => {
    const runs: unknown[] = []
    const server = await startServer(t, { tools: [...tools, wipeTool(runs)], disabled: ['fail'] })
    const cases = [
      [{ name: 'nothing' }, -32602, /unknown tool "nothing"/],
      [{ name: 'fail' }, -32000, /disabled/],
      [{ name: 'admin_only' }, -32000, /permission denied/],
      [
        { name: 'add', arguments: { a: 'x' } },
        -32602,
        /a: must be number.*"b" is required|"b" is required.*a: must be number/,
      ],
      [{ name: 'add', arguments: [] }, -32602, /params\.arguments: must be an object/],
      [{ name: 'wipe', arguments: 'all' }, -32602, /params\.arguments: must be an object/],
      [{ name: 'wipe', arguments: null }, -32602, /params\.arguments: must be an object/],
      [{ name: { wipe: 1 }, arguments: { target: 'x' } }, -32602, /params\.name/],
      [{}, -32602, /params\.name/],
    ] as const
    for (const [params, code, message] of cases) {
      const { status, json } = await server.call('tools/call', params)
      assert.equal(status, 200)
      assert.equal(json.error.code, code)
      assert.match(json.error.message, message)
      assert.equal(json.id, 1)
    }
    assert.deepEqual(
      server.events.map(({ status, target, data }) => [status, target, data?.['arguments']]),
      [
        ['denied', 'nothing', {}],
        ['denied', 'fail', {}],
        ['denied', 'admin_only', {}],
        ['error', 'add', { a: 'x' }],
        ['error', 'add', []],
        ['error', 'wipe', 'all'],
        ['error', 'wipe', null],
        ['error', '{"wipe":1}', { target: 'x' }],
        ['error', '', undefined],
      ],
    )
    for (const [at, { type, success, execution_time, error }] of server.events.entries()) {
      assert.deepEqual([type, success, typeof execution_time], ['tool.call', false, 'number'])
      assert.match(error ?? '', cases[at]![2])
    }
    assert.deepEqual(runs, [])
  })

  it('lists prompts in the words of the specification and renders them', async (t) => {
    const server = await startServer(t, { prompts: [promptOf('greet', { category: 'sales-crm' })] })
    const list = await server.call('prompts/list')
    assert.deepEqual(list.json.result.prompts, [
      {
        name: 'greet',
        title: 'Prompt greet',
        description: 'What greet does',
        category: 'sales-crm',
        arguments: [
          {
            name: 'who',
            description: 'Whom to greet. Options: world, moon. Default: world',
            required: true,
            enum: ['world', 'moon'],
            default: 'world',
          },
        ],
      },
    ])
    const got = await server.call('prompts/get', { name: 'greet', arguments: { who: 'moon' } })
    assert.equal(got.json.result.description, 'What greet does')
    assert.deepEqual(got.json.result.messages, [
      { role: 'user', content: { type: 'text', text: 'Hello moon' } },
    ])
    assert.equal(server.events.at(-1)!.type, 'prompt.get')
    assert.equal(server.events.at(-1)!.status, 'ok')

    const unknown = await server.call('prompts/get', { name: 'nothing' })
    assert.equal(unknown.json.error.code, -32602)
    const missing = await server.call('prompts/get', { name: 'greet' })
    assert.equal(missing.json.error.code, -32602)
    assert.deepEqual(missing.json.error.data.problems, [{ argument: 'who', problem: 'is required' }])
    const secret = { who: 'moon', api_key: 'abc' }
    assert.equal(
      (await server.call('prompts/get', { name: 'greet', arguments: secret })).json.error,
      undefined,
    )
    for (const wrong of [{ name: 'greet', arguments: [] }, { arguments: { who: 'moon' } }])
      assert.equal((await server.call('prompts/get', wrong)).json.error.code, -32602)
    assert.deepEqual(
      server.events.map(({ status, target, success, data }) => [
        status,
        target,
        success,
        data?.['arguments'],
      ]),
      [
        ['ok', 'greet', true, { who: 'moon' }],
        ['denied', 'nothing', false, undefined],
        ['error', 'greet', false, undefined],
        ['ok', 'greet', true, { ...secret, api_key: '[redacted]' }],
        ['error', 'greet', false, []],
        ['error', '', false, { who: 'moon' }],
      ],
    )
    for (const { execution_time, error, success } of server.events)
      assert.deepEqual([typeof execution_time, error === undefined], ['number', success])
  })

  it('lists and reads skills as resources', async (t) => {
    const server = await startServer(t, { skills: [skillOf('demo', { 'SKILL.md': '# Demo' })] })
    const list = await server.call('resources/list')
    assert.equal(list.json.result.resources[0].uri, 'skill://demo/SKILL.md')
    assert.equal(list.json.result.resources[0].mimeType, 'text/markdown')
    const read = await server.call('resources/read', { uri: 'skill://demo/SKILL.md' })
    assert.deepEqual(read.json.result.contents, [
      { uri: 'skill://demo/SKILL.md', mimeType: 'text/markdown', text: '# Demo' },
    ])
    const absent = await server.call('resources/read', { uri: 'skill://demo/../../etc/passwd' })
    assert.equal(absent.json.error.code, -32002)
    assert.equal(absent.status, 200)
  })

  it('gives envelope faults the specification’s codes: HTTP 200, except a body that is no JSON', async (t) => {
    const server = await startServer(t)
    const cases: [string, number, number][] = [
      ['{', 400, -32700],
      ['', 400, -32700],
      ['[]', 200, -32600],
      ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 200, -32600],
      ['"text"', 200, -32600],
      ['{"id":1,"method":"ping"}', 200, -32600],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 200, -32600],
      ['{"jsonrpc":"2.0","id":1}', 200, -32600],
      ['{"jsonrpc":"2.0","id":1,"method":7}', 200, -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 200, -32600],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 200, -32600],
      // It could not be answered with the id that was sent.
      ['{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}', 200, -32600],
      ['{"jsonrpc":"2.0","method":"tools/list"}', 200, -32600],
      ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 200, -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{"a":1}}}', 200, -32600],
      [
        `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(200)}${']'.repeat(200)}}}`,
        200,
        -32600,
      ],
      ['{"jsonrpc":"2.0","id":1,"method":"nothing/here"}', 200, -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"constructor"}', 200, -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"server/discover"}', 200, -32601],
    ]
    for (const [body, status, code] of cases) {
      const answer = await server.send(body, { 'mcp-protocol-version': '2025-06-18' })
      assert.equal(answer.status, status, body)
      assert.equal(answer.json.error.code, code, body)
      assert.equal(answer.json.jsonrpc, '2.0')
      assert.ok('id' in answer.json)
    }
  })

  it('refuses other media types with 415, large bodies with 413, other methods with 405', async (t) => {
    const server = await startServer(t, { settings: (settings) => (settings.server.max_body_bytes = 1000) })
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
    ]) {
      const answer = await server.send(ping, { 'content-type': type })
      assert.equal(answer.status, 415, type)
      assert.match(answer.headers.get('content-type')!, /^application\/json/)
    }
    assert.equal((await server.send(ping, { 'content-type': 'application/json; charset=UTF-8' })).status, 200)
    const large = await server.send(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', a: 'x'.repeat(2000) }),
    )
    assert.equal(large.status, 413)
    assert.match(large.json.error.message, /larger than 1000 bytes/)
    for (const [method, accept] of [
      ['GET', 'application/json'],
      ['DELETE', '*/*'],
      ['PUT', '*/*'],
    ] as const) {
      const answer = await server.send('', { accept }, method)
      assert.equal(answer.status, 405, method)
      assert.equal(answer.headers.get('allow'), 'GET, POST, OPTIONS')
    }
  })

  it('ends a body without a declared length when it grows too large', async (t) => {
    const server = await startServer(t, { settings: (settings) => (settings.server.max_body_bytes = 1000) })
    const { port } = new URL(server.url)
    const status = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.on('error', reject)
      socket.once('data', (data) => {
        resolve(data.toString().split('\r\n')[0]!)
        socket.destroy()
      })
      socket.write(
        `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2000)}\r\n`,
      )
    })
    assert.equal(status, 'HTTP/1.1 413 Payload Too Large')
  })

  it('refuses foreign hosts and origins with 403, and lets its own, loopback and listed ones pass', async (t) => {
    const server = await startServer(t, {
      settings: (settings) => {
        settings.server.allowed_origins = 'https://claude.ai\n'
        settings.server.allowed_hosts = ['internal.example']
      },
    })
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const status = (headers: Record<string, string>): Promise<number> => raw(server.url, ping, headers)
    assert.equal(await status({ host: 'evil.example.com' }), 403)
    assert.equal(await status({ host: 'localhost.evil.example.com' }), 403)
    assert.equal(await status({ host: 'localhost:1', origin: 'http://evil.example.com' }), 403)
    assert.equal(await status({ host: 'localhost:1', origin: 'null' }), 403)
    assert.equal(await status({ host: 'localhost:1', origin: 'https://claude.ai' }), 200)
    assert.equal(await status({ host: 'localhost:1', origin: 'http://localhost:6274' }), 200)
    assert.equal(await status({ host: '[::1]:99' }), 200)
    assert.equal(await status({ host: 'internal.example:8787' }), 200)
  })

  it('refuses a request with two Host headers, whichever comes first', async (t) => {
    const server = await startServer(t)
    const { port } = new URL(server.url)
    const firstLine = (hosts: readonly string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
        const socket = connect(Number(port), '127.0.0.1')
        socket.on('error', reject)
        socket.once('data', (bytes: Buffer) => {
          resolve(bytes.toString().split('\r\n', 1)[0]!)
          socket.destroy()
        })
        const lines = [
          `POST ${new URL(server.url).pathname} HTTP/1.1`,
          ...hosts.map((host) => `Host: ${host}`),
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
        ]
        socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
      })
    assert.match(await firstLine(['localhost']), / 200 /)
    assert.match(await firstLine(['localhost', 'evil.example.com']), / 403 /)
    assert.match(await firstLine(['evil.example.com', 'localhost']), / 403 /)
  })

  it('returns the client’s session id in either spelling, and refuses one that is not visible ASCII', async (t) => {
    const server = await startServer(t, { tools })
    for (const name of ['Mcp-Session-Id', 'MCP-Session-Id']) {
      const answer = await server.call('tools/call', { name: 'nothing' }, { headers: { [name]: 'talk-1' } })
      assert.equal(answer.headers.get('mcp-session-id'), 'talk-1')
      assert.equal(server.events.at(-1)!.session_id, 'talk-1')
    }
    const kept = await server.call(
      'initialize',
      { protocolVersion: '2025-06-18', capabilities: {} },
      { headers: { 'mcp-session-id': 'mine' } },
    )
    assert.equal(kept.headers.get('mcp-session-id'), 'mine')
    const bad = await server.call('ping', {}, { headers: { 'mcp-session-id': 'x'.repeat(129) } })
    assert.equal(bad.status, 400)
  })

  it('answers a version header that nobody knows with 400 and the known versions', async (t) => {
    const server = await startServer(t)
    const answer = await server.call('ping', {}, { revision: '2025-01-01' })
    assert.equal(answer.status, 400)
    assert.match(answer.json.error.message, /2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28/)
  })

  it('says nothing of what broke inside, but logs it with the request id', async (t) => {
    const broken = skillOf('broken', { 'SKILL.md': '# Broken' })
    const find = (): never => {
      throw new TypeError('secret detail')
    }
    const server = await startServer(t, {
      skills: [{ ...broken, files: Object.assign([...broken.files], { find }) }],
    })
    const { status, json, text } = await server.call('resources/read', { uri: 'skill://broken/SKILL.md' })
    assert.equal(status, 200)
    assert.equal(json.error.code, -32603)
    assert.equal(json.id, 1)
    assert.ok(!text.includes('secret detail'))
    assert.ok(server.logged.some((line) => line.includes('secret detail') && line.includes('request-1')))
  })
})

/** fetch sets Host itself, so hosts are tried on a bare socket. */
function raw(url: string, body: string, headers: Record<string, string>): Promise<number> {
  const { port } = new URL(url)
  const lines = Object.entries({
    'content-type': 'application/json',
    'content-length': String(body.length),
    connection: 'close',
    ...headers,
  })
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1')
    let answer = ''
    socket.on('data', (data) => (answer += data.toString()))
    socket.on('error', reject)
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1])))
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}`).join('\r\n')}\r\n\r\n${body}`)
  })
}
