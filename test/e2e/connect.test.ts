/** Connecting an app: the steps with this server's address, and the file with which Claude Desktop reaches it. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { openZip } from '../../packages/sandbox/src/files/zip.mjs'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { startDaemon } from '../helpers/daemon.ts'

const user = 'sales@example.com'
const password = 'correct horse battery staple'

describe('a user who connects an app', { skip }, () => {
  it('finds the exact steps, copies them by keyboard, and gets a file that Claude Desktop runs', async (t) => {
    const daemon = await startDaemon(t)
    await daemon.cli(['users', 'passwd', user, '--password-stdin'], password)
    const context = await (await startChromium(t)).newContext()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    await page.goto(`${daemon.url}/connect`)
    await page.getByLabel('E-mail address').fill(user)
    await page.getByLabel('Password').fill(password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Connect an app' }).waitFor()
    const url = `${daemon.url}/api/method/assistant_core.api.mcp_endpoint.handle_mcp`
    await page.getByRole('button', { name: 'Copy: Claude Code' }).press('Enter')
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(
      await page.evaluate('navigator.clipboard.readText()'),
      `claude mcp add --transport http assistant-core ${url}`,
    )
    const linkOf = (name: string): Promise<string | null> =>
      page.getByRole('link', { name }).getAttribute('href')
    const cursor = new URL((await linkOf('Add to Cursor'))!)
    assert.deepEqual(JSON.parse(Buffer.from(cursor.searchParams.get('config')!, 'base64').toString()), {
      url,
    })
    const code = decodeURIComponent((await linkOf('Add to VS Code'))!.replace('vscode:mcp/install?', ''))
    assert.deepEqual(JSON.parse(code), { name: 'assistant-core', type: 'http', url })
    assert.equal(await page.getByText('needs a public address').count(), 2, 'of two that come from a cloud')

    const bundle = await context.request.get(
      daemon.url + (await linkOf('Download the file for Claude Desktop'))!,
    )
    assert.equal(bundle.headers()['content-type'], 'application/zip')
    const archive = await openZip(await bundle.body(), 1_000_000)
    assert.deepEqual(archive.names, ['manifest.json', 'server/bridge.mjs', 'icon.png'])
    const read = async (name: string): Promise<string> => {
      const parts: Buffer[] = []
      for await (const part of await archive.read(name)) parts.push(part)
      return Buffer.concat(parts).toString('utf8')
    }
    const manifest = JSON.parse(await read('manifest.json')) as {
      server: { mcp_config: { env: Record<string, string> } }
      user_config: { key: { sensitive: boolean } }
    }
    assert.equal(manifest.server.mcp_config.env['MCP_URL'], url)
    assert.equal(manifest.user_config.key.sensitive, true)

    const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, 'bridge.mjs'), await read('server/bridge.mjs'))
    const made = await daemon.cli(['api-keys', 'create', '--user', user, '--json'])
    const { authorization } = JSON.parse(made.stdout) as { authorization: string }
    const connect = async (key: string): Promise<Client> => {
      const client = new Client({ name: 'desktop', version: '1.0.0' })
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [join(folder, 'bridge.mjs')],
        env: { MCP_URL: url, MCP_KEY: key },
        stderr: 'ignore',
      })
      t.after(() => client.close())
      await client.connect(transport)
      return client
    }
    // As people paste it: the whole line, or what is behind the word.
    for (const key of [`Authorization: ${authorization}`, authorization.replace('token ', ' ')]) {
      const client = await connect(key)
      const { tools } = await client.listTools()
      assert.ok(tools.some(({ name }) => name === 'list_documents'))
      const calls = Array.from({ length: 5 }, () =>
        client.callTool({ name: 'list_documents', arguments: { doctype: 'Customer', limit: 1 } }),
      )
      for (const { isError } of await Promise.all(calls)) assert.ok(!isError)
    }
    await assert.rejects(connect('not:a-key'), /401/)
    assert.deepEqual(complaints, [])
    await context.clearCookies()
    const stranger = await context.request.get(`${daemon.url}/connect/assistant-core.mcpb`)
    assert.match(await stranger.text(), /<h1>Sign in<\/h1>/)
  })
})
