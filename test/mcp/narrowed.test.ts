/** A connection that asks for fewer tools, in its address or by headers: it gets fewer, and never more. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { auth } from '@modelcontextprotocol/sdk/client/auth.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { operate, stream } from '../../src/cli/control.ts'
import { authorizeInBrowser } from '../helpers/browser.ts'
import { Provider } from '../helpers/provider.ts'
import { folders, mcpPath, runService } from '../cli/running-service.ts'
import { modern } from './server.ts'

interface Asked {
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly revision?: string
}

/** A service, and a user whose clients say what they want. */
async function service(t: TestContext, user = 'sales@example.com') {
  const where = folders(t)
  const { url, daemon } = await runService(t, where)
  const { access_token: token } = await operate(where.options, 'tokens.issue', { user })
  const ask = async (method: string, params: object, { query = '', headers = {}, revision }: Asked = {}) => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': revision,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const name = (params as { name?: string }).name
    const own = { 'mcp-protocol-version': revision!, 'mcp-method': method, ...(name && { 'mcp-name': name }) }
    const response = await fetch(url + mcpPath + query, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(revision === modern && own),
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method,
        params: { ...params, ...(revision === modern && { _meta: meta }) },
      }),
    })
    return { status: response.status, json: (await response.json()) as any, headers: response.headers }
  }
  const list = async (asked: Asked = {}): Promise<string[]> => {
    const { json } = await ask('tools/list', {}, asked)
    return json.result.tools.map((tool: { name: string }) => tool.name)
  }
  return { url, token, ask, list, where, daemon }
}

const reading = 'list_documents,get_document'

