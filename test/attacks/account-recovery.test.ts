/** Somebody else was in the account, and left ways back in: what a reset leaves of them, which in 2.13.1 was all. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { AppError } from '#leaf/errors.ts'
import { Secret, TOTP } from 'otpauth'
import { operations } from '../../src/control/index.ts'
import { byOperator } from '../helpers/operator.ts'
import { pages } from '../../src/pages/pages.ts'
import { SoftPasskey } from '../helpers/passkey.ts'
import { Browser, callMcp, connect, refresh, type Page } from '../oauth/browser.ts'
import { password, startServer, type ServerOptions, type TestServer } from '../oauth/server.ts'

const user = 'hr@example.com'
const fresh = 'another long pass phrase'

async function send(browser: Browser, deed: string, fields: Record<string, string>): Promise<Page> {
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.open(pages.account.path)).body)?.[1] ?? ''
  return browser.open(`${pages.account.path}/${deed}`, {
    method: 'POST',
    body: new URLSearchParams({ csrf, ...fields }).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })
}

async function addPasskey(server: TestServer, browser: Browser, name: string): Promise<SoftPasskey> {
  const passkey = new SoftPasskey()
  const credential = passkey.create((await browser.open(pages.account.path)).body, server.url)
  assert.equal((await send(browser, 'passkey', { name, credential })).status, 200)
  return passkey
}

/** An intruder who knows the password, and leaves every way in that there is. */
async function intrude(t: TestContext, options: ServerOptions = {}) {
  const server = await startServer(t, options)
  const browser = new Browser(server)
  await browser.submit(await browser.open(pages.signIn.path), { username: user, password })
  const passkey = await addPasskey(server, browser, 'Their phone')
  const made = await send(browser, 'key', { days: '365', label: 'nightly import' })
  const key = /Authorization: (token [^<\s]+)/.exec(made.body)![1]!
  const app = await connect(server, { browser, user })
  const call = async (authorization: string): Promise<number> => (await callMcp(server, authorization)).status
  const enters = async (by: SoftPasskey): Promise<boolean> => {
    const visitor = new Browser(server)
    const page = await visitor.open(pages.signInPasskey.path)
    return (await visitor.submit(page, { credential: by.get(page.body, server.url) })).status === 200
  }
  /** Which of the ways that the intruder has are still open. */
  const open = async () => ({
    session: (await browser.open(pages.account.path)).body.includes('<h1>Account</h1>'),
    passkey: await enters(passkey),
    key: (await call(key)) === 200,
    app: (await call(`Bearer ${app.tokens.access_token}`)) === 200,
    refresh: (await refresh(server, app.client, app.tokens.refresh_token)).status === 200,
    password: await server.passwords.matches(user, password),
  })
  const all = { session: true, passkey: true, key: true, app: true, refresh: true, password: true }
  return { server, browser, passkey, enters, open, all }
}

const none = { session: false, passkey: false, key: false, app: false, refresh: false, password: false }

async function linkOf(server: TestServer, secondFactor = false): Promise<string> {
  const { secret } = await server.links.make({ user, purpose: 'reset', secondFactor, seconds: 3600 })
  return `${pages.oneTimeLink.path}?link=${secret}`
}

/** Sends the form as a browser would: what is ticked goes with it, but for what the person unticks. */
function choose(browser: Browser, page: Page, unticked: RegExp = /^$/, word = fresh): Promise<Page> {
  const boxes = [...page.body.matchAll(/<input type="checkbox" name="([^"]+)" value="1" checked>/g)]
  const ticked = boxes.map(([, name]) => name!).filter((name) => !unticked.test(name))
  return browser.submit(page, {
    ...Object.fromEntries(ticked.map((name) => [name, '1'])),
    new: word,
    again: fresh,
  })
}

