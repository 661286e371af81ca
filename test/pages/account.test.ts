/** What the account page, its links and second factors refuse; each refusal changes nothing. */
import assert from 'node:assert/strict'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { readWholeSite } from '../../src/house/snapshot.ts'
import { pages } from '../../src/pages/pages.ts'
import type { Account } from '../../src/users/accounts.ts'
import { SoftPasskey } from '../helpers/passkey.ts'
import { Browser } from '../oauth/browser.ts'
import { makeUser, password, startServer, type TestServer } from '../oauth/server.ts'

const user = 'sales@example.com'
const fresh = 'another long pass phrase'

async function signedIn(server: TestServer, word = password, username = user): Promise<Browser> {
  const browser = new Browser(server)
  await browser.submit(await browser.open(pages.signIn.path), { username, password: word })
  return browser
}

/** Adds a passkey on the account page. */
async function addPasskey(browser: Browser, server: TestServer, passkey: SoftPasskey, name = '') {
  const credential = passkey.create((await browser.open(pages.account.path)).body, server.url)
  return send(browser, 'passkey', { name, credential })
}

/** Signs in with a passkey alone. */
async function enterWith(server: TestServer, passkey: SoftPasskey) {
  const browser = new Browser(server)
  const page = await browser.open(`${pages.signInPasskey.path}?next=/account`)
  return browser.submit(page, { credential: passkey.get(page.body, server.url) })
}

/** Sends one of the forms of the account page. */
async function send(
  browser: Browser,
  deed: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.open(pages.account.path)).body)?.[1] ?? ''
  const body = new URLSearchParams({ csrf, ...fields }).toString()
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
  return browser.open(`${pages.account.path}/${deed}`, {
    method: 'POST',
    body,
    headers: { ...headers, ...type },
  })
}

function codeOf(secret: string, server: TestServer): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: server.clock.now() })
}

