/** What the account page, its links and second factors refuse; each refusal changes nothing. */
import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { readWholeSite } from '../../src/build/snapshot.ts'
import { paths } from '../../src/oauth/urls.ts'
import { Browser } from '../oauth/browser.ts'
import { makeUser, password, startServer, type TestServer } from '../oauth/server.ts'

const user = 'sales@example.com'
const fresh = 'another long pass phrase'

async function signedIn(server: TestServer, word = password): Promise<Browser> {
  const browser = new Browser(server)
  await browser.submit(await browser.open(paths.signIn), { username: user, password: word })
  return browser
}

/** Sends one of the forms of the account page. */
async function send(
  browser: Browser,
  deed: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.open(paths.account)).body)?.[1] ?? ''
  const body = new URLSearchParams({ csrf, ...fields }).toString()
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
  return browser.open(`${paths.account}/${deed}`, { method: 'POST', body, headers: { ...headers, ...type } })
}

function codeOf(secret: string, server: TestServer): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: server.clock.now() })
}

describe('the account page', () => {
  const change = { current: password, new: fresh, again: fresh }

  it('says what a password must be before it is typed', async (t) => {
    const server = await startServer(t)
    const { body } = await (await signedIn(server)).open(paths.account)
    assert.match(body, /id="new"[^>]* minlength="12"[^>]* aria-describedby="rule"/)
    assert.match(body, /id="rule">At least 12 characters, and none of those passwords that are tried first/)
  })

  it('takes forms of this browser, this page and this user only', async (t) => {
    const server = await startServer(t)
    const browser = await signedIn(server)
    const refused = [
      await send(browser, 'password', { ...change, csrf: '' }),
      await send(browser, 'password', { ...change, csrf: 'made up' }),
      await send(browser, 'password', change, { 'Sec-Fetch-Site': 'cross-site' }),
      await send(browser, 'password', change, { Origin: 'https://evil.example' }),
      await send(new Browser(server), 'password', change),
    ]
    assert.deepEqual(
      refused.map(({ status }) => status),
      [403, 403, 403, 403, 403],
    )
    const { secret: key } = await server.apiKeys.create({ user: 'hr@example.com' })
    const [theirs] = await server.apiKeys.list('hr@example.com')
    assert.equal((await send(browser, 'key-revoke', { id: theirs!.id })).status, 404)
    assert.ok('key' in (await server.apiKeys.check(theirs!.id, key)))
    const other = await server.sessions.open({ user: 'hr@example.com', method: 'password', address: '::1' })
    const [session] = await server.sessions.list('hr@example.com')
    assert.equal((await send(browser, 'browser', { id: session!.id })).status, 404)
    assert.ok(await server.sessions.find(other))
    assert.equal(await server.passwords.matches(user, password), true)
    assert.deepEqual(await server.auditEvents('password.change'), [])
    const page = await browser.open(paths.account)
    assert.match(page.headers.get('x-frame-options')!, /DENY/)
    assert.match(page.headers.get('content-security-policy')!, /frame-ancestors 'none'.*script-src 'self'$/)
  })

  it('refuses a weak or mistyped password, a wrong one of today, and in time any at all', async (t) => {
    const server = await startServer(t)
    const browser = await signedIn(server)
    const said = async (fields: Record<string, string>): Promise<string> => {
      const { body, status } = await send(browser, 'password', { ...change, ...fields })
      return `${status} ${/role="alert">([^<]*)/.exec(body)?.[1]}`
    }
    assert.equal(await said({ again: 'other' }), '400 the two passwords differ')
    assert.match(await said({ new: 'short', again: 'short' }), /^400 the password must have at least 12/)
    for (let time = 0; time < 5; time++)
      assert.equal(await said({ current: 'wrong' }), '403 the current password is wrong')
    assert.match(await said({}), /^503 too many attempts; please wait \d+ seconds/)
    assert.equal(await server.passwords.matches(user, password), true)
    const events = await server.auditEvents('password.change')
    assert.deepEqual(
      events.map(({ status }) => status),
      ['error', 'error', ...Array.from({ length: 5 }, () => 'denied'), 'error'],
    )
  })

  it('takes a changed password for no second proof of who it is', async (t) => {
    const server = await startServer(t)
    const browser = await signedIn(server)
    const [before] = await server.sessions.list(user)
    server.clock.pass(901)
    assert.equal((await send(browser, 'password', change)).status, 200)
    const [after] = await server.sessions.list(user)
    assert.notEqual(after!.id, before!.id)
    assert.deepEqual([after!.authTime, after!.expiresAt], [before!.authTime, before!.expiresAt])
    assert.match((await send(browser, 'key', { days: '30' })).body, /<h1>Sign in<\/h1>/)
    assert.deepEqual(await server.apiKeys.list(user), [])
  })

  it('asks who it is again before it gives out what lasts', async (t) => {
    const server = await startServer(t)
    const browser = await signedIn(server)
    server.clock.pass(901)
    for (const deed of ['key', 'authenticator', 'authenticator-code', 'passkey', 'codes'])
      assert.match((await send(browser, deed, { days: '30' })).body, /<h1>Sign in<\/h1>/, deed)
    assert.deepEqual(await server.apiKeys.list(user), [])
    assert.deepEqual(await server.accounts.of(user), { id: user })
    assert.equal((await send(browser, 'preferences', { language: 'xx', timezone: 'UTC' })).status, 400)
    assert.equal((await send(browser, 'preferences', { language: 'en', timezone: 'Mars' })).status, 400)
    const done = await send(browser, 'preferences', { language: 'de', timezone: 'Europe/Berlin' })
    assert.match(done.body, /<html lang="de">/)
    const again = await signedIn(server)
    assert.match((await send(again, 'key', { days: '7' })).body, /role="alert"/)
    assert.equal((await send(again, 'key', { days: '30', label: '' })).status, 200)
    assert.equal((await server.apiKeys.list(user)).length, 1)
  })
})