describe('a connection', () => {
  it('lists the tools that its address or its headers name, in every revision', async (t) => {
    const { list } = await service(t)
    const all = await list()
    const isIn = (names: string[]) => all.filter((name) => names.includes(name))
    const rows: readonly (readonly [Asked, string[]])[] = [
      [{ query: `?tools=${reading}` }, isIn(['get_document', 'list_documents'])],
      [
        { headers: { 'x-mcp-tools': 'get_document, list_documents' } },
        isIn(['get_document', 'list_documents']),
      ],
      [{ query: '?tools=list_*' }, all.filter((name) => name.startsWith('list_'))],
      [{ query: '?exclude_tools=list_*' }, all.filter((name) => !name.startsWith('list_'))],
      [{ headers: { 'x-mcp-exclude-tools': 'fetch' } }, all.filter((name) => name !== 'fetch')],
      // Whatever says less, holds.
      [{ query: `?tools=${reading}`, headers: { 'x-mcp-tools': 'list_*' } }, ['list_documents']],
      [{ query: `?tools=${reading}&tools=get_document` }, ['get_document']],
      [{ query: `?tools=${reading}&exclude_tools=get_document` }, ['list_documents']],
      [{ query: '?read_only=false', headers: { 'x-mcp-readonly': 'false' } }, all],
      [{ query: '?tools=no_such_tool' }, []],
      [{ query: '?utm=1' }, all],
    ]
    for (const [asked, names] of rows)
      for (const revision of ['2025-06-18', modern])
        assert.deepEqual(await list({ ...asked, revision }), names, JSON.stringify(asked))
  })

  it('that wants to read only lists no tool that does more', async (t) => {
    const { ask } = await service(t)
    const { json } = await ask('tools/list', {})
    const writing = json.result.tools.filter((tool: any) => !tool.annotations.readOnlyHint)
    assert.ok(writing.length > 3)
    for (const asked of [{ query: '?read_only=true' }, { headers: { 'x-mcp-readonly': 'true' } }]) {
      const narrowed = (await ask('tools/list', {}, asked)).json.result.tools
      assert.equal(narrowed.length, json.result.tools.length - writing.length)
      assert.ok(narrowed.every((tool: any) => tool.annotations.readOnlyHint))
    }
  })

  it('gets no tool that its user lacks by asking for it', async (t) => {
    const { ask, list } = await service(t)
    assert.deepEqual(await list({ query: '?tools=delete_document,bulk_update,search_audit' }), [])
    const call = { name: 'search_audit', arguments: {} }
    const { json } = await ask('tools/call', call, { query: '?tools=search_audit' })
    assert.match(json.error.message, /permission denied/)
  })

  it('is refused every other call, which is audited and changes nothing', async (t) => {
    const { ask, where } = await service(t)
    const data = { customer_name: 'Narrow & Sons', customer_group: 'Retail' }
    const call = { name: 'create_document', arguments: { doctype: 'Customer', data } }
    const rows: readonly Asked[] = [
      { query: `?tools=${reading}` },
      { headers: { 'x-mcp-readonly': 'true' } },
      { query: '?read_only=true', revision: modern },
      { headers: { 'x-mcp-exclude-tools': 'create_*' }, revision: modern },
    ]
    for (const asked of rows) {
      const { json } = await ask('tools/call', call, asked)
      assert.match(json.error.message, /permission denied: tool "create_document"/, JSON.stringify(asked))
    }
    const count = { name: 'count_documents', arguments: { doctype: 'Customer', filters: data } }
    const { json } = await ask('tools/call', count)
    assert.equal(JSON.parse(json.result.content[0].text).count, 0)
    const lines: any[] = []
    for await (const line of stream(where.options, 'audit.search', { target: 'create_document' }))
      lines.push(line)
    assert.deepEqual(
      lines.map(({ status, type }: any) => [type, status]),
      rows.map(() => ['tool.call', 'denied']),
    )
    assert.deepEqual(lines.at(-1).data.narrowing, {
      only: [],
      without: ['create_*'],
      readOnly: false,
    })
  })

  it('says it with each request, so that a session does not remember it, nor a narrowed one widen', async (t) => {
    const { url, token, list } = await service(t)
    const all = await list()
    const transport = new StreamableHTTPClientTransport(new URL(`${url}${mcpPath}?tools=${reading}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    })
    const client = new Client({ name: 'narrow', version: '1' })
    await client.connect(transport)
    t.after(() => client.close())
    assert.match(client.getInstructions() ?? '', /only some of the tools/)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    assert.deepEqual(names.toSorted(), reading.split(',').toSorted())
    const session = { 'mcp-session-id': transport.sessionId!, 'mcp-protocol-version': '2025-06-18' }
    assert.deepEqual(await list({ headers: session }), all)
    assert.deepEqual(await list({ headers: session, query: '?tools=fetch' }), ['fetch'])
    const read = await client.callTool({
      name: 'list_documents',
      arguments: { doctype: 'Customer', limit: 1 },
    })
    assert.notEqual(read.isError, true)
    await assert.rejects(client.callTool({ name: 'count_documents', arguments: { doctype: 'Customer' } }))
  })

  it('finds the way to sign in from its own address, and gets tokens that count at every one', async (t) => {
    const password = 'a password for tests'
    const { url, list, daemon } = await service(t)
    await daemon.services.passwords.set('sales@example.com', password)
    const serverUrl = new URL(`${url}${mcpPath}?tools=${reading}`)
    const provider = new Provider()
    assert.equal(await auth(provider, { serverUrl }), 'REDIRECT')
    const back = await authorizeInBrowser(provider.asked!.href, { username: 'sales@example.com', password })
    const authorizationCode = back.searchParams.get('code')!
    assert.equal(await auth(provider, { serverUrl, authorizationCode }), 'AUTHORIZED')
    const client = new Client({ name: 'narrow', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(serverUrl, { authProvider: provider }))
    t.after(() => client.close())
    assert.equal((await client.listTools()).tools.length, 2)
    const headers = { authorization: `Bearer ${provider.saved!.access_token}` }
    assert.ok((await list({ headers })).length > 10)
  })

  it('is told what is wrong with what it says, and gets nothing', async (t) => {
    const { ask } = await service(t)
    const rows: readonly (readonly [Asked, RegExp])[] = [
      [{ query: '?tools=' }, /\?tools must be names of tools/],
      [{ query: '?tools=list documents' }, /\?tools must be names of tools .* not "list documents"/],
      [{ headers: { 'x-mcp-exclude-tools': 'a,*b' } }, /X-MCP-Exclude-Tools must be/],
      [{ query: `?tools=${Array.from({ length: 201 }, (_, at) => `t${at}`).join(',')}` }, /\?tools must be/],
      [{ query: '?read_only=yes' }, /\?read_only must be true or false, not "yes"/],
      [{ headers: { 'x-mcp-readonly': '1' } }, /X-MCP-Readonly must be true or false/],
    ]
    for (const [asked, why] of rows) {
      const { status, json } = await ask('tools/list', {}, asked)
      assert.equal(status, 400, JSON.stringify(asked))
      assert.equal(json.error, 'invalid_request')
      assert.match(json.message, why)
    }
  })
})
