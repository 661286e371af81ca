/** A provider of `login.oidc` that is hostile, broken, or stands behind somebody who looks into TLS. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createGzip } from 'node:zlib'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { operations } from '../../src/control/index.ts'
import { byOperator } from '../helpers/operator.ts'
import { pages } from '../../src/pages/pages.ts'
import { Browser, type Page } from '../oauth/browser.ts'
import { startServer, type TestServer } from '../oauth/server.ts'

const user = 'sales@example.com'
type Answer = (response: ServerResponse) => unknown

/** A provider that says whatever a test wants, at any of its addresses. */
async function startProvider(t: TestContext) {
  const keys = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }
  const answers: Record<string, Answer> = {}
  let sent = 0
  const listener = createServer((request, response) => {
    const answer = answers[new URL(request.url ?? '', 'http://x').pathname]
    if (answer) void answer(response)
    else response.writeHead(404).end()
    request.resume()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listener.closeAllConnections()
    listener.close()
  })
  const issuer = `http://localhost:${(listener.address() as AddressInfo).port}`
  const json =
    (body: unknown): Answer =>
    (response) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  const provider = {
    issuer,
    answers,
    json,
    /** How many bytes of an endless answer were taken. */
    taken: () => sent,
    /** A valid beginning, and then blanks for as long as somebody reads. */
    endless: (response: ServerResponse, headers: Record<string, string> = {}) => {
      response.writeHead(200, { 'Content-Type': 'application/json', ...headers })
      const blanks = Buffer.alloc(65_536, ' ')
      const pour = (): void => {
        while (!response.destroyed && response.write(blanks)) sent += blanks.length
      }
      response.on('drain', pour)
      pour()
    },
    sign: (claims: Record<string, unknown>, by = keys.privateKey) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k1' }).sign(by),
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    },
  }
  answers['/.well-known/openid-configuration'] = json(provider.metadata)
  answers['/keys'] = json({ keys: [jwk] })
  return provider
}

type HostileProvider = Awaited<ReturnType<typeof startProvider>>

