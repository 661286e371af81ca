/** Clients that people run from a shell: mcp-remote, the bridge to programs that speak only stdio, and the MCP inspector. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { projectRoot } from '../helpers/daemon.ts'
import { startTarget } from './target.ts'

const inspector = join(projectRoot, 'node_modules/.bin/mcp-inspector')
const installed = process.env['MCP_INSPECTOR'] ?? (existsSync(inspector) ? inspector : undefined)

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

  it(
    'the MCP inspector lists and calls',
    { skip: installed ? false : 'the MCP inspector is not installed (set MCP_INSPECTOR to its program)' },
    async () => {
      const list = await inspect(['--method', 'tools/list'])
      assert.match(list, /list_documents/)
      const args = [
        '--tool-name',
        'list_documents',
        '--tool-arg',
        'doctype=Customer',
        '--tool-arg',
        'limit=1',
      ]
      assert.match(await inspect(['--method', 'tools/call', ...args]), /"isError": ?false/)
      assert.match(await inspect(['--method', 'resources/list']), /skill:\/\//)
      assert.match(await inspect(['--method', 'prompts/list']), /sales_analysis/)
    },
  )

  function inspect(args: readonly string[]): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(installed!, ['--cli', url, '--transport', 'http', ...args])
      let output = ''
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
      child.on('error', reject)
      child.on('close', () => resolve(output))
    })
  }
})
