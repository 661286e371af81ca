import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  callback,
  callMcp,
  connect,
  formOf,
  pkcePair,
  postJson,
  refresh,
  register,
} from '../oauth/browser.ts'
import { password, startServer, type TestServer } from '../oauth/server.ts'

const webCallback = 'https://app.example/cb'

function request(
  server: TestServer,
  client: string,
  redirectUri = callback,
  more: Record<string, string> = {},
): string {
  return authorizeUrl(server, {
    response_type: 'code',
    client_id: client,
    redirect_uri: redirectUri,
    state: 's',
    code_challenge: pkcePair().challenge,
    code_challenge_method: 'S256',
    ...more,
  })
}

async function signIn(server: TestServer, user = 'sales@example.com'): Promise<Browser> {
  const browser = new Browser(server)
  await browser.submit(await browser.open(pages.signIn.path), { username: user, password })
  return browser
}

async function readOnlyOf(server: TestServer, token: string): Promise<boolean> {
  const reply = await callMcp(server, `Bearer ${token}`)
  return ((await reply.json()) as { readOnly?: boolean }).readOnly ?? false
}

describe('the consent page', () => {
  it('says who asks, where access goes and what it is, in words', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const page = await (await signIn(server)).open(request(server, client, callback, { scope: 'openid all' }))
    assert.match(page.body, /<strong class="client" dir="auto">Test App<\/strong>/)
    assert.match(page.body, /<code>127\.0\.0\.1<\/code> – a program on this device/)
    assert.match(page.body, /Unverified/)
    assert.match(page.body, /It will act as you in/)
    assert.match(page.body, /read documents of 2 kinds<\/summary>Customer, Item/)
    assert.match(page.body, /change documents of 1 kind<\/summary>Customer/)
    assert.equal(page.body.match(/class="note"/g)?.length, 1, 'one notice, not two')
    assert.match(page.body, /sales@example\.com/)
  })

  it('says what an app may do even when it asks for the e-mail address alone, which restricts no tool', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, { client_name: 'Mail Login Only' })
    const browser = await signIn(server)
    const page = await browser.open(request(server, client, callback, { scope: 'email' }))
    assert.match(page.body, /It will act as you in/)
    assert.match(page.body, /change documents of 1 kind/)
    assert.match(page.body, /It also learns your e-mail address\./)
    assert.doesNotMatch(page.body, /<li>See your e-mail address/)
  })

  it('says of all scopes what userinfo and the ID token then tell: each tells the address', async (t) => {
    const server = await startServer(t)
    const told: string[] = []
    for (const scope of [
      'openid',
      'profile',
      'email',
      'all',
      'openid profile',
      'openid email',
      'openid all',
    ]) {
      const { client_id: client } = await register(server, { redirect_uris: [webCallback] })
      const browser = await signIn(server)
      const page = await browser.open(request(server, client, webCallback, { scope }))
      const says = /It also learns your (name and )?e-mail address/.exec(page.body)
      const { tokens } = await connect(server, { client, redirectUri: webCallback, scope })
      const headers = { authorization: `Bearer ${tokens.access_token}` }
      const claims = (await (await fetch(server.url + paths.userinfo, { headers })).json()) as object
      const values = Object.values(claims)
      assert.equal(says !== null, values.includes('sales@example.com'), scope)
      assert.equal(says?.[1] !== undefined, values.includes('sales'), scope)
      told.push(`${scope}: ${says?.[0]}`)
    }
    assert.equal(told.filter((one) => one.includes('name and')).length, 4, told.join('\n'))
  })

  it('sets the part of a host off that somebody registered', async (t) => {
    const server = await startServer(t)
    const hosts = [
      [
        'https://login.microsoftonline.com.evil.example/cb',
        'login.microsoftonline.com.<strong>evil.example</strong>',
      ],
      ['https://shop.company.co.uk/cb', 'shop.<strong>company.co.uk</strong>'],
      ['https://company.co.uk:8443/cb', '<strong>company.co.uk</strong>:8443'],
    ] as const
    const { client_id: client } = await register(server, { redirect_uris: hosts.map(([uri]) => uri) })
    const browser = await signIn(server)
    for (const [uri, shown] of hosts) {
      const page = await browser.open(request(server, client, uri))
      assert.ok(page.body.includes(`<code>${shown}</code>`), uri)
    }
  })

  it('lets the user narrow the grant to reading, which its tokens keep through refreshes', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, { redirect_uris: [webCallback] })
    const narrow = await connect(server, { client, redirectUri: webCallback, fields: { reading: '1' } })
    assert.equal(await readOnlyOf(server, narrow.tokens.access_token), true)
    const later = await refresh(server, client, narrow.tokens.refresh_token)
    assert.equal(await readOnlyOf(server, (later.body as { access_token: string }).access_token), true)
    const [event] = await server.auditEvents('grant.approve')
    assert.equal((event!.data as { readOnly?: boolean }).readOnly, true)
    assert.match((await narrow.browser.open(pages.connectedApps.path)).body, /but only reads/)

    // Remembered as narrow: the same visit again gives no more.
    const again = await connect(server, {
      client,
      redirectUri: webCallback,
      browser: narrow.browser,
      headers: { 'Sec-Fetch-Site': 'none' },
    })
    assert.equal(await readOnlyOf(server, again.tokens.access_token), true)
  })

  it('ends what was issued before when the user narrows the grant', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const wide = await connect(server, { client })
    assert.equal(await readOnlyOf(server, wide.tokens.access_token), false)
    const narrow = await connect(server, { client, browser: wide.browser, fields: { reading: '1' } })
    assert.equal((await server.tokens.find(wide.tokens.access_token)).kind, 'inactive')
    assert.equal(await readOnlyOf(server, narrow.tokens.access_token), true)
    assert.equal((await server.grants.list({ client })).length, 1)
  })

  it('offers nothing to allow to who may not use the service', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const page = await (await signIn(server, 'disabled@example.com')).open(request(server, client))
    assert.match(page.body, /You may not use AI apps here at present/)
    assert.doesNotMatch(page.body, /value="approve"/)
  })

  it('cannot be sent from another browser, another user, another request or another site', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const victim = await signIn(server)
    const page = await victim.open(request(server, client))
    const { hidden, action } = formOf(page)
    const send = async (
      browser: Browser,
      fields: Record<string, string>,
      headers: Record<string, string> = {},
    ) =>
      browser.open(action, {
        method: 'POST',
        body: new URLSearchParams({ ...hidden, decision: 'approve', ...fields }).toString(),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      })
    const attacker = await signIn(server, 'hr@example.com')
    const cases = [
      await send(new Browser(server), {}),
      await send(attacker, {}),
      await send(victim, { csrf: '' }),
      await send(victim, { csrf: 'x'.repeat(43) }),
      await send(victim, { request: hidden['request']!.replace('state=s', 'state=t') }),
      await send(victim, { time: String(Number(hidden['time']) + 1) }),
      await send(victim, {}, { 'Sec-Fetch-Site': 'cross-site' }),
      await send(victim, {}, { 'Sec-Fetch-Site': 'same-site' }),
      await send(victim, {}, { Origin: 'https://evil.example' }),
    ]
    for (const [index, reply] of cases.entries()) {
      assert.equal(reply.status, 403, String(index))
      assert.equal(reply.location, undefined)
    }
    assert.equal((await server.grants.list()).length, 0)
    const honest = await send(victim, {}, { Origin: 'null', 'Sec-Fetch-Site': 'same-origin' })
    assert.equal(honest.status, 302)
  })

  it('is too old after half an hour', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const browser = await signIn(server)
    const page = await browser.open(request(server, client))
    server.clock.pass(31 * 60)
    assert.equal((await browser.submit(page, { decision: 'approve' })).status, 403)
    assert.equal((await server.grants.list()).length, 0)
  })

  it('wants a decision', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const browser = await signIn(server)
    const page = await browser.open(request(server, client))
    assert.equal((await browser.submit(page, { decision: 'maybe' })).status, 400)
    assert.equal((await server.grants.list()).length, 0)
  })

  it('is remembered for the same client, redirect host and scopes, on the user own visit only', async (t) => {
    const server = await startServer(t)
    const uris = { redirect_uris: [webCallback, 'https://other.example/cb'] }
    const { client_id: client } = await register(server, uris)
    const { browser } = await authorize(server, { client, redirectUri: webCallback })
    const asks = async (url: string, site: string | undefined): Promise<boolean> => {
      const headers: Record<string, string> = site === undefined ? {} : { 'Sec-Fetch-Site': site }
      return (await browser.open(url, { headers })).body.includes('name="decision"')
    }
    const same = request(server, client, webCallback)
    assert.equal(await asks(same, 'none'), false)
    assert.equal(await asks(same, 'same-origin'), false)
    assert.equal(await asks(same, 'cross-site'), true, 'another site led here')
    assert.equal(await asks(same, undefined), true, 'a browser that does not say')
    assert.equal(await asks(request(server, client, 'https://other.example/cb'), 'none'), true)
    assert.equal(await asks(request(server, client, webCallback, { scope: 'openid' }), 'none'), true)
    assert.equal(await asks(request(server, client, webCallback, { prompt: 'consent' }), 'none'), true)
    const { client_id: other } = await register(server, uris)
    assert.equal(await asks(request(server, other, webCallback), 'none'), true)
  })

  it('is shown after a sign-in that another site began', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, { redirect_uris: [webCallback] })
    await authorize(server, { client, redirectUri: webCallback })
    const fresh = new Browser(server)
    const form = await fresh.open(request(server, client, webCallback), {
      headers: { 'Sec-Fetch-Site': 'cross-site' },
    })
    const next = await fresh.submit(
      form,
      { username: 'sales@example.com', password },
      { 'Sec-Fetch-Site': 'same-origin' },
    )
    assert.match(next.body, /name="decision"/)
  })

  it('is never skipped for an app on the device, which anything could pretend to be', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const { browser } = await authorize(server, { client })
    const page = await browser.open(request(server, client), { headers: { 'Sec-Fetch-Site': 'none' } })
    assert.match(page.body, /name="decision"/)
  })

  it('is left out by skip_authorization, which every page warns of', async (t) => {
    const server = await startServer(t, { settings: { oauth: { skip_authorization: true } } })
    const { client_id: client } = await register(server)
    const browser = new Browser(server)
    const form = await browser.open(request(server, client))
    assert.match(form.body, /class="warning".*skip_authorization is on/)
    const answer = await browser.submit(form, { username: 'sales@example.com', password })
    assert.match(answer.location ?? '', /\?code=/)
    for (const path of [pages.home.path, pages.connectedApps.path, pages.signOut.path]) {
      assert.match((await browser.open(path)).body, /class="warning"/, path)
    }
  })

  it('lets the browser follow the redirect to where the client is', async (t) => {
    const server = await startServer(t)
    const native = 'cursor://anysphere.cursor-mcp/oauth/callback'
    const { client_id: client } = await register(server, { redirect_uris: [callback, webCallback, native] })
    const browser = await signIn(server)
    for (const [uri, sources] of [
      [callback, "'self' https: http:"],
      [webCallback, "'self' https:"],
      [native, "'self' https: cursor:"],
    ] as const) {
      const page = await browser.open(request(server, client, uri))
      assert.ok(page.headers.get('content-security-policy')!.endsWith(`form-action ${sources}`), uri)
    }
  })
})

