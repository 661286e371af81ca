/** "Sign in with your company account": a link that asks for an e-mail address and wants everything. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Browser, type Page } from '../helpers/browser.ts'
import { noChromium, startChromium } from '../helpers/chromium.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { callTool } from '../helpers/tool-calls.ts'

const person = { username: 'sales@example.com', password: 'correct horse battery staple' }
const redirectUri = 'https://login.mail-service.example/callback'
// RFC 7636, appendix B.
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

describe('a link that asks for an e-mail address only', () => {
  it('leads to a page that says what the token can do, and to no more than was allowed there', async (t) => {
    const daemon = await startDaemon(t)
    await daemon.cli(['users', 'passwd', person.username, '--password-stdin'], `${person.password}\n`)
    const metadata = (await (await fetch(`${daemon.url}/.well-known/openid-configuration`)).json()) as Record<
      string,
      string
    >
    const registered = (await (
      await fetch(metadata['registration_endpoint']!, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_name: 'Company mail sign-in',
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: 'none',
        }),
      })
    ).json()) as { client_id: string }
    const link = new URL(metadata['authorization_endpoint']!)
    const asked = { response_type: 'code', redirect_uri: redirectUri, scope: 'email', state: 's' }
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
    for (const [name, value] of Object.entries({ ...asked, ...pkce, client_id: registered.client_id }))
      link.searchParams.set(name, value)

    const browser = new Browser()
    const consent = async (): Promise<Page> => {
      let page = await browser.open(link.href)
      if ('html' in page && /name="?password"?/.test(page.html)) page = await browser.submit(page, person)
      assert.ok('html' in page && page.status === 200, JSON.stringify(page))
      return page
    }
    const page = await consent()
    const words = page.html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
    assert.match(words, /Allow Company mail sign-in to act as you\?/)
    assert.match(words, /read documents of \d+ kinds/)
    assert.match(words, /change documents of \d+ kinds .*Customer/)
    assert.match(words, /Unverified/)
    assert.match(page.html, /login\.<strong>mail-service\.example<\/strong>/)

    // Before anything is allowed: an app that was allowed is not asked about again.
    const pictures = process.env['PICTURES']
    if (pictures !== undefined && !noChromium) {
      const real = await startChromium(t)
      const tab = await real.newPage()
      await tab.goto(link.href)
      await tab.getByLabel('E-mail address').fill(person.username)
      await tab.getByLabel('Password').fill(person.password)
      await tab.getByRole('button', { name: 'Sign in' }).click()
      await tab.getByRole('heading', { name: /act as you/ }).waitFor()
      await tab.screenshot({ path: join(pictures, 'phishing-link.png'), fullPage: true })
    }

    const created = async (choice: Record<string, string>): Promise<unknown> => {
      const away = await browser.submit(await consent(), { decision: 'approve', ...choice })
      assert.ok('away' in away, JSON.stringify(away))
      const answer = await fetch(metadata['token_endpoint']!, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: new URL(away.away).searchParams.get('code')!,
          redirect_uri: redirectUri,
          client_id: registered.client_id,
          code_verifier: verifier,
        }),
      })
      const { access_token } = (await answer.json()) as { access_token: string }
      const note = { doctype: 'Note', data: { title: 'x' } }
      const response = await callTool(daemon, access_token, 'create_document', note)
      return ((await response.json()) as { result?: { isError: boolean } }).result?.isError
    }
    assert.equal(await created({ reading: '1' }), undefined, 'who allowed reading only is not written for')
    assert.equal(await created({}), false, 'the page says so, and it is so')
  })
})
