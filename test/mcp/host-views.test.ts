/** MCP Apps on the wire: who is told of views, and what an answer says to one. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getUiCapability } from '@modelcontextprotocol/ext-apps/server'
import type { Tool } from '../../src/tools/tool.ts'
import { modern, skillOf, startServer, type CallOptions } from './server.ts'
import { add, echo } from './tools-for-tests.ts'

const extension = 'io.modelcontextprotocol/ui'
const mimeTypes = ['text/html;profile=mcp-app']
const capabilities = { extensions: { [extension]: { mimeTypes } } }
const drawn: Tool = { ...echo, name: 'drawn', view: 'chart' }
const options = { tools: [drawn, add], skills: [skillOf('demo', { 'SKILL.md': '# Demo' })] }
const chart = 'ui://assistant-core/chart'

describe('views for hosts', () => {
  it('are told of to those who declare them, in every revision, and to nobody else', async (t) => {
    const server = await startServer(t, options)
    const session = async (declared: object): Promise<CallOptions> => {
      const clientInfo = { name: 'host', version: '1' }
      const params = { protocolVersion: '2025-11-25', capabilities: declared, clientInfo }
      const { json, headers } = await server.call('initialize', params, { revision: undefined })
      const support = getUiCapability(json.result.capabilities)
      assert.deepEqual(support?.mimeTypes, declared === capabilities ? mimeTypes : undefined)
      return { revision: '2025-11-25', headers: { 'mcp-session-id': headers.get('mcp-session-id')! } }
    }
    const hosts = [{ revision: modern, capabilities }, await session(capabilities)]
    const others = [
      { revision: modern },
      { revision: modern, capabilities: { extensions: { [extension]: {} } } },
      { revision: modern, capabilities: { extensions: { [extension]: { mimeTypes: ['text/html'] } } } },
      await session({}),
      { revision: '2025-06-18' },
    ]
    for (const at of [...hosts, ...others]) {
      const isHost = hosts.includes(at)
      const { tools } = (await server.call('tools/list', {}, at)).json.result
      const ui = { resourceUri: chart, visibility: ['model'] }
      assert.deepEqual(
        tools.map((tool: Record<string, unknown>) => tool['_meta']),
        isHost ? [undefined, { ui }] : [undefined, undefined],
      )
      const { resources } = (await server.call('resources/list', {}, at)).json.result
      const uris = resources.map(({ uri }: { uri: string }) => uri)
      assert.deepEqual(uris, ['skill://demo/SKILL.md', ...(isHost ? [chart] : [])])
      const read = (await server.call('resources/read', { uri: chart }, at)).json
      if (!isHost) assert.match(read.error.message, /no resource/)
      else {
        const [page] = read.result.contents
        assert.deepEqual([page.uri, page.mimeType], [chart, mimeTypes[0]])
        const closed = { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] }
        assert.deepEqual(page._meta.ui.csp, closed)
        assert.match(page.text, /^<!doctype html>/)
      }
      const called = (await server.call('tools/call', { name: 'drawn', arguments: { text: 'a' } }, at)).json
      assert.deepEqual(JSON.parse(called.result.content[0].text), { text: 'a', times: 1 })
      assert.equal(called.result._meta?.['assistant-core/waiting-calls'], undefined)
    }
  })

  it('exist where a tool that the user may call has one', async (t) => {
    const server = await startServer(t, { tools: [add] })
    const at = { revision: modern, capabilities }
    assert.deepEqual((await server.call('resources/list', {}, at)).json.result.resources, [])
    const { error } = (await server.call('resources/read', { uri: chart }, at)).json
    assert.match(error.message, /no resource/)
  })

  it('hear of the calls that wait for the user through the same client, and of no others', async (t) => {
    const client = (id: string, user = 'ann@example.com') => ({ user, client: { id, name: id } })
    const server = await startServer(t, {
      tools: [add],
      confirm: { add: 'page' },
      principals: { one: client('one'), two: client('two'), other: client('one', 'bob@example.com') },
    })
    const waiting = async (token: string, a: number, declared: object = capabilities): Promise<any> => {
      const params = { name: 'add', arguments: { a, b: 1 } }
      const at = { revision: modern, capabilities: { ...declared, elicitation: { form: {} } }, token }
      return (await server.call('tools/call', params, at)).json.result
    }
    assert.equal((await waiting('two', 1))._meta['assistant-core/waiting-calls'].length, 1)
    assert.equal((await waiting('other', 1))._meta['assistant-core/waiting-calls'].length, 1)
    const result = await waiting('one', 1)
    const calls = result._meta['assistant-core/waiting-calls']
    assert.equal(calls.length, 1)
    assert.ok(result.content[0].text.includes(calls[0].url), 'the text names the page for all others')
    assert.equal((await waiting('one', 2))._meta['assistant-core/waiting-calls'].length, 2)
    assert.equal((await waiting('one', 2, {}))._meta['assistant-core/waiting-calls'], undefined)
  })
})