describe('the sign-in page', () => {
  it('needs its own form, from its own browser and site', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    const page = await browser.open(pages.signIn.path)
    const fields = { username: 'sales@example.com', password }
    const stranger = new Browser(server)
    assert.equal((await stranger.submit(page, fields)).status, 403)
    assert.equal((await browser.submit(page, { ...fields, csrf: 'x' })).status, 403)
    assert.equal((await browser.submit(page, fields, { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
    assert.equal(browser.cookies.has('assistant_core_session'), false)
    assert.equal((await browser.submit(page, fields)).status, 200)
    assert.equal(browser.cookies.has('assistant_core_session'), true)
  })

  it('says the same for every wrong pair, keeps the name and never shows the password', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    const bodies: string[] = []
    for (const username of ['sales@example.com', 'nobody@example.com']) {
      const page = await browser.submit(await browser.open(pages.signIn.path), {
        username,
        password: 'wrong password',
      })
      assert.equal(page.status, 403)
      assert.doesNotMatch(page.body, /wrong password/)
      bodies.push(page.body.replaceAll(username, 'NAME').replaceAll(/value="[\w-]{43}"/g, ''))
    }
    assert.equal(bodies[0], bodies[1])
  })

  it('tells how long to wait', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    const page = await browser.open(pages.signIn.path)
    for (let n = 0; n < 5; n++)
      await browser.submit(page, { username: 'sales@example.com', password: 'wrong' })
    const waiting = await browser.submit(page, { username: 'sales@example.com', password })
    assert.equal(waiting.status, 429)
    assert.equal(waiting.headers.get('retry-after'), '1')
  })

  it('leads only to our own pages', async (t) => {
    const server = await startServer(t)
    const hostile = [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example/',
      '/%09/evil.example',
      '/\t/evil.example',
      '/sign-out',
      'javascript:alert(1)',
      '/connected-apps/../../evil',
      '',
    ]
    for (const next of hostile) {
      const browser = new Browser(server)
      const page = await browser.open(`${pages.signIn.path}?next=${encodeURIComponent(next)}`)
      const after = await browser.submit(page, { username: 'sales@example.com', password, next })
      assert.equal(new URL(after.url).pathname, '/', next)
    }
  })

  it('can be without passwords', async (t) => {
    const server = await startServer(t, { settings: { login: { passwords: false } } })
    const page = await new Browser(server).open(pages.signIn.path)
    assert.doesNotMatch(page.body, /name="password"/)
    assert.match(page.body, /switched off/)
  })
})

describe('every page', () => {
  it('has a strict policy, no script and no style of its own, and its language', async (t) => {
    const server = await startServer(t)
    const { browser, client } = await connect(server)
    const urls = [
      pages.home.path,
      pages.signIn.path,
      pages.signOut.path,
      pages.connectedApps.path,
      request(server, client),
      `${paths.authorize}?x=1`,
    ]
    for (const url of urls) {
      const page = await browser.open(url)
      const policy = page.headers.get('content-security-policy') ?? ''
      assert.match(
        policy,
        /^default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'/,
      )
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
      assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
      assert.equal(page.headers.get('cache-control'), 'no-store')
      assert.doesNotMatch(page.body, /<script|<style|style="|onclick|https?:\/\/(?!localhost)/i, url)
      assert.match(page.body, /<html lang="en">/)
      for (const [, id] of page.body.matchAll(/<label for="([^"]+)"/g))
        assert.match(page.body, new RegExp(`id="${id}"`))
    }
    const css = await fetch(server.url + pages.stylesheet.path)
    assert.match(css.headers.get('content-type') ?? '', /^text\/css/)
    assert.match(await css.text(), /prefers-color-scheme: dark/)
  })

  it('shows only the user own apps, and revokes only those', async (t) => {
    const server = await startServer(t)
    const mine = await connect(server)
    const theirs = await connect(server, { user: 'hr@example.com' })
    const [grant] = await server.grants.list({ user: 'hr@example.com' })
    const page = await mine.browser.open(pages.connectedApps.path)
    assert.doesNotMatch(page.body, new RegExp(grant!.id))
    const stolen = await mine.browser.submit(page, { grant: grant!.id })
    const unknown = await mine.browser.submit(page, { grant: 'nothing' })
    assert.equal(stolen.status, 404)
    assert.equal(stolen.body, unknown.body, 'another user grant does not exist')
    assert.equal((await server.tokens.find(theirs.tokens.access_token)).kind, 'active')
    assert.equal((await mine.browser.submit(page, { csrf: 'x' })).status, 403)
    assert.equal(
      (await new Browser(server).open(pages.connectedApps.path)).body.includes('name="password"'),
      true,
    )
    assert.equal((await server.auditEvents('grant.revoke')).length, 0)
  })

  it('says in words whether an app is still connecting, or was cut off or ran out', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const { browser } = await authorize(server, { client })
    assert.match(
      (await browser.open(pages.connectedApps.path)).body,
      /Waiting for the app to finish connecting/,
    )
    const connected = await connect(server, { client, browser })
    assert.doesNotMatch((await connected.browser.open(pages.connectedApps.path)).body, /<dt>State/)
    const [family] = await server.tokens.families({ client })
    await server.tokens.revoke({ family: family!.id }, 'test')
    assert.match((await connected.browser.open(pages.connectedApps.path)).body, /Its access has ended/)
  })

  it('shows and ends the tokens and API keys that an operator made, too', async (t) => {
    const server = await startServer(t)
    const { browser } = await connect(server)
    const user = 'sales@example.com'
    const request = {
      user,
      client: 'cli',
      clientName: 'command line',
      scopes: ['all'],
      resource: server.publicUrl(),
    }
    const issued = await server.tokens.issue({ ...request, label: 'nightly report' })
    const { key, secret } = await server.apiKeys.create({ user, label: 'scanner' })
    const theirs = await server.apiKeys.create({ user: 'hr@example.com', label: 'of another' })
    const page = await browser.open(pages.connectedApps.path)
    for (const name of ['Test App', 'nightly report', 'API key: scanner'])
      assert.ok(page.body.includes(name), name)
    assert.ok(!page.body.includes('of another'))

    assert.equal((await browser.submit(page, { grant: '', key: theirs.key.id })).status, 404)
    assert.ok('key' in (await server.apiKeys.check(theirs.key.id, theirs.secret)))
    await browser.submit(page, { grant: '', key: key.id })
    assert.ok('fault' in (await server.apiKeys.check(key.id, secret)))
    assert.equal((await server.tokens.find(issued.accessToken)).kind, 'active')
    await browser.submit(await browser.open(pages.connectedApps.path), { all: '1' })
    assert.equal((await server.tokens.find(issued.accessToken)).kind, 'inactive')
    assert.match((await browser.open(pages.connectedApps.path)).body, /No app has access to you/)
    const types = ['api_key.revoke', 'grant.revoke', 'token.revoke']
    for (const type of types) {
      const events = (await server.auditEvents(type)).filter((event) => event.user === user)
      assert.equal(events.length, 1, type)
    }
  })

  it('survives a client whose registration is gone', async (t) => {
    const server = await startServer(t)
    const reply = await postJson(server, { redirect_uris: [webCallback], token_endpoint_auth_method: 'none' })
    const { client_id } = (await reply.json()) as { client_id: string }
    await server.clients.remove(client_id)
    const page = await new Browser(server).open(request(server, client_id, webCallback))
    assert.equal(page.status, 400)
    assert.match(page.body, /let it connect anew/)
  })
})
