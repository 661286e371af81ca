/** Enterprise-managed authorization: identity assertions (ID-JAG) of a company's provider, brought by SDK 2's own functions. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { discoverAndRequestJwtAuthGrant, exchangeJwtAuthGrant } from '@modelcontextprotocol/client'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { operations } from '../../src/control/index.ts'
import { byOperator } from '../helpers/operator.ts'
import type { GuardedFetch } from '#outside/guarded-fetch.ts'
import { paths, resourceOf } from '../../src/oauth/urls.ts'
import { callMcp, postForm, register } from './browser.ts'
import { startServer, type TestServer } from './server.ts'

const issuer = 'https://login.example.com'
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The company's provider: its documents, its keys, and what it signs. */
async function startProvider() {
  let generation = 1
  let pair = await generateKeyPair('ES256')
  const jwk = async () => ({
    ...(await exportJWK(pair.publicKey)),
    kid: `k${generation}`,
    alg: 'ES256',
    use: 'sig',
  })
  let published = [await jwk()]
  const fetched: string[] = []
  const fetch: GuardedFetch = async (url) => {
    fetched.push(url)
    if (url === `${issuer}/.well-known/openid-configuration`)
      return { body: { issuer, jwks_uri: `${issuer}/keys` } }
    if (url === `${issuer}/keys`) return { body: { keys: published } }
    throw new Error('it answered 404')
  }
  return {
    fetch,
    fetched,
    rotate: async () => {
      generation++
      pair = await generateKeyPair('ES256')
      published = [await jwk()]
    },
    sign: (claims: Record<string, unknown>, header: Record<string, unknown> = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: `k${generation}`, typ: 'oauth-id-jag+jwt', ...header })
        .sign(pair.privateKey),
  }
}

let serial = 0

