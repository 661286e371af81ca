/** A client that people run from a shell: mcp-remote, the bridge to programs that speak only stdio. */
import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { startTarget } from './target.ts'

describe('a client from the command line', () => {
  const cleanup: (() => unknown)[] = []
  let url = ''
  before(async () => {
    url = await startTarget({ after: (undo) => void cleanup.push(undo as () => unknown) })
  })
  after(async () => {
    for (const undo of cleanup.reverse()) await undo()
  })

  it('mcp-remote carries a stdio client to the daemon', async (t) => {
    const client = new Client({ name: 'stdio', version: '1' })
    const remote = fileURLToPath(import.meta.resolve('mcp-remote/dist/proxy.js'))
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [remote, url, '--transport', 'http-only', '--allow-http'],
        stderr: 'ignore',
      }),
    )
    t.after(() => client.close())
    const { tools } = await client.listTools()
    assert.ok(tools.some(({ name }) => name === 'list_documents'))
    const result = await client.callTool({
      name: 'list_documents',
      arguments: { doctype: 'Customer', limit: 1 },
    })
    assert.equal(result.isError, false)
    const { prompts } = await client.listPrompts()
    assert.ok(prompts.some(({ name }) => name === 'sales_analysis'))
    const { resources } = await client.listResources()
    assert.match(resources[0]!.uri, /^skill:\/\//)
  })
})
