/** RFC 7009, revocation, and RFC 7662, introspection. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { paths, resourceOf } from '../../src/oauth/urls.ts'
import { callMcp, connect, postForm, redeem, refresh, register, authorize } from '../oauth/browser.ts'
import { makeUser, startServer, type TestServer } from '../oauth/server.ts'

async function confidential(server: TestServer) {
  const { client_id: client, client_secret: secret } = await register(server, {
    token_endpoint_auth_method: 'client_secret_post',
  })
  const flow = await authorize(server, { client })
  const { body } = await redeem(server, { ...flow, client }, { client_secret: secret })
  return { client, secret, tokens: body as { access_token: string; refresh_token: string } }
}

describe('RFC 7009', () => {
  it('§2.1 ends the whole family when a refresh token is revoked, and says so in the audit', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const reply = await postForm(server, paths.revoke, { token: tokens.refresh_token, client_id: client })
    assert.equal(reply.status, 200)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await refresh(server, client, tokens.refresh_token)).body.error, 'invalid_grant')
    const events = await server.auditEvents('token.revoke')
    assert.deepEqual(
      events.map((event) => [event.user, event.client, event.data?.['what']]),
      [['sales@example.com', client, 'refresh_token']],
    )
  })

  it('§2.1 ends only the access token when that is revoked', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const fields = { token: tokens.access_token, token_type_hint: 'refresh_token', client_id: client }
    assert.equal((await postForm(server, paths.revoke, fields)).status, 200)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await refresh(server, client, tokens.refresh_token)).status, 200)
  })

  it('answers with JSON, which clients parse that need not', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const response = await fetch(server.url + paths.revoke, {
      method: 'POST',
      body: new URLSearchParams({ token: 'x', client_id: client }),
    })
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    assert.deepEqual(await response.json(), {})
  })

  it('§2.2 answers 200 for unknown tokens', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    assert.equal((await postForm(server, paths.revoke, { token: 'unknown', client_id: client })).status, 200)
    assert.equal((await server.auditEvents('token.revoke')).length, 0)
  })

  it('§5 ends a public client token for whoever has it', async (t) => {
    const server = await startServer(t)
    const { tokens } = await connect(server)
    assert.equal((await postForm(server, paths.revoke, { token: 'unknown' })).status, 200)
    assert.equal((await postForm(server, paths.revoke, { token: tokens.access_token })).status, 200)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await postForm(server, paths.revoke, { token: '' })).body.error, 'invalid_request')
  })

  it('§2.1 refuses what belongs to another client, and leaves it', async (t) => {
    const server = await startServer(t)
    const { tokens } = await connect(server)
    const { client_id: other } = await register(server)
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const reply = await postForm(server, paths.revoke, { token, client_id: other })
      assert.equal(reply.status, 400)
    }
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
  })

  it('§2.1 wants confidential clients to authenticate, and a token to be there', async (t) => {
    const server = await startServer(t)
    const { client, secret, tokens } = await confidential(server)
    const bare = await postForm(server, paths.revoke, { token: tokens.refresh_token, client_id: client })
    assert.equal(bare.status, 401)
    const empty = await postForm(server, paths.revoke, { client_id: client, client_secret: secret })
    assert.equal(empty.body.error, 'invalid_request')
    const anonymous = await postForm(server, paths.revoke, { token: tokens.refresh_token })
    assert.equal(anonymous.status, 401)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
  })
})

describe('RFC 7662', () => {
  it('§2.2 tells a client about its own tokens', async (t) => {
    const server = await startServer(t)
    const { client, secret, tokens } = await confidential(server)
    const credentials = { client_id: client, client_secret: secret }
    const access = await postForm(server, paths.introspect, { token: tokens.access_token, ...credentials })
    const now = Math.floor(server.clock.now() / 1000)
    assert.deepEqual(access.body, {
      active: true,
      scope: 'all',
      client_id: client,
      username: 'sales@example.com',
      token_type: 'Bearer',
      exp: now + 3600,
      iat: now,
      sub: 'sales@example.com',
      aud: resourceOf(server.url),
      iss: server.url,
    })
    const fresh = await postForm(server, paths.introspect, { token: tokens.refresh_token, ...credentials })
    assert.equal(fresh.body.active, true)
    assert.equal(fresh.body.token_type, 'refresh_token')
  })

  it('§2.2 says no more than inactive of anything else', async (t) => {
    const server = await startServer(t)
    const { client, secret, tokens } = await confidential(server)
    const credentials = { client_id: client, client_secret: secret }
    const foreign = await connect(server)
    for (const token of ['unknown', foreign.tokens.access_token, foreign.tokens.refresh_token]) {
      const reply = await postForm(server, paths.introspect, { token, ...credentials })
      assert.deepEqual(reply.body, { active: false })
    }
    const asked = async (): Promise<unknown> =>
      (await postForm(server, paths.introspect, { token: tokens.access_token, ...credentials })).body
    server.setUsers([makeUser('sales@example.com', { enabled: false })])
    assert.deepEqual(await asked(), { active: false })
    server.setUsers([makeUser('sales@example.com')])
    server.clock.pass(3601)
    assert.deepEqual(await asked(), { active: false })
  })

  it('§2.1 wants a client that authenticates', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const reply = await postForm(server, paths.introspect, { token: tokens.access_token, client_id: client })
    assert.equal(reply.status, 401)
    assert.equal((await postForm(server, paths.introspect, { token: tokens.access_token })).status, 401)
  })
})
