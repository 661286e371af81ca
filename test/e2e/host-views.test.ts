/**
 * What an MCP host shows of charts, dashboards and waiting calls: the views of a real daemon in a real browser, in the frame
 * of a host page whose bridge is the extension's own (`@modelcontextprotocol/ext-apps`), under the specification's policy.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { build } from 'esbuild'
import { getToolUiResourceUri, isToolVisibilityModelOnly } from '@modelcontextprotocol/ext-apps/app-bridge'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Frame, Page } from 'playwright-core'
import { noChromium as skip, startChromium } from '../helpers/chromium.ts'
import { copyOfShippedSite, projectRoot, startDaemon } from '../helpers/daemon.ts'
import { tokenOf } from '../helpers/tool-calls.ts'

const hostile = `<img src=x onerror="parent.postMessage('owned','*')"><script>fetch('http://evil.example/')</script>`

/** MCP Apps, "Host Behavior": what a host must use where a view declares no domains. */
const hostPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'"

/** The frame between host and view, on an origin of its own. */
const proxyPage = `<!doctype html><body><script>
const inner = document.createElement('iframe')
inner.sandbox = 'allow-scripts allow-same-origin'
document.body.append(inner)
addEventListener('message', ({ source, data }) => {
  if (source === inner.contentWindow) parent.postMessage(data, '*')
  else if (data?.method === 'ui/notifications/sandbox-resource-ready') inner.srcdoc = data.params.html
  else inner.contentWindow.postMessage(data, '*')
})
parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, '*')
</script>`

const hostScript = `
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'
window.seen = { links: [], sizes: [], calls: [], problems: [] }
window.open = undefined
window.showView = async ({ proxy, html, csp, input, result, context, capabilities }) => {
  const frame = document.createElement('iframe')
  frame.sandbox = 'allow-scripts allow-same-origin'
  const bridge = new AppBridge(null, { name: 'a host', version: '1' }, capabilities, { hostContext: context })
  window.bridge = bridge
  bridge.onopenlink = async ({ url }) => (window.seen.links.push(url), {})
  bridge.onsizechange = (size) => window.seen.sizes.push(size)
  bridge.oncalltool = async (params) => (window.seen.calls.push(params), { content: [] })
  bridge.onerror = (error) => window.seen.problems.push(String(error))
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve))
  const ready = new Promise((resolve) => (bridge.onsandboxready = resolve))
  document.body.append(frame)
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
  frame.src = proxy
  await ready
  await bridge.sendSandboxResourceReady({ html, csp })
  await initialized
  window.seen.app = [bridge.getAppVersion(), bridge.getAppCapabilities()]
  await bridge.sendToolInput({ arguments: input })
  await bridge.sendToolResult(result)
}`

