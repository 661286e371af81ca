/** use-mcp in a page of another origin, in a browser in which somebody signs in. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import { launchChromium } from '../helpers/chromium.ts'
import type { Prepared } from './clients.ts'
import type { Walk } from './lane.ts'

const script = `
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { onMcpAuthorization } from 'use-mcp'
import { useMcp } from 'use-mcp/react'

function App() {
  window.mcp = useMcp({ url: window.name, clientName: 'use-mcp', transportType: 'http' })
  return createElement('p', {}, window.mcp.state)
}
if (location.pathname === '/oauth/callback') void onMcpAuthorization()
else window.start = (url) => { window.name = url; createRoot(document.body).render(createElement(App)) }
`

/** The page, which has to be there before the service that lets its origin in. */
export async function servePage(folder: string): Promise<Prepared> {
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: folder },
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const html = `<!doctype html><body><script>${outputFiles[0]!.text.replaceAll('</script', '<\\/script')}</script>`
  const server = createServer(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end(html),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  return {
    // The line that `oauth trace` names.
    settings: [['  allowed_public_client_origins: []', `  allowed_public_client_origins: ['${origin}']`]],
    given: origin,
    close: async () => void server.close(),
  }
}

export async function useMcp(walk: Walk, _: string, origin: unknown): Promise<void> {
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    const opened = page.waitForEvent('popup', { timeout: 20_000 })
    await page.goto(String(origin))
    await page.evaluate((url) => (globalThis as any).start(url), walk.url)
    const popup = await opened
    await popup.fill('input[name=username]', walk.lane.person.username)
    await popup.fill('input[name=password]', walk.lane.person.password)
    await popup.click('button[type=submit]')
    await popup.click('button[value=approve]')
    const state = (): Promise<string> => page.evaluate(() => (globalThis as any).mcp.state)
    await page.waitForFunction(() => (globalThis as any).mcp.state === 'ready', undefined, {
      timeout: 20_000,
    })
    const call = (): Promise<boolean> =>
      page.evaluate(async () => {
        const answer = await (globalThis as any).mcp
          .callTool('list_documents', { doctype: 'Customer', limit: 1 })
          .catch(() => ({ isError: true }))
        return answer.isError === false
      })
    if (!(await call())) throw new Error('the call failed')
    await walk.edit()
    await walk.expire()
    if (!(await call())) throw new Error(`the call failed once the token had ended (${await state()})`)
    await walk.revoke()
    if (await call()) throw new Error('what was revoked still works')
  } finally {
    await browser.close()
  }
}