describe('a one-time link', () => {
  const passwordLink = (server: TestServer, purpose: 'invite' | 'reset' = 'reset', secondFactor = false) =>
    server.links.make({ user, purpose, secondFactor, seconds: 3600 })
  const open = (browser: Browser, secret: string) => browser.open(`${paths.oneTimeLink}?link=${secret}`)

  it('chooses one password, for whoever is first, and ends every session', async (t) => {
    const server = await startServer(t)
    const there = await signedIn(server)
    const { secret } = await passwordLink(server)
    const [one, other] = [new Browser(server), new Browser(server)]
    const pages = [await open(one, secret), await open(other, secret)]
    assert.equal((await one.submit(pages[0]!, { new: 'short', again: 'short' })).status, 400)
    const chosen = await Promise.all([
      one.submit(pages[0]!, { new: fresh, again: fresh }),
      other.submit(pages[1]!, { new: `${fresh} 2`, again: `${fresh} 2` }),
    ])
    assert.deepEqual(new Set(chosen.map(({ status }) => status)), new Set([200, 404]))
    assert.match((await there.open(paths.account)).body, /<h1>Sign in<\/h1>/)
    const told = await server.auditEvents('password.choose')
    assert.deepEqual(new Set(told.map(({ status }) => status)), new Set(['ok', 'denied']))
    const [first] = chosen.flatMap(({ status }, at) => (status === 200 ? [at ? `${fresh} 2` : fresh] : []))
    assert.equal(await server.passwords.matches(user, first!), true)
    assert.equal((await open(new Browser(server), secret)).status, 404)
  })

  it('ends with time, with the next one, and with its user; a form of another browser does not use it', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    const { secret: replaced } = await passwordLink(server)
    const { secret } = await passwordLink(server)
    assert.equal((await open(browser, replaced)).status, 404)
    assert.equal((await open(browser, 'ac_ln_made_up')).status, 404)
    const page = await open(browser, secret)
    const forged = await new Browser(server).submit(page, { new: fresh, again: fresh })
    assert.equal(forged.status, 403)
    server.setUsers([makeUser(user, { enabled: false })])
    assert.equal((await open(browser, secret)).status, 404)
    server.setUsers([makeUser(user)])
    server.clock.pass(3601)
    assert.equal((await browser.submit(page, { new: fresh, again: fresh })).status, 404)
    assert.equal(await server.passwords.matches(user, password), true)
    const told = await server.auditEvents('password.choose')
    assert.deepEqual(
      told.map(({ status, error }) => `${status}: ${error}`),
      ['denied: this link was used already, has ended or was replaced; ask for another one'],
    )
    await assert.rejects(
      server.links.make({ user: 'nobody@example.com', purpose: 'invite', secondFactor: false, seconds: 60 }),
      /no user nobody/,
    )
  })
})