describe('the account page', () => {
  const change = { current: password, new: fresh, again: fresh }

  it('says what a password must be before it is typed', async (t) => {
    const server = await startServer(t)
    const { body } = await (await signedIn(server)).open(pages.account.path)
    assert.match(body, /id="new"[^>]* minlength="12"[^>]* aria-describedby="new-about"/)
    assert.match(
      body,
      /id="new-about"[^>]*>\s*At least 12 characters, and none of those passwords that are tried first/,
    )
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
    const page = await browser.open(pages.account.path)
    assert.match(page.headers.get('x-frame-options')!, /DENY/)
    assert.match(page.headers.get('content-security-policy')!, /frame-ancestors 'none'.*script-src 'self'$/)
  })

  it('refuses a weak or mistyped password, a wrong one of today, and in time any at all', async (t) => {
    const server = await startServer(t)
    const browser = await signedIn(server)
    const said = async (fields: Record<string, string>): Promise<string> => {
      const { body, status } = await send(browser, 'password', { ...change, ...fields })
      const [, at, problem] = /id="(\w+)-about"[^>]*><span class="fault">([^<]*)/.exec(body) ?? []
      return problem
        ? `${status} ${at}: ${problem}`
        : `${status} ${/role="alert"[^>]*><p>([^<]*)/.exec(body)?.[1]}`
    }
    assert.equal(await said({ again: 'other' }), '400 again: the two passwords differ')
    assert.match(await said({ new: 'short', again: 'short' }), /^400 new: the password must have at least 12/)
    for (let time = 0; time < 5; time++)
      assert.equal(await said({ current: 'wrong' }), '403 current: the current password is wrong')
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
  const open = (browser: Browser, secret: string) => browser.open(`${pages.oneTimeLink.path}?link=${secret}`)

  it('chooses one password, for whoever is first, and ends every session', async (t) => {
    const server = await startServer(t)
    const there = await signedIn(server)
    const { secret } = await passwordLink(server)
    const [one, other] = [new Browser(server), new Browser(server)]
    const forms = [await open(one, secret), await open(other, secret)]
    assert.equal((await one.submit(forms[0]!, { new: 'short', again: 'short' })).status, 400)
    const chosen = await Promise.all([
      one.submit(forms[0]!, { new: fresh, again: fresh }),
      other.submit(forms[1]!, { new: `${fresh} 2`, again: `${fresh} 2` }),
    ])
    assert.deepEqual(new Set(chosen.map(({ status }) => status)), new Set([200, 404]))
    assert.match((await there.open(pages.account.path)).body, /<h1>Sign in<\/h1>/)
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

describe('a passkey', () => {
  it('whose id belongs to somebody else is refused, and still lets its owner in (2.13.1 locked them out)', async (t) => {
    const server = await startServer(t)
    const own = new SoftPasskey()
    assert.equal((await addPasskey(await signedIn(server), server, own)).status, 200)
    const thief = await signedIn(server, password, 'hr@example.com')
    const refused = await addPasskey(thief, server, new SoftPasskey(own.id))
    assert.equal(refused.status, 409)
    assert.match(refused.body, /this passkey belongs to another account here/)
    assert.deepEqual(await server.accounts.of('hr@example.com'), { id: 'hr@example.com' })
    const told = await server.auditEvents('second_factor.add')
    assert.deepEqual(
      told.map(({ status, user: who, error }) => [status, who, error]),
      [
        ['ok', user, undefined],
        ['error', 'hr@example.com', 'this passkey belongs to another account here'],
      ],
    )
    assert.match((await enterWith(server, own)).body, /<h1>Account<\/h1>[^]*sales@example\.com/)
  })

  it('is refused where a role needs one as well, in words and in the log', async (t) => {
    const server = await startServer(t, { settings: { login: { second_factor_roles: ['HR User'] } } })
    const own = new SoftPasskey()
    await addPasskey(await signedIn(server), server, own)
    const thief = await signedIn(server, password, 'hr@example.com')
    const step = await thief.open(`${pages.secondStep.path}?next=/account`)
    const refused = await thief.submit(step, {
      credential: new SoftPasskey(own.id).create(step.body, server.url),
    })
    assert.equal(refused.status, 400)
    assert.match(refused.body, /role="alert" id="fault">this passkey belongs to another account here/)
    assert.equal(await server.sessions.find(thief.cookies.get('assistant_core_session')), undefined)
    assert.deepEqual(await server.accounts.of('hr@example.com'), { id: 'hr@example.com' })
    const [, told] = await server.auditEvents('second_factor.add')
    assert.deepEqual([told?.status, told?.user, told?.target], ['error', 'hr@example.com', 'passkey'])
  })

  it('that two accounts claim since an earlier release is its first owner’s', async (t) => {
    const server = await startServer(t)
    const own = new SoftPasskey()
    await addPasskey(await signedIn(server), server, own)
    const [passkey] = (await server.accounts.of(user)).passkeys!
    server.clock.pass(5)
    const accounts = server.store.collection<Account>({ name: 'users.account', indexes: ['passkeyIds'] })
    const claimed = { ...passkey!, publicKey: 'AAAA', createdAt: server.clock.now() }
    await accounts.put({ id: 'a@example.com', passkeys: [claimed], passkeyIds: [own.id] })
    assert.equal((await enterWith(server, own)).status, 200)
  })
})

describe('a second factor', () => {
  it('is asked for after the password, in time, once a code, and guesses are slowed', async (t) => {
    const server = await startServer(t)
    const { secret } = server.secondFactors.begin(user, 'Test')
    await assert.rejects(server.secondFactors.set(user, secret, '123'), /the code is wrong/)
    const codes = await server.secondFactors.set(user, secret, codeOf(secret, server))
    const browser = await signedIn(server)
    const step = await browser.open(`${pages.secondStep.path}?next=/account`)
    assert.match(step.body, /<h1>One more step<\/h1>/)
    assert.equal(await server.sessions.find(browser.cookies.get('assistant_core_session')), undefined)
    const used = await browser.submit(step, { code: codeOf(secret, server) })
    assert.equal(used.status, 403, 'the code that set it up is used')
    server.clock.pass(60)
    const right = await browser.submit(step, { code: codeOf(secret, server) })
    assert.match(right.body, /<h1>Account<\/h1>/)
    assert.ok(await server.sessions.find(browser.cookies.get('assistant_core_session')))

    const thief = await signedIn(server)
    const guess = await thief.open(`${pages.secondStep.path}?next=/account`)
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

  it('keeps its key after a wrong digit, with the fault at the field; only Cancel makes another (2.13.1 threw it away)', async (t) => {
    const server = await startServer(t)
    const browser = await signedIn(server)
    const secretIn = ({ body }: { body: string }) => /name="secret" value="([^"]+)"/.exec(body)?.[1]
    const begun = await send(browser, 'authenticator', {})
    const secret = secretIn(begun)!
    const wrong = await send(browser, 'authenticator-code', { secret, code: '000000' })
    assert.equal(wrong.status, 400)
    assert.equal(secretIn(wrong), secret)
    assert.match(wrong.body, /<svg/)
    assert.match(
      wrong.body,
      /role="alert" id="code-fault">the code is wrong<[^]*aria-describedby="code-fault"/,
    )
    assert.doesNotMatch(wrong.body, /Set up an authenticator app/, 'which would make another key')
    assert.deepEqual(await server.accounts.of(user), { id: user })
    const [told] = await server.auditEvents('second_factor.add')
    assert.deepEqual([told?.status, told?.error], ['error', 'the code is wrong'])
    assert.doesNotMatch((await browser.open(pages.account.path)).body, /name="secret"/, 'Cancel leads here')
    assert.notEqual(secretIn(await send(browser, 'authenticator', {})), secret)
    const made = await send(browser, 'authenticator-code', { secret: 'nonsense', code: '000000' })
    assert.match(secretIn(made)!, /^[A-Z2-7]{32}$/)
    const right = await send(browser, 'authenticator-code', { secret, code: codeOf(secret, server) })
    assert.match(right.body, /Your recovery codes/)
    assert.equal((await server.accounts.of(user)).totp?.secret, secret)
  })

  it('is not proved by what was not made for this browser, nor by nonsense', async (t) => {
    const server = await startServer(t)
    const browser = new Browser(server)
    const page = await browser.open(`${pages.signInPasskey.path}?next=/account`)
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
    const step = await browser.open(`${pages.secondStep.path}?next=/account`)
    assert.match(step.body, /<h1>Set up a second factor<\/h1>/)
    assert.match((await browser.open(pages.account.path)).body, /<h1>Sign in<\/h1>/)
    const secret = /name="secret" value="([^"]+)"/.exec(step.body)![1]!
    const wrong = await browser.submit(step, { code: '000000' })
    assert.equal(wrong.status, 400)
    assert.ok(wrong.body.includes(secret), 'the app need not be set up anew')
    assert.match(wrong.body, /role="alert" id="code-fault">the code is wrong</)
    assert.deepEqual(
      (await server.auditEvents('second_factor.add')).map(({ status, error }) => [status, error]),
      [['error', 'the code is wrong']],
    )
    const done = await browser.submit(wrong, { code: codeOf(secret, server) })
    assert.match(done.body, /recovery codes/)
    assert.match((await browser.open(pages.account.path)).body, /<h1>Account<\/h1>/)
    assert.equal((await send(browser, 'authenticator-remove', {})).status, 409)
    assert.ok((await server.accounts.of(user)).totp)
  })

  it('is not set up over the one that its owner set up meanwhile, by whoever has the password and waited', async (t) => {
    const server = await startServer(t, { settings: { login: { second_factor_roles: ['Sales User'] } } })
    const step = (browser: Browser) => browser.open(`${pages.secondStep.path}?next=/account`)
    const secretIn = ({ body }: { body: string }): string => /name="secret" value="([^"]+)"/.exec(body)![1]!
    const [owner, thief] = [await signedIn(server), await signedIn(server)]
    const [first, waiting] = [await step(owner), await step(thief)]
    await owner.submit(first, { code: codeOf(secretIn(first), server) })
    const { totp } = await server.accounts.of(user)
    assert.equal(totp?.secret, secretIn(first))
    const late = await thief.submit(waiting, { code: codeOf(secretIn(waiting), server) })
    assert.equal(late.status, 403)
    assert.doesNotMatch(late.body, /name="secret"/)
    assert.deepEqual((await server.accounts.of(user)).totp, totp)
    assert.match((await thief.open(pages.account.path)).body, /<h1>Sign in<\/h1>/)
    assert.deepEqual(
      (await server.auditEvents('second_factor.add')).map(({ status }) => status),
      ['ok'],
    )
    assert.equal((await server.auditEvents('sign_in.fail')).length, 1)
  })
})