async function setUp(t: TestContext) {
  const provider = await startProvider(t)
  const folder = await mkdtemp(join(tmpdir(), 'company-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'secret'), 'between us')
  const oidc = { issuer: provider.issuer, client_id: 'assistant', client_secret_file: 'secret' }
  const server = await startServer(t, { secrets: folder, settings: { login: { oidc } } })
  server.clock.pass((Date.now() - server.clock.now()) / 1000)
  return { provider, server }
}

/** One sign-in, of which the provider says this; what is undefined it leaves out. */
async function signIn(
  { provider, server }: { provider: HostileProvider; server: TestServer },
  changes: Record<string, unknown> = {},
  alter: (token: string) => string | Promise<string> = (token) => token,
): Promise<{ page: Page; isIn: boolean }> {
  const browser = new Browser(server)
  const away = await browser.open(pages.signInUpstream.path)
  if (away.location === undefined) return { page: away, isIn: false }
  const asked = new URL(away.location).searchParams
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: provider.issuer,
    aud: 'assistant',
    sub: 'u-1',
    nonce: asked.get('nonce'),
    iat: now,
    exp: now + 300,
    email: user,
    email_verified: true,
    ...changes,
  }
  const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
  const id_token = await alter(await provider.sign(given))
  provider.answers['/token'] ??= provider.json({ access_token: 'at', token_type: 'Bearer', id_token })
  const page = await browser.open(`${pages.signInUpstreamCallback.path}?code=c&state=${asked.get('state')}`)
  delete provider.answers['/token']
  return { page, isIn: browser.cookies.has('assistant_core_session') }
}

/** Nobody is in, nothing is kept, and the log has this reason. */
async function refused(server: TestServer, attempt: { page: Page; isIn: boolean }, why: RegExp) {
  assert.deepEqual([attempt.page.status, attempt.isIn], [403, false])
  assert.deepEqual(await server.auditEvents('sign_in.ok'), [])
  assert.deepEqual(await server.accounts.of(user), { id: user })
  const told = (await server.auditEvents('sign_in.fail')).at(-1)
  assert.equal(told?.status, 'denied')
  assert.match(`${told?.error} ${server.logged.join('')}`, why)
}

describe('a hostile provider of the company sign-in', () => {
  it('signs somebody in when all is right, or the rest of this file shows nothing', async (t) => {
    const company = await setUp(t)
    assert.equal((await signIn(company)).isIn, true)
    assert.equal((await signIn(company, { email: 'SALES@example.com', azp: 'assistant' })).isIn, true)
  })

  it('fills no memory with an answer without an end, wherever it gives one (1.7 GB in 10 s)', async (t) => {
    for (const place of ['/token', '/keys', '/userinfo', '/.well-known/openid-configuration']) {
      const company = await setUp(t)
      const { provider, server } = company
      provider.answers[place] = provider.endless
      const { page, isIn } = await signIn(company, { email: undefined })
      assert.equal(isIn, false, place)
      assert.match(String(page.status), /403|503/, place)
      assert.match(server.logged.join(''), /larger than 65536 bytes/, place)
      // What stood in buffers of sockets on both sides comes on top.
      assert.ok(provider.taken() < 10_000_000, `${place}: ${provider.taken()}`)
    }
  })

  it('fills no memory with a small answer that is large once it is unpacked', async (t) => {
    const company = await setUp(t)
    company.provider.answers['/token'] = (response) => {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' })
      const packed = createGzip()
      packed.pipe(response)
      packed.end(Buffer.alloc(50_000_000, ' '))
    }
    await refused(company.server, await signIn(company), /larger than 65536 bytes/)
  })

  it('is not believed without a signature of its published keys', async (t) => {
    const company = await setUp(t)
    const other = await generateKeyPair('ES256')
    const forgeries: ((token: string) => string | Promise<string>)[] = [
      (token) => token.replace(/[^.]*$/, Buffer.alloc(256, 7).toString('base64url')),
      (token) => token.replace(/[^.]*$/, ''),
      (token) =>
        company.provider.sign(
          JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>,
          other.privateKey,
        ),
    ]
    for (const forge of forgeries) await refused(company.server, await signIn(company, {}, forge), /./)
    assert.equal((await signIn(company)).isIn, true)
  })

  it('does not say with a blank, a line feed or in odd letters that somebody is somebody else', async (t) => {
    const company = await setUp(t)
    for (const email of [` ${user}`, `${user} `, `${user}\n`, `${user}\t`, `\u00a0${user}`, `\ufeff${user}`])
      await refused(company.server, await signIn(company, { email }), /./)
  })

  it('signs nobody in by a token for another client, nor by one of another time', async (t) => {
    const company = await setUp(t)
    const now = Math.floor(Date.now() / 1000)
    const cases: [Record<string, unknown>, RegExp][] = [
      [{ azp: 'another' }, /azp/],
      [{ azp: ['assistant'] }, /azp/],
      [{ iat: now + 3600 }, /iat/],
      [{ iat: now - 3600 }, /iat/],
      [{ iat: undefined }, /iat/],
    ]
    for (const [claims, why] of cases) await refused(company.server, await signIn(company, claims), why)
  })
})

describe('an address that the company gave to somebody else', () => {
  it('does not take over the account; the operator is told, and can say that it is right', async (t) => {
    const company = await setUp(t)
    const { provider, server } = company
    assert.equal((await signIn(company)).isIn, true)
    const { secret, key } = await server.apiKeys.create({ user, label: 'of the one before' })
    const successor = await signIn(company, { sub: 'u-2' })
    assert.deepEqual([successor.page.status, successor.isIn], [403, false])
    assert.match(successor.page.body, /another one than that which signed in as sales@example\.com before/)
    assert.deepEqual((await server.accounts.of(user)).subjects, { [provider.issuer]: 'u-1' })
    const [told] = await server.auditEvents('sign_in.fail')
    assert.deepEqual([told?.status, told?.user], ['denied', user])
    assert.match(told?.error ?? '', /now "u-2".*users reset sales@example\.com --everything/)
    assert.equal((await signIn(company)).isIn, true, 'the one before')

    await operations['users.reset'].run({ user, everything: true }, server, byOperator())
    assert.equal((await signIn(company, { sub: 'u-2' })).isIn, true)
    assert.equal((await signIn(company)).isIn, false)
    assert.ok('fault' in (await server.apiKeys.check(key.id, secret)), 'what the one before left')
  })

  it('is asked of each provider by itself: another one of the settings begins anew', async (t) => {
    const first = await setUp(t)
    assert.equal((await signIn(first)).isIn, true)
    const { server } = first
    const provider = await startProvider(t)
    const { oidc } = server.settings().login
    server.change({ login: { oidc: { ...oidc!, issuer: provider.issuer } } })
    assert.equal((await signIn({ provider, server }, { sub: 'another name for them' })).isIn, true)
    assert.equal((await signIn({ provider, server })).isIn, false)
  })
})