describe('a role that needs a second factor', () => {
  it('must be one that there is', async () => {
    const site = await mkdtemp(join(tmpdir(), 'site-'))
    try {
      await cp(join(import.meta.dirname, '../../templates/minimal'), site, { recursive: true })
      await writeFile(join(site, 'config/settings.yaml'), 'login:\n  second_factor_roles: [Acountant]\n')
      const { faults } = await readWholeSite(site)
      assert.deepEqual(
        faults.filter(({ file }) => file === 'config/settings.yaml').map(({ line, path }) => [line, path]),
        [[2, 'login.second_factor_roles[0]']],
      )
    } finally {
      await rm(site, { recursive: true })
    }
  })
})

describe('a second factor', () => {
  it('is asked for after the password, in time, once a code, and guesses are slowed', async (t) => {
    const server = await startServer(t)
    const { secret } = server.secondFactors.begin(user, 'Test')
    await assert.rejects(server.secondFactors.set(user, secret, '123'), /the code is wrong/)
    const codes = await server.secondFactors.set(user, secret, codeOf(secret, server))
    const browser = await signedIn(server)
    const step = await browser.open(`${paths.secondStep}?next=/account`)
    assert.match(step.body, /<h1>One more step<\/h1>/)
    assert.equal(await server.sessions.find(browser.cookies.get('assistant_core_session')), undefined)
    const used = await browser.submit(step, { code: codeOf(secret, server) })
    assert.equal(used.status, 403, 'the code that set it up is used')
    server.clock.pass(60)
    const right = await browser.submit(step, { code: codeOf(secret, server) })
    assert.match(right.body, /<h1>Account<\/h1>/)
    assert.ok(await server.sessions.find(browser.cookies.get('assistant_core_session')))

    const thief = await signedIn(server)
    const guess = await thief.open(`${paths.secondStep}?next=/account`)
    const statuses: number[] = []
    for (let time = 0; time < 6; time++) {
      statuses.push((await thief.submit(guess, { code: '000000' })).status)
      // A right password in between pardons no guess.
      await signedIn(server)
    }
    assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429])
    assert.equal((await thief.submit(guess, { code: codes[0]! })).status, 429)
    server.clock.pass(601)
    assert.match((await thief.submit(guess, { code: codes[0]! })).body, /Not allowed/)
    assert.equal((await server.accounts.of(user)).recoveryCodes?.length, 10)
  })

  it('is not proved by what was not made for this browser, nor by nonsense', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    const page = await browser.open(`${paths.signInPasskey}?next=/account`)
    for (const credential of [
      '',
      '{}',
      'null',
      '{"id":"x"}',
      '{"id":"x","response":{"clientDataJSON":"e30"}}',
      '[]',
    ])
      assert.equal((await browser.submit(page, { credential })).status, 403, credential)
    await assert.rejects(server.passkeys.add('key', user, 'phone', '{}'), /could not be checked/)
    assert.equal((await server.auditEvents('sign_in.fail')).length, 6)
    assert.deepEqual(await server.accounts.of(user), { id: user })
  })

  it('is not asked for again by a provider that signs people in, and is set up where a role needs it', async (t) => {
    const server = await startServer(t, { settings: { login: { second_factor_roles: ['Sales User'] } } })
    const browser = await signedIn(server)
    const step = await browser.open(`${paths.secondStep}?next=/account`)
    assert.match(step.body, /<h1>Set up a second factor<\/h1>/)
    assert.match((await browser.open(paths.account)).body, /<h1>Sign in<\/h1>/)
    const secret = /name="secret" value="([^"]+)"/.exec(step.body)![1]!
    const wrong = await browser.submit(step, { code: '000000' })
    assert.equal(wrong.status, 400)
    assert.ok(wrong.body.includes(secret), 'the app need not be set up anew')
    const done = await browser.submit(wrong, { code: codeOf(secret, server) })
    assert.match(done.body, /recovery codes/)
    assert.match((await browser.open(paths.account)).body, /<h1>Account<\/h1>/)
    assert.equal((await send(browser, 'authenticator-remove', {})).status, 409)
    assert.ok((await server.accounts.of(user)).totp)
  })
})
