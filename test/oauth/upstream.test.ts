import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Provider } from 'oidc-provider'
import { pages } from '../../src/pages/pages.ts'
import { Browser, type Page } from './browser.ts'
import { startServer } from './server.ts'

const clientSecret = 'a secret between the two of us'

/** A company: an OpenID provider of another make, where the account says what its e-mail address is. */
async function startCompany(t: TestContext) {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const issuer = `http://localhost:${(listener.address() as AddressInfo).port}`
  const redirectUris: string[] = ['http://localhost:1/none']
  const company = {
    issuer,
    claims: {} as Record<string, unknown>,
    allow: (uri: string) => {
      redirectUris[0] = uri
    },
  }
  const provider = (): Provider =>
    new Provider(issuer, {
      clients: [
        {
          client_id: 'assistant',
          client_secret: clientSecret,
          redirect_uris: redirectUris,
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['k'] },
      findAccount: (_ctx: unknown, sub: string) => ({
        accountId: sub,
        claims: () => ({ sub, ...company.claims }),
      }),
      renderError: (ctx: { body: string }, out: { error: string; error_description?: string }) => {
        ctx.body = `${out.error} ${out.error_description ?? ''}`
      },
    })
  let callback: RequestListener | undefined
  listener.on('request', (request, response) => {
    callback ??= provider().callback()
    callback(request, response)
  })
  t.after(() => {
    listener.closeAllConnections()
    listener.close()
  })
  return company
}

/** Walks through the company's own pages, to where it sends the browser back. */
async function atCompany(start: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = start
  let init: RequestInit = {}
  for (let hops = 0; hops < 20; hops++) {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: {
        ...(init.body ? { 'Content-Type': 'application/x-www-form-urlencoded' } : {}),
        Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (location !== null) {
      url = new URL(location, url).href
      init = {}
      if (url.includes(pages.signInUpstreamCallback.path)) return url
      continue
    }
    const page = await response.text()
    const action = /action="([^"]+)"/.exec(page)?.[1]
    if (!action) throw new Error(`no form: ${page.slice(0, 500)}`)
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1] ?? 'login'
    url = new URL(action, url).href
    init = {
      method: 'POST',
      body: new URLSearchParams({ prompt, login: 'employee-7', password: 'x' }).toString(),
    }
  }
  throw new Error('the company went in circles')
}

async function start(t: TestContext, claims: Record<string, unknown>) {
  const company = await startCompany(t)
  const folder = await mkdtemp(join(tmpdir(), 'upstream-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'secret'), `${clientSecret}\n`)
  const oidc = {
    issuer: company.issuer,
    client_id: 'assistant',
    client_secret_file: 'secret',
    label: 'Sign in with ACME',
  }
  const server = await startServer(t, { secrets: folder, settings: { login: { passwords: false, oidc } } })
  // The provider's clock is the machine's.
  server.clock.pass((Date.now() - server.clock.now()) / 1000)
  company.allow(server.url + pages.signInUpstreamCallback.path)
  company.claims = claims
  return { company, server }
}

/** From the sign-in page to the company and to the door of ours again. */
async function leave(browser: Browser, next: string): Promise<string> {
  const page: Page = await browser.open(`${pages.signIn.path}?next=${encodeURIComponent(next)}`)
  assert.doesNotMatch(page.body, /name="password"/)
  const link = /<a class="button" href="([^"]+)">Sign in with ACME<\/a>/.exec(page.body)?.[1]
  const away = await browser.open(link!.replaceAll('&amp;', '&'))
  assert.equal(away.status, 303)
  return atCompany(away.location!)
}

describe('signing in with the company', () => {
  it('signs in the user of the verified e-mail address, and comes back to where it began', async (t) => {
    const { server, company } = await start(t, { email: 'Sales@example.com', email_verified: true })
    const browser = new Browser(server)
    const back = await leave(browser, pages.connectedApps.path)
    const page = await browser.open(back)
    assert.equal(new URL(page.url).pathname, pages.connectedApps.path)
    assert.match(page.body, /Connected apps/)
    const [event] = await server.auditEvents('sign_in.ok')
    assert.deepEqual((await server.accounts.of('sales@example.com')).subjects, {
      [company.issuer]: 'employee-7',
    })
    assert.equal(event?.user, 'sales@example.com')
    assert.deepEqual(event?.data, { method: 'oidc' })
    const replay = await browser.open(back)
    assert.equal(replay.status, 403, 'an answer counts once')
  })

  it('takes nobody for another whose address only looks the same in lower case', async (t) => {
    const { server } = await start(t, { email: 'mi\u212ae@example.com', email_verified: true })
    server.setUsers([...server.users(), { ...server.users()[0]!, id: 'mike@example.com' }])
    const browser = new Browser(server)
    const page = await browser.open(await leave(browser, '/'))
    assert.equal(page.status, 403)
    assert.match(page.body, /does not write its e-mail address plainly/)
    assert.equal(browser.cookies.has('assistant_core_session'), false)
    assert.deepEqual(await server.auditEvents('sign_in.ok'), [])
  })

  it('lets nobody in without a verified address, or who is no user here', async (t) => {
    const { server, company } = await start(t, {})
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ email: 'sales@example.com', email_verified: false }, /no verified e-mail/],
      [{ email: 'sales@example.com' }, /no verified e-mail/],
      [{ email_verified: true }, /no verified e-mail/],
      [{ email: 'stranger@example.com', email_verified: true }, /not a user here/],
    ]
    for (const [claims, why] of cases) {
      company.claims = claims
      const browser = new Browser(server)
      const page = await browser.open(await leave(browser, '/'))
      assert.equal(page.status, 403)
      assert.match(page.body, why)
      assert.equal(browser.cookies.has('assistant_core_session'), false)
    }
  })

  it('takes an answer only in the browser that asked, and only the one that it asked for', async (t) => {
    const { server } = await start(t, { email: 'sales@example.com', email_verified: true })
    const attacker = new Browser(server)
    const back = await leave(attacker, '/')
    const victim = new Browser(server)
    assert.equal((await victim.open(back)).status, 403, 'no visit at all')
    await victim.open(pages.signIn.path)
    assert.equal((await victim.open(back)).status, 403, 'another visit')
    assert.equal(victim.cookies.has('assistant_core_session'), false)
    for (const query of ['', '?code=x', '?code=x&state=made-up', '?error=access_denied']) {
      assert.equal((await attacker.open(pages.signInUpstreamCallback.path + query)).status, 403, query)
    }
    const late = await leave(attacker, '/')
    server.clock.pass(601)
    assert.equal((await attacker.open(late)).status, 403, 'too late')
  })

  it('says so when the company cannot be reached, or there is none', async (t) => {
    const oidc = { issuer: 'http://localhost:1', client_id: 'x', client_secret_file: 'none' }
    const server = await startServer(t, { settings: { login: { oidc } } })
    const page = await new Browser(server).open(pages.signInUpstream.path)
    assert.equal(page.status, 503)
    assert.match(page.body, /cannot be reached now/)
    server.change({ login: { oidc: null } })
    assert.equal((await new Browser(server).open(pages.signInUpstream.path)).status, 404)
  })
})
