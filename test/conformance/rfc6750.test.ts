/** RFC 6750, bearer tokens, in the shape of specification §5 and §7.2. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { paths, resourceOf } from '../../src/oauth/urls.ts'
import { callMcp, connect } from '../oauth/browser.ts'
import { makeUser, startServer, type TestServer } from '../oauth/server.ts'

async function expect401(server: TestServer, response: Response, why: RegExp): Promise<void> {
  assert.equal(response.status, 401)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const challenge = response.headers.get('www-authenticate') ?? ''
  const shape =
    /^Bearer realm="assistant-core", error="invalid_token", error_description="([^"]+)", resource_metadata="([^"]+)"$/
  const [, description, metadata] = shape.exec(challenge) ?? []
  assert.equal(metadata, `${server.url}/.well-known/oauth-protected-resource`, challenge)
  assert.match(description ?? '', why)
  const text = await response.text()
  if (text === '') return
  const body = JSON.parse(text) as Record<string, unknown>
  assert.equal(body['error'], 'invalid_token')
  assert.match(String(body['message']), why)
  assert.deepEqual(Object.keys(body).sort(), ['error', 'message'])
}

async function issue(
  server: TestServer,
  user: string,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const request = {
    user,
    client: 'c',
    clientName: 'C',
    scopes: ['all'],
    resource: resourceOf(server.url),
    ...changes,
  }
  return (await server.tokens.issue(request)).accessToken
}

describe('RFC 6750 and specification §5', () => {
  it('§5.4 answers 401 with the challenge for every missing or foreign header', async (t) => {
    const server = await startServer(t)
    const cases: [string | undefined, RegExp][] = [
      [undefined, /required/],
      ['Bearer', /not 'Bearer/],
      ['Bearer ', /not 'Bearer/],
      ['Bearer a b', /not 'Bearer/],
      ['Basic YTpi', /not 'Bearer/],
      ['Digest x', /not 'Bearer/],
      ['nonsense', /not 'Bearer/],
      ['token x', /not 'token/],
      ['token :secret', /not 'token/],
      ['token unknown:secret', /unknown/],
      ['Bearer unknown', /unknown/],
      [`Bearer ${'x'.repeat(5000)}`, /unknown/],
    ]
    for (const [header, why] of cases) {
      const reply = await callMcp(server, header)
      assert.equal(reply.status, 401, header)
      const body = (await reply.clone().json()) as { message: string }
      assert.match(body.message.replaceAll('"', "'"), why, header)
      await expect401(server, new Response(null, { status: 401, headers: reply.headers }), why)
    }
    assert.match(server.logged.join(''), /bearer refused/)
  })

  it('points at no metadata that the site does not publish', async (t) => {
    const server = await startServer(t, { settings: { oauth: { show_protected_resource_metadata: false } } })
    const { headers } = await fetch(server.url + paths.mcp, { method: 'POST' })
    assert.match(
      headers.get('www-authenticate') ?? '',
      /^Bearer realm="assistant-core", error="invalid_token"/,
    )
    assert.doesNotMatch(headers.get('www-authenticate') ?? '', /resource_metadata/)
  })

  it('answers HEAD and GET without a token with the challenge as well', async (t) => {
    const server = await startServer(t)
    await expect401(server, await callMcp(server, undefined, { method: 'HEAD' }), /required/)
    await expect401(server, await callMcp(server, undefined, { method: 'GET' }), /required/)
    await expect401(server, await callMcp(server, undefined, { method: 'DELETE' }), /required/)
  })

  it('§2.3 takes no token from the query or the body', async (t) => {
    const server = await startServer(t)
    const token = await issue(server, 'sales@example.com')
    const query = await fetch(`${server.url}${paths.mcp}?access_token=${token}`, { method: 'POST' })
    assert.equal(query.status, 401)
    const body = await fetch(server.url + paths.mcp, {
      method: 'POST',
      body: new URLSearchParams({ access_token: token }),
    })
    assert.equal(body.status, 401)
  })

  it('§5.3 says in order: unknown, not active, expired', async (t) => {
    const server = await startServer(t)
    const token = await issue(server, 'sales@example.com')
    server.clock.pass(3600)
    assert.equal((await callMcp(server, `Bearer ${token}`)).status, 200, 'the very end still counts')
    server.clock.pass(1)
    await expect401(server, await callMcp(server, `Bearer ${token}`), /^the access token has expired$/)
    await server.tokens.revoke({ user: 'sales@example.com' }, 'test')
    await expect401(server, await callMcp(server, `Bearer ${token}`), /^the access token is not active$/)
    server.clock.pass(2 * 86_400)
    await expect401(server, await callMcp(server, `Bearer ${token}`), /^the access token is unknown$/)
  })

  it('takes the scheme in any case', async (t) => {
    const server = await startServer(t)
    const token = await issue(server, 'sales@example.com')
    assert.equal((await callMcp(server, `bearer ${token}`)).status, 200)
    assert.equal((await callMcp(server, `BEARER  ${token}`)).status, 200)
  })

  it('refuses a token for another resource (RFC 8707 §2)', async (t) => {
    const server = await startServer(t)
    const token = await issue(server, 'sales@example.com', { resource: 'https://other.example/mcp' })
    await expect401(server, await callMcp(server, `Bearer ${token}`), /another resource/)
  })

  it('cuts off removed and disabled users at once', async (t) => {
    const server = await startServer(t)
    const token = await issue(server, 'sales@example.com')
    assert.equal((await callMcp(server, `Bearer ${token}`)).status, 200)
    const before = server.users()
    server.setUsers([makeUser('sales@example.com', { enabled: false })])
    await expect401(server, await callMcp(server, `Bearer ${token}`), /disabled/)
    server.setUsers([])
    await expect401(server, await callMcp(server, `Bearer ${token}`), /disabled/)
    server.setUsers(before)
    assert.equal((await callMcp(server, `Bearer ${token}`)).status, 200)
  })

  it('§5.6 answers 403 without assistant_enabled or the role, and lets a System Manager pass', async (t) => {
    const server = await startServer(t)
    for (const [user, why] of [
      ['disabled@example.com', /not enabled/],
      ['norole@example.com', /Assistant User/],
    ] as const) {
      const reply = await callMcp(server, `Bearer ${await issue(server, user)}`)
      assert.equal(reply.status, 403)
      assert.equal(reply.headers.get('www-authenticate'), null)
      assert.match(((await reply.json()) as { message: string }).message, why)
    }
    server.setUsers([makeUser('boss@example.com', { roles: new Set(['System Manager']) })])
    assert.equal((await callMcp(server, `Bearer ${await issue(server, 'boss@example.com')}`)).status, 200)
  })

  it('§5.2 takes an API key, until it is revoked, expires or comes from elsewhere', async (t) => {
    const server = await startServer(t)
    const { key, secret } = await server.apiKeys.create({ user: 'hr@example.com', seconds: 60 })
    const reply = await callMcp(server, `token ${key.id}:${secret}`)
    assert.equal(reply.status, 200)
    const principal = (await reply.json()) as Record<string, unknown>
    assert.equal(principal['user'], 'hr@example.com')
    assert.equal(principal['client'], undefined)
    await expect401(server, await callMcp(server, `token ${key.id}:${secret}x`), /unknown/)
    server.clock.pass(61)
    await expect401(server, await callMcp(server, `token ${key.id}:${secret}`), /expired/)
    const far = await server.apiKeys.create({ user: 'hr@example.com', addresses: ['10.0.0.0/8'] })
    await expect401(server, await callMcp(server, `token ${far.key.id}:${far.secret}`), /address/)
    const near = await server.apiKeys.create({
      user: 'hr@example.com',
      addresses: ['10.0.0.0/8', '127.0.0.1'],
    })
    assert.equal((await callMcp(server, `token ${near.key.id}:${near.secret}`)).status, 200)
    await server.apiKeys.revoke(near.key.id)
    await expect401(server, await callMcp(server, `token ${near.key.id}:${near.secret}`), /not active/)
    await assert.rejects(
      server.apiKeys.create({ user: 'hr@example.com', addresses: ['10.0.0.0/99'] }),
      /not an address/,
    )
  })

  it('keeps tokens with an address list to those addresses', async (t) => {
    const server = await startServer(t)
    const there = await issue(server, 'sales@example.com', { addresses: ['192.0.2.0/24'] })
    await expect401(server, await callMcp(server, `Bearer ${there}`), /address/)
    const here = await issue(server, 'sales@example.com', { addresses: ['127.0.0.0/8'] })
    assert.equal((await callMcp(server, `Bearer ${here}`)).status, 200)
  })

  it('gives the principal what the client may use of what the user has', async (t) => {
    let limits: { roles?: string[]; tools?: string[] } | undefined
    const server = await startServer(t, { clientLimits: (id) => (id === 'c' ? limits : undefined) })
    const token = await issue(server, 'sales@example.com')
    const principal = async (): Promise<any> => (await callMcp(server, `Bearer ${token}`)).json()
    assert.deepEqual((await principal()).roles, ['Assistant User', 'Sales User'])
    limits = { roles: ['Assistant User', 'HR User'], tools: ['get_*'] }
    const limited = await principal()
    assert.deepEqual(limited.roles, ['Assistant User'])
    assert.equal(limited.roleKey, 'Assistant User')
    assert.deepEqual(limited.toolLimit, ['get_*'])
    limits = { roles: ['HR User'] }
    assert.equal((await callMcp(server, `Bearer ${token}`)).status, 403)
  })

  it('reads the session id in either spelling, and leaves out what is none', async (t) => {
    const server = await startServer(t)
    const token = await issue(server, 'sales@example.com')
    const sessionOf = async (headers: Record<string, string>): Promise<unknown> =>
      ((await (await callMcp(server, `Bearer ${token}`, { method: 'POST', headers })).json()) as any)
        .sessionId
    assert.equal(await sessionOf({ 'Mcp-Session-Id': 'a-1' }), 'a-1')
    assert.equal(await sessionOf({ 'MCP-Session-Id': 'a-2' }), 'a-2')
    assert.equal(await sessionOf({ 'Mcp-Session-Id': 'x'.repeat(300) }), undefined)
    assert.equal(await sessionOf({}), undefined)
  })

  it('answers 429 with Retry-After when the budget of user and client is used up', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { mcp: { points: 3, seconds: 60 } } } })
    const token = await issue(server, 'sales@example.com')
    const other = await issue(server, 'hr@example.com')
    for (let n = 0; n < 3; n++) assert.equal((await callMcp(server, `Bearer ${token}`)).status, 200)
    const over = await callMcp(server, `Bearer ${token}`)
    assert.equal(over.status, 429)
    assert.match(over.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal((await callMcp(server, `Bearer ${other}`)).status, 200)
    server.change({ rate_limits: { mcp: { points: 3, seconds: 60 }, exempt_addresses: ['127.0.0.0/8'] } })
    assert.equal((await callMcp(server, `Bearer ${token}`)).status, 200)
  })

  it('keeps only the hash of a token, and never logs one', async (t) => {
    const server = await startServer(t)
    const { tokens } = await connect(server)
    const [stored] = await server.tokens.list()
    assert.equal(stored?.hash, sha256(tokens.access_token))
    await callMcp(server, `Bearer ${tokens.access_token}x`)
    assert.doesNotMatch(server.logged.join(''), new RegExp(tokens.access_token))
  })
})
