/** The story through mcp-remote: a stdio bridge that opens a browser by itself; here the browser is ours. */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Browser } from '../helpers/browser.ts'
import { projectRoot, startDaemon, temporaryFolder } from '../helpers/daemon.ts'

const person = { username: 'sales@example.com', password: 'correct horse battery staple' }

describe('mcp-remote', () => {
  it('registers, sends the user to sign in, and bridges a stdio client to the tools', async (t) => {
    const daemon = await startDaemon(t)
    await daemon.cli(['users', 'passwd', person.username, '--password-stdin'], `${person.password}\n`)
    const home = temporaryFolder(t)
    const opened = join(home, 'opened-url')
    const bin = join(home, 'bin')
    mkdirSync(bin)
    // What the bridge runs to open a browser writes down the address instead.
    for (const name of ['xdg-open', 'open', 'sensible-browser']) {
      writeFileSync(
        join(bin, name),
        `#!/bin/sh\nprintf '%s' "$1" > '${opened}.tmp' && mv '${opened}.tmp' '${opened}'\n`,
      )
      chmodSync(join(bin, name), 0o755)
    }
    let said = ''
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        join(projectRoot, 'node_modules/mcp-remote/dist/proxy.js'),
        `${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`,
        '--transport',
        'http-only',
        '--allow-http',
      ],
      env: {
        ...(process.env as Record<string, string>),
        HOME: home,
        MCP_REMOTE_CONFIG_DIR: join(home, 'mcp-auth'),
        PATH: `${bin}:${process.env['PATH']}`,
      },
      stderr: 'pipe',
    })
    transport.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const client = new Client({ name: 'story', version: '1.0.0' })
    t.after(() => client.close())
    const connected = client.connect(transport, { timeout: 60_000 })
    connected.catch(() => {})

    const url = await address(() => said, opened)
    // The bridge waits on a port of its own: follow the redirect to it as a browser would.
    await signInAndReturn(url)
    await connected
    const { tools } = await client.listTools()
    assert.ok(
      tools.some((tool) => tool.name === 'list_documents'),
      said,
    )
    const result = await client.callTool({
      name: 'list_documents',
      arguments: { doctype: 'Customer', limit: 1 },
    })
    assert.equal(result.isError ?? false, false)
    const clients = JSON.parse((await daemon.cli(['clients', 'list', '--json'])).stdout) as {
      client_name: string
    }[]
    assert.ok(
      clients.some(({ client_name }) => /mcp-remote|MCP CLI Proxy/i.test(client_name)),
      JSON.stringify(clients),
    )
  })
})

/** The address that the bridge wants a browser to open, from its words or from the stand-in browser. */
async function address(said: () => string, file: string): Promise<string> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await delay(100)) {
    const url = /https?:\/\/\S+(?:authorize)\S*/.exec(said())?.[0] ?? readIfThere(file)
    if (url) return url
  }
  throw new Error(`mcp-remote asked for no browser:\n${said()}`)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

async function signInAndReturn(url: string): Promise<void> {
  const browser = new Browser()
  let place = await browser.open(url)
  while (!('away' in place))
    place = await browser.submit(
      place,
      /name="?password"?/.test(place.html) ? person : { decision: 'approve' },
    )
  const response = await fetch(place.away)
  assert.equal(response.status, 200, await response.text())
}