/** What the provider says when all is right. */
function claimsFor(
  server: TestServer,
  client: string,
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const now = Math.floor(server.clock.now() / 1000)
  const claims = {
    iss: issuer,
    sub: 'u-1',
    aud: server.url,
    client_id: client,
    resource: resourceOf(server.url),
    jti: `j${++serial}`,
    iat: now,
    exp: now + 300,
    email: 'Sales@Example.com',
    email_verified: true,
    ...changes,
  }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

async function setUp(t: TestContext, more: { claim?: string } = {}) {
  const provider = await startProvider()
  const server = await startServer(t, { fetch: provider.fetch })
  const { client_id: client } = await register(server)
  server.change({ oauth: { identity_assertions: [{ issuer, clients: [client], ...more }] } })
  return { provider, server, client }
}

function bring(server: TestServer, client: string, assertion: string, more: Record<string, string> = {}) {
  return postForm(server, paths.token, { grant_type: grant, assertion, client_id: client, ...more })
}

describe('identity assertions', () => {
  it('let a user in through SDK 2, without a sign-in, a consent and a refresh token', async (t) => {
    const { provider, server, client } = await setUp(t)
    const fetchFn = async (input: string | URL, init?: RequestInit): Promise<Response> => {
      const url = String(input)
      if (!url.startsWith(issuer)) return fetch(input, init)
      if (url.endsWith('/token')) {
        const asked = new URLSearchParams(init?.body as URLSearchParams)
        assert.equal(asked.get('audience'), server.url)
        const token = await provider.sign(claimsFor(server, client, { resource: asked.get('resource') }))
        return Response.json({
          issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
          access_token: token,
          token_type: 'N_A',
          expires_in: 300,
        })
      }
      return Response.json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      })
    }
    const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
      idpUrl: issuer,
      audience: server.url,
      resource: resourceOf(server.url),
      idToken: 'of the company sign-in',
      clientId: 'at-the-provider',
      fetchFn,
    })
    const tokens = await exchangeJwtAuthGrant({
      tokenEndpoint: server.url + paths.token,
      jwtAuthGrant,
      clientId: client,
      authMethod: 'none',
    })
    assert.equal('refresh_token' in tokens, false)
    const answer = await callMcp(server, `Bearer ${tokens.access_token}`)
    const seen = (await answer.json()) as { user: string; client: { id: string } }
    assert.deepEqual([answer.status, seen.user, seen.client.id], [200, 'sales@example.com', client])
    const [issued] = await server.auditEvents('token.issue')
    assert.deepEqual(
      [issued?.user, issued?.data?.['grant_type']],
      ['sales@example.com', 'identity_assertion'],
    )
    const [family] = await server.tokens.families({ user: 'sales@example.com' })
    assert.deepEqual([family?.vouchedBy, family?.expiresAt], [issuer, server.clock.now() + 3_600_000])
  })

  it('are advertised and taken only where the site trusts a provider', async (t) => {
    const { provider, server, client } = await setUp(t)
    const grants = async (): Promise<unknown> => {
      const response = await fetch(server.url + paths.openidConfiguration)
      return ((await response.json()) as Record<string, unknown>)['grant_types_supported']
    }
    assert.deepEqual(await grants(), ['authorization_code', 'refresh_token', grant])
    server.change({})
    assert.deepEqual(await grants(), ['authorization_code', 'refresh_token'])
    const { body } = await bring(server, client, await provider.sign(claimsFor(server, client)))
    assert.equal(body.error, 'unsupported_grant_type')
    assert.equal(provider.fetched.length, 0)
  })

  it('count for nothing when anything about them is wrong: nothing is issued, and the audit says why', async (t) => {
    const { provider, server, client } = await setUp(t)
    const now = Math.floor(server.clock.now() / 1000)
    const sign = (changes: Record<string, unknown>, header?: Record<string, unknown>) =>
      provider.sign(claimsFor(server, client, changes), header)
    const twice = await sign({ jti: 'twice' })
    assert.equal((await bring(server, client, twice)).status, 200)
    const other = await startProvider()
    const cases: [RegExp, string][] = [
      [/not a compact JWT/, 'x.y'],
      [/not one that this server trusts/, await sign({ iss: 'https://evil.example' })],
      [/not one that this server trusts/, await sign({ iss: `${issuer}/` })],
      [/not valid: ERR_JWS_SIGNATURE/, await other.sign(claimsFor(server, client))],
      [/not valid: ERR_JWT_CLAIM/, await sign({}, { typ: 'JWT' })],
      [/another authorization server/, await sign({ aud: 'https://other.example' })],
      [/another authorization server/, await sign({ aud: [server.url, 'https://other.example'] })],
      [/another client/, await sign({ client_id: 'somebody' })],
      [/another resource/, await sign({ resource: 'https://other.example/mcp' })],
      [/not valid: ERR_JWT_EXPIRED/, await sign({ iat: now - 400, exp: now - 100 })],
      [/lives longer/, await sign({ exp: now + 3600 })],
      [/not valid: ERR_JWT_EXPIRED/, await sign({ iat: now - 3600 })],
      [/not valid: ERR_JWT_CLAIM/, await sign({ jti: undefined })],
      [/not valid: ERR_JWT_CLAIM/, await sign({ client_id: undefined })],
      [/already used/, twice],
      [/not verified/, await sign({ email_verified: undefined })],
      [/has no email/, await sign({ email: undefined })],
      [/not write its user plainly/, await sign({ email: '\u212aelvin@example.com' })],
      [/nobody who may use/, await sign({ email: 'unknown@example.com' })],
    ]
    for (const [why, assertion] of cases) {
      const { status, body } = await bring(server, client, assertion)
      assert.deepEqual([status, body.error], [400, 'invalid_grant'], String(why))
      assert.match(body.error_description ?? '', why)
    }
    assert.equal((await server.tokens.list()).length, 1)
    assert.equal((await server.auditEvents('token.refuse')).length, cases.length)
    const foreign = await bring(server, client, await sign({}), { resource: 'https://other.example/mcp' })
    assert.equal(foreign.body.error, 'invalid_target')
  })

  it('are refused from a client that the site did not name, and for a user who is disabled', async (t) => {
    const { provider, server, client } = await setUp(t)
    const { client_id: second } = await register(server)
    const stolen = await bring(server, second, await provider.sign(claimsFor(server, second)))
    assert.match(stolen.body.error_description ?? '', /may not bring/)
    server.setUsers(server.users().map((user) => ({ ...user, enabled: false })))
    const late = await bring(server, client, await provider.sign(claimsFor(server, client)))
    assert.match(late.body.error_description ?? '', /nobody who may use/)
    assert.deepEqual(await server.tokens.list(), [])
  })

  it('name their user by the claim that the site chose', async (t) => {
    const { provider, server, client } = await setUp(t, { claim: 'preferred_username' })
    const named = { email: undefined, email_verified: undefined, preferred_username: 'hr@example.com' }
    const { status } = await bring(server, client, await provider.sign(claimsFor(server, client, named)))
    assert.equal(status, 200)
    assert.equal((await server.tokens.list())[0]?.user, 'hr@example.com')
  })

  it('named by sub mean exactly whom the provider writes; an address may be in other letters', async (t) => {
    const { provider, server, client } = await setUp(t, { claim: 'sub' })
    for (const sub of ['HR@example.com', ' hr@example.com', 'hr@example.com\n']) {
      const { status, body } = await bring(
        server,
        client,
        await provider.sign(claimsFor(server, client, { sub })),
      )
      assert.deepEqual([status, body.error], [400, 'invalid_grant'], sub)
      assert.match(body.error_description, /names nobody/)
    }
    assert.deepEqual(await server.tokens.list(), [])
    assert.equal((await server.auditEvents('token.refuse')).length, 3)
    const exact = await provider.sign(claimsFor(server, client, { sub: 'hr@example.com' }))
    assert.equal((await bring(server, client, exact)).status, 200)
    const named = await setUp(t)
    for (const email of [' sales@example.com', 'sales@example.com\n']) {
      const signed = await named.provider.sign(claimsFor(named.server, named.client, { email }))
      assert.match((await bring(named.server, named.client, signed)).body.error_description, /names nobody/)
    }
  })

  it('give a client no more scope than the provider did (in 2.13.1 it asked for all, and got it)', async (t) => {
    const { provider, server, client } = await setUp(t)
    const scopeOf = async (given: unknown, asked?: string): Promise<string> => {
      const assertion = await provider.sign(claimsFor(server, client, { scope: given }))
      const { body } = await bring(server, client, assertion, asked === undefined ? {} : { scope: asked })
      return (body.scope ?? body.error) as string
    }
    assert.equal(await scopeOf('openid', 'all'), 'openid')
    assert.equal(await scopeOf('openid profile', 'openid email'), 'openid')
    assert.equal(await scopeOf('openid email'), 'openid email')
    assert.equal(await scopeOf('all', 'openid'), 'openid')
    assert.equal(await scopeOf('all', 'all'), 'all')
    assert.equal(await scopeOf(undefined, 'all'), 'all', 'the provider says nothing of scopes')
    const issued = (await server.tokens.list()).length
    assert.equal(await scopeOf('openid', 'email'), 'invalid_scope')
    assert.equal(await scopeOf('chat.read', 'all'), 'invalid_scope')
    // What is no text was taken for nothing said, and gave all.
    for (const odd of [['openid'], null, { openid: true }])
      assert.equal(await scopeOf(odd, 'all'), 'invalid_grant')
    assert.equal((await server.tokens.list()).length, issued)
    const refused = await server.auditEvents('token.refuse')
    assert.deepEqual(
      refused.map(({ status, user }) => [status, user]),
      [
        ['denied', 'sales@example.com'],
        ['denied', 'sales@example.com'],
        ...Array.from({ length: 3 }, () => ['denied', undefined]),
      ],
    )
    assert.match(String(refused.at(-1)!.error), /scope of the assertion is not a text/)
  })

  it('of an address that the provider gave to somebody else let them in only when an operator says so', async (t) => {
    const { provider, server, client } = await setUp(t)
    const as = async (sub: unknown) =>
      bring(server, client, await provider.sign(claimsFor(server, client, { sub })))
    assert.equal((await as('u-1')).status, 200)
    const { status, body } = await as('u-2')
    assert.deepEqual([status, body.error], [400, 'invalid_grant'])
    assert.match(body.error_description, /means another account by this user than before/)
    assert.equal((await server.tokens.list()).length, 1)
    const [told] = await server.auditEvents('token.refuse')
    assert.deepEqual([told?.user, told?.status], ['sales@example.com', 'denied'])
    assert.equal((await as(7)).status, 400, 'no text')
    await operations['users.reset'].run({ user: 'sales@example.com', everything: true }, server, byOperator())
    assert.equal((await as('u-2')).status, 200)
    assert.equal((await as('u-1')).status, 400)
  })

  it('go on when the provider changes its keys, which are not asked for at every request', async (t) => {
    const { provider, server, client } = await setUp(t)
    const once = async (): Promise<number> =>
      (await bring(server, client, await provider.sign(claimsFor(server, client)))).status
    assert.deepEqual([await once(), await once()], [200, 200])
    assert.equal(provider.fetched.length, 2)
    await provider.rotate()
    assert.equal(await once(), 400, 'looked a moment ago')
    server.clock.pass(61)
    assert.deepEqual([await once(), await once()], [200, 200])
    assert.equal(provider.fetched.length, 4)
  })
})