describe('who was in somebody else’s account', () => {
  it('has no way back in after the link of a reset was used, which is told way by way', async (t) => {
    const { server, open, all } = await intrude(t)
    assert.deepEqual(await open(), all, 'or this test shows nothing')
    const owner = new Browser(server)
    const page = await owner.open(await linkOf(server))
    const scripts = page.body.match(/<script[^>]*>/g)?.map((tag) => tag.replace(/\?\w+/, ''))
    assert.deepEqual(scripts, ['<script src="/assets/page.mjs" type="module">'], 'none that knows passkeys')
    for (const way of [/Passkey: Their phone/, /API key: nightly import/, /Test App/, /Recovery codes/])
      assert.match(page.body, way)
    const ages = page.body.match(/made <time[^>]*>[^<]+<\/time> from (127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)/g)
    assert.equal(ages?.length, 3, 'how old each is, and from where')
    assert.equal(page.body.match(/last used <time[^>]*>[^<]+<\/time> from /g)?.length, 3)
    assert.equal((await choose(owner, page)).status, 200)
    assert.deepEqual(await open(), none)
    assert.deepEqual(await server.accounts.of(user), { id: user })
    const [chosen] = await server.auditEvents('password.choose')
    const { ended, kept } = chosen!.data as { ended: string[]; kept: string[] }
    assert.deepEqual(
      ended.map((id) => id.split('.')[0]),
      ['passkey', 'codes', 'grant', 'key'],
    )
    assert.deepEqual(kept, [])
    for (const type of ['second_factor.remove', 'grant.revoke', 'api_key.revoke'])
      assert.ok(
        (await server.auditEvents(type)).every((event) => event.user === user && event.status === 'ok'),
      )
  })

  it('loses also what they made after the page was opened', async (t) => {
    const { server, browser, enters } = await intrude(t)
    const owner = new Browser(server)
    const page = await owner.open(await linkOf(server))
    const second = await addPasskey(server, browser, 'Their tablet')
    await send(browser, 'key', { days: '30', label: 'late' })
    await choose(owner, page, /./)
    assert.equal(await enters(second), false)
    const live = (await server.apiKeys.list(user)).filter(({ revokedAt }) => revokedAt === undefined)
    assert.deepEqual(
      live.map(({ label }) => label),
      ['nightly import'],
      'which the owner said to know',
    )
  })

  it('leaves the owner what they know and keep', async (t) => {
    const { server, open } = await intrude(t)
    const owner = new Browser(server)
    const page = await owner.open(await linkOf(server))
    await choose(owner, page, /^end\.(passkey|grant)\./)
    assert.deepEqual(await open(), { ...none, passkey: true, app: true, refresh: true })
    const [chosen] = await server.auditEvents('password.choose')
    const { kept } = chosen!.data as { kept: string[] }
    assert.deepEqual(
      kept.map((id) => id.split('.')[0]),
      ['passkey', 'grant'],
    )
  })

  it('is told to have kept only what is still there: recovery codes go with the last second factor', async (t) => {
    const { server } = await intrude(t)
    const owner = new Browser(server)
    await choose(owner, await owner.open(await linkOf(server)), /^end\.codes$/)
    assert.deepEqual(await server.accounts.of(user), { id: user })
    const [chosen] = await server.auditEvents('password.choose')
    assert.deepEqual(chosen?.data?.['kept'], [])
  })

  it('keeps all of it while the form is refused, and ticks stay as they were', async (t) => {
    const { server, open, all } = await intrude(t)
    const owner = new Browser(server)
    const page = await owner.open(await linkOf(server))
    const again = await choose(owner, page, /^end\.key\./, 'mistyped')
    assert.equal(again.status, 400)
    assert.match(again.body, /name="end\.key\.[^"]+" value="1">/)
    assert.match(again.body, /name="end\.passkey\.[^"]+" value="1" checked>/)
    assert.deepEqual(await open(), all)
    assert.deepEqual(await server.auditEvents('password.choose'), [])
    assert.deepEqual(await server.auditEvents('api_key.revoke'), [])
  })

  it('cannot do away with the second factor of a role by a link alone that they caught', async (t) => {
    const server = await startServer(t, { settings: { login: { second_factor_roles: ['HR User'] } } })
    const { secret } = server.secondFactors.begin(user, 'Test')
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: server.clock.now() })
    await server.secondFactors.set(user, secret, code)
    const thief = new Browser(server)
    const page = await thief.open(await linkOf(server))
    assert.match(page.body, /name="end\.totp" value="1" disabled>[^]*It stays, because your role needs/)
    await thief.submit(page, { new: fresh, again: fresh, 'end.totp': '1', 'shown.totp': '1' })
    assert.equal((await server.accounts.of(user)).totp?.secret, secret)
    const [chosen] = await server.auditEvents('password.choose')
    assert.deepEqual(chosen?.data?.['kept'], ['totp', 'codes'])
    const owner = new Browser(server)
    const said = await owner.open(await linkOf(server, true))
    assert.match(said.body, /name="end\.totp" value="1" checked disabled>/)
    await owner.submit(said, { new: `${fresh} 2`, again: `${fresh} 2` })
    assert.deepEqual(await server.accounts.of(user), { id: user })
  })
})