describe('a view in a host', { skip }, () => {
  it('shows a chart, dashboards and what waits, and neither reaches the network nor decides', async (t) => {
    const site = copyOfShippedSite(t)
    const tools = join(site, 'config/tools.yaml')
    writeFileSync(tools, `${readFileSync(tools, 'utf8')}  delete_document:\n    confirm: page\n`)
    const daemon = await startDaemon(t, { site })
    const token = await tokenOf(daemon, 'admin@example.com')
    const client = new Client(
      { name: 'host', version: '1' },
      {
        capabilities: {
          extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
        },
      },
    )
    const path = '/api/method/assistant_core.api.mcp_endpoint.handle_mcp'
    await client.connect(
      new StreamableHTTPClientTransport(new URL(daemon.url + path), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
    )
    t.after(() => client.close())
    const host = await startHost(t)
    const { tools: listed } = await client.listTools()

    /** Calls a tool as a host does, and shows its view. */
    const show = async (name: string, args: Record<string, unknown>, theme = 'light', links = true) => {
      const tool = listed.find((one) => one.name === name)!
      assert.equal(isToolVisibilityModelOnly(tool), true)
      const uri = getToolUiResourceUri(tool)!
      const [resource] = (await client.readResource({ uri })).contents as any[]
      const result = await client.callTool({ name, arguments: args })
      const variables = { '--color-text-primary': 'rgb(1, 2, 3)' }
      return await host.show({
        html: resource.text,
        csp: resource._meta.ui.csp,
        input: args,
        result,
        context: { theme, styles: { variables } },
        capabilities: links ? { openLinks: {} } : {},
      })
    }

    const chart = await show('create_dashboard_chart', {
      chart_name: hostile,
      chart_type: 'bar',
      doctype: 'Task',
      aggregate_function: 'Count',
      based_on: 'priority',
    })
    assert.equal(await chart.view.locator('figcaption').textContent(), hostile)
    await chart.view.waitForFunction(() => (globalThis as any).document.images[0].naturalWidth > 100)
    assert.ok((await chart.view.locator('tbody tr').count()) > 0, 'the numbers are there as text')
    const look = () =>
      chart.view.evaluate(() => {
        const { document, getComputedStyle } = globalThis as any
        const { color, colorScheme } = getComputedStyle(document.body)
        return [color, colorScheme]
      })
    assert.deepEqual(await look(), ['rgb(1, 2, 3)', 'light'])
    await host.page.evaluate(() => (globalThis as any).bridge.setHostContext({ theme: 'dark' }))
    await chart.view.waitForFunction(
      () => (globalThis as any).document.documentElement.style.colorScheme === 'dark',
    )
    assert.deepEqual(await look(), ['rgb(1, 2, 3)', 'dark'])

    const [stored] = JSON.parse(
      text(await client.callTool({ name: 'list_documents', arguments: { doctype: 'Dashboard Chart' } })),
    ).data
    const made = { dashboard_name: 'Mine', chart_names: [stored.name] }
    const { dashboard_id: id } = JSON.parse(
      text(await client.callTool({ name: 'create_dashboard', arguments: made })),
    )
    const list = await show('list_user_dashboards', {}, 'dark')
    assert.equal(await list.view.locator('h2').first().textContent(), 'Mine')
    const one = await show('list_user_dashboards', { dashboard: 'Mine' })
    assert.equal(await one.view.locator('figure img').count(), 1)
    await one.view.locator('button').click()
    assert.equal(await one.link(), `${daemon.url}/desk/${encodeURIComponent(id)}`)

    const note = { doctype: 'Note', data: { title: 'To be removed' } }
    const { name } = JSON.parse(text(await client.callTool({ name: 'create_document', arguments: note })))
    const asked = await show('delete_document', { doctype: 'Note', name })
    assert.match((await asked.view.locator('h2').textContent())!, new RegExp(`Note ${name}$`))
    assert.equal(await asked.view.locator('form, input').count(), 0, 'nothing to decide with')
    await asked.view.locator('button').click()
    const link = await asked.link()
    assert.match(link, /\/approvals\/[\w-]+$/)
    assert.match(await (await fetch(link)).text(), /name="?password"?/, 'who decides signs in there')
    // A host that opens no links shows where to go.
    const waiting = await show('get_pending_approvals', {}, 'light', false)
    assert.equal(await waiting.view.locator('button').count(), 0)
    assert.equal(await waiting.view.locator('section .address').textContent(), link)

    assert.deepEqual(host.strangers, [], 'no view asks the network for anything')
    // Nor could one, whatever ran in it: its own policy is stricter than the host's.
    const escapes = waiting.view.evaluate(async (address: string) => {
      const { document, fetch } = globalThis as any
      const script = document.createElement('script')
      script.textContent = 'globalThis.ran = true'
      document.body.append(script)
      const picture = document.createElement('img')
      picture.src = `${address}/assets/icons/server.svg`
      const loaded = new Promise((resolve) => {
        picture.addEventListener('load', () => resolve(true))
        picture.addEventListener('error', () => resolve(false))
      })
      document.body.append(picture)
      const fetched = await fetch(address).then(
        () => true,
        () => false,
      )
      return { ran: 'ran' in globalThis, loaded: await loaded, fetched }
    }, daemon.url)
    assert.deepEqual(await escapes, { ran: false, loaded: false, fetched: false })
    const { tools: still } = await client.listTools()
    assert.equal(still.length, listed.length)
    const kept = await client.callTool({ name: 'get_document', arguments: { doctype: 'Note', name } })
    assert.equal(kept.isError, false, 'looking at it allowed nothing')
  })
})

function text(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]!.text
}

/** A page with the extension's own bridge, and a second origin for the sandbox, whose policy views inherit. */
async function startHost(t: TestContext) {
  const { outputFiles } = await build({
    stdin: { contents: hostScript, resolveDir: projectRoot },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
  })
  const origins = await Promise.all(
    [
      `<!doctype html><body><script>${outputFiles[0]!.text.replaceAll('</script', '<\\/script')}</script>`,
      proxyPage,
    ].map(async (html, index) => {
      const headers = {
        'content-type': 'text/html; charset=utf-8',
        ...(index === 1 && {
          'content-security-policy': hostPolicy.replace('default-src', 'frame-src *; default-src'),
        }),
      }
      const server = createServer((_, response) => void response.writeHead(200, headers).end(html))
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.after(() => void server.close())
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    }),
  )
  const browser = await startChromium(t)
  const strangers: string[] = []
  const page = await browser.newPage()
  page.on('request', (request) => {
    const url = request.url()
    if (!origins.includes(url) && !/^(about|data):/.test(url) && !url.endsWith('/favicon.ico'))
      strangers.push(url)
  })
  return {
    page,
    strangers,
    show: async (what: object) => {
      await page.goto(origins[0]!)
      await page.evaluate((given) => (globalThis as any).showView(given), { proxy: origins[1], ...what })
      const view = viewIn(page)
      await view.waitForFunction(() => (globalThis as any).document.querySelector('main').children.length > 0)
      await page.waitForFunction(() => (globalThis as any).seen.sizes.length > 0)
      const seen = (): Promise<any> => page.evaluate(() => (globalThis as any).seen)
      const { app, sizes, calls, problems } = await seen()
      assert.match(app[0].name, /^assistant-core /)
      assert.ok(sizes.every(({ height }: { height: number }) => height > 0))
      assert.deepEqual([calls, problems], [[], []])
      const link = async (): Promise<string> => {
        await page.waitForFunction(() => (globalThis as any).seen.links.length > 0)
        return (await seen()).links[0]
      }
      return { view, link }
    },
  }
}

/** The innermost frame. */
function viewIn(page: Page): Frame {
  const found = page.frames().find((frame) => frame.parentFrame()?.parentFrame())
  assert.ok(found, 'the view has a frame')
  return found
}