describe('users reset --everything', () => {
  it('ends every way in at once, before the link is used, and tells what', async (t) => {
    const { server, open } = await intrude(t)
    await server.accounts.isSubject(user, 'https://login.example.com', 'u-1')
    await server.accounts.change(user, (account) => ({ ...account, language: 'de' }))
    const { url, ended } = (await operations['users.reset'].run(
      { user: 'HR@example.com', everything: true },
      server,
      byOperator(),
    )) as {
      url: string
      ended: object
    }
    assert.deepEqual(await open(), none)
    assert.deepEqual(await server.accounts.of(user), { id: user, language: 'de' })
    const counts = { authenticator: 0, passkeys: 1, company_accounts: 1, api_keys: 1, apps_and_tokens: 1 }
    assert.deepEqual({ ...ended }, { ...counts, sessions: 1, links: 0, waiting_calls: 0, tasks: 0 })
    const [told] = await server.auditEvents('user.reset')
    assert.deepEqual([told?.user, told?.data?.['ended']], [user, ended])
    const owner = new Browser(server)
    const page = await owner.open(url)
    assert.doesNotMatch(page.body, /What else gets into/)
    assert.equal((await choose(owner, page)).status, 200)
    assert.equal(await server.passwords.matches(user, fresh), true)
  })

  it('that fails half-way ends the rest all the same, makes no link, and says what is left', async (t) => {
    const { server, open } = await intrude(t)
    t.mock.method(server.sessions, 'closeAll', () => Promise.reject(new Error('the disk is away')))
    await assert.rejects(
      operations['users.reset'].run({ user, everything: true }, server, byOperator()),
      (error: AppError) => {
        assert.match(
          error.message,
          /Left: sessions\. Ended: authenticator 0, passkeys 1, company accounts 0, links 0, api keys 1/,
        )
        return error.code === 'unavailable'
      },
    )
    const [told] = await server.auditEvents('user.reset')
    assert.deepEqual([told?.status, told?.data?.['left']], ['error', { sessions: 'the disk is away' }])
    t.mock.restoreAll()
    await operations['users.reset'].run({ user, everything: true }, server, byOperator())
    assert.deepEqual(await open(), none)
  })

  it('does nothing to a mistyped address, and needs no passwords', async (t) => {
    const { server, open, all } = await intrude(t)
    await assert.rejects(
      operations['users.reset'].run({ user: 'h@example.com', everything: true }, server, byOperator()),
      {
        code: 'not_found',
      },
    )
    assert.deepEqual(await open(), all)
    assert.deepEqual(await server.auditEvents('user.reset'), [])
    server.change({ login: { passwords: false } })
    const done = await operations['users.reset'].run({ user, everything: true }, server, byOperator())
    assert.deepEqual([done.user, done.url, done.expires], [user, null, null])
    assert.deepEqual(await open(), none)
  })
})
