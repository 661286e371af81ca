/** OpenID Connect Core 1.0: ID tokens, userinfo, prompt and max_age, and the keys that sign. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { paths } from '../../src/oauth/urls.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  callback,
  connect,
  pkcePair,
  refresh,
  register,
} from '../oauth/browser.ts'
import { makeUser, startServer, type TestServer } from '../oauth/server.ts'

async function keySet(server: TestServer): Promise<JSONWebKeySet> {
  return (await (await fetch(server.url + paths.jwks)).json()) as JSONWebKeySet
}

async function verify(server: TestServer, token: string, audience: string) {
  return jwtVerify(token, createLocalJWKSet(await keySet(server)), {
    issuer: server.url,
    audience,
    currentDate: new Date(server.clock.now()),
  })
}

describe('OpenID Connect Core', () => {
  it('§2 and §3.1.3.6 give an ID token when openid is granted', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server, {
      scope: 'openid profile email',
      params: { nonce: 'n-0S6_WzA2Mj' },
    })
    const { payload, protectedHeader } = await verify(server, tokens.id_token!, client)
    assert.equal(protectedHeader.alg, 'RS256')
    const now = Math.floor(server.clock.now() / 1000)
    const hash = createHash('sha256')
      .update(tokens.access_token)
      .digest()
      .subarray(0, 16)
      .toString('base64url')
    assert.deepEqual(payload, {
      iss: server.url,
      sub: 'sales@example.com',
      aud: client,
      iat: now,
      exp: now + 3600,
      auth_time: now,
      nonce: 'n-0S6_WzA2Mj',
      at_hash: hash,
      name: 'sales',
      preferred_username: 'sales@example.com',
      email: 'sales@example.com',
      email_verified: true,
    })
    const plain = await connect(server, { scope: 'all' })
    assert.equal(plain.tokens.id_token, undefined)
  })

  it('§12.2 gives another ID token at a refresh, with the first auth_time and no nonce', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server, { scope: 'openid', params: { nonce: 'once' } })
    server.clock.pass(1000)
    const { body } = await refresh(server, client, tokens.refresh_token)
    const { payload } = await verify(server, body.id_token, client)
    assert.equal(payload['auth_time'], Math.floor(server.clock.now() / 1000) - 1000)
    assert.equal(payload['nonce'], undefined)
  })

  it('§5.3 tells by userinfo what the scopes allow', async (t) => {
    const server = await startServer(t)
    const ask = async (token: string, init: RequestInit = {}): Promise<Response> =>
      fetch(server.url + paths.userinfo, { ...init, headers: { Authorization: `Bearer ${token}` } })
    const little = await connect(server, { scope: 'openid' })
    assert.deepEqual(await (await ask(little.tokens.access_token)).json(), { sub: 'sales@example.com' })
    const much = await connect(server, { scope: 'openid profile email' })
    assert.deepEqual(await (await ask(much.tokens.access_token, { method: 'POST' })).json(), {
      sub: 'sales@example.com',
      name: 'sales',
      preferred_username: 'sales@example.com',
      email: 'sales@example.com',
      email_verified: true,
    })
    const all = await connect(server, { scope: 'all' })
    assert.match(await (await ask(all.tokens.access_token)).text(), /"email":"sales@example.com"/)
    const bad = await ask('unknown')
    assert.equal(bad.status, 401)
    assert.match(bad.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/)
    const none = await fetch(`${server.url}${paths.userinfo}?access_token=${much.tokens.access_token}`)
    assert.equal(none.status, 401)
    server.setUsers([makeUser('sales@example.com', { enabled: false })])
    assert.equal((await ask(much.tokens.access_token)).status, 401)
  })

  it('§3.1.2.1 prompt=none asks nobody anything', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server, { redirect_uris: ['https://app.example/cb'] })
    const redirectUri = 'https://app.example/cb'
    const none = { params: { prompt: 'none' }, client, redirectUri }
    const stranger = await authorize(server, none)
    assert.equal(stranger.answer.get('error'), 'login_required')
    const { browser } = await authorize(server, { client, redirectUri, decision: 'deny' })
    assert.equal((await authorize(server, { ...none, browser })).answer.get('error'), 'consent_required')
    await authorize(server, { client, redirectUri, browser })
    const url = authorizeUrl(server, {
      response_type: 'code',
      client_id: client,
      redirect_uri: redirectUri,
      prompt: 'none',
      code_challenge: pkcePair().challenge,
      code_challenge_method: 'S256',
    })
    const remembered = await browser.open(url, { headers: { 'Sec-Fetch-Site': 'none' } })
    assert.match(remembered.location ?? '', /\?code=/)
    const mixed = await authorize(server, { client, redirectUri, params: { prompt: 'none login' } })
    assert.equal(mixed.answer.get('error'), 'invalid_request')
  })

  it('§3.1.2.1 prompt=login and max_age make the user sign in again, once', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const { browser } = await authorize(server, { client, decision: 'deny' })
    for (const params of [{ prompt: 'login' }, { max_age: '0' }, { max_age: '60' }] as Record<
      string,
      string
    >[]) {
      server.clock.pass(61)
      const asked = authorizeUrl(server, {
        response_type: 'code',
        client_id: client,
        redirect_uri: callback,
        code_challenge: pkcePair().challenge,
        code_challenge_method: 'S256',
        ...params,
      })
      assert.match((await browser.open(asked)).body, /name="password"/, JSON.stringify(params))
      const flow = await authorize(server, { client, browser, params })
      assert.notEqual(flow.code, '', JSON.stringify(params))
    }
    const young = await authorize(server, { client, browser, params: { max_age: '1000' } })
    assert.notEqual(young.code, '')
  })

  it('§6 refuses request and request_uri', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const one = await authorize(server, { client, params: { request: 'eyJ' } })
    assert.equal(one.answer.get('error'), 'request_not_supported')
    const two = await authorize(server, { client, params: { request_uri: 'https://evil.example/' } })
    assert.equal(two.answer.get('error'), 'request_uri_not_supported')
  })

  it('§4 login_hint fills the name in, harmlessly', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const page = await new Browser(server).open(
      authorizeUrl(server, {
        response_type: 'code',
        client_id: client,
        redirect_uri: callback,
        code_challenge: pkcePair().challenge,
        code_challenge_method: 'S256',
        login_hint: '"><b>sales@example.com',
      }),
    )
    assert.match(page.body, /value="&quot;&gt;&lt;b&gt;sales@example.com"/)
  })
})

describe('signing keys', () => {
  it('are published before they sign and after they did', async (t) => {
    const server = await startServer(t)
    const kidOf = async (): Promise<string> => decodeProtectedHeader(await server.keys.sign({})).kid!
    const kids = async (): Promise<string[]> =>
      (await keySet(server)).keys.map((key) => key.kid ?? '').toSorted()
    const first = await kidOf()
    const next = await server.keys.rotate()
    assert.equal(next.state, 'next')
    assert.deepEqual(await kids(), [first, next.id].toSorted())
    assert.equal(await kidOf(), first, 'clients may have the old set for a while')
    server.clock.pass(16 * 60)
    assert.equal(await kidOf(), next.id)
    assert.ok((await kids()).includes(first), 'what it signed may still be looked at')
    assert.deepEqual(
      (await server.keys.list()).map((key) => [key.id, key.state]),
      [
        [next.id, 'signing'],
        [first, 'retired'],
      ],
    )
    server.clock.pass(25 * 3600)
    assert.deepEqual(await kids(), [next.id])
    for (const key of (await keySet(server)).keys) {
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use'])
    }
  })

  it('are replaced at once when one leaked', async (t) => {
    const server = await startServer(t)
    const old = decodeProtectedHeader(await server.keys.sign({})).kid
    const next = await server.keys.rotate({ atOnce: true })
    assert.equal(decodeProtectedHeader(await server.keys.sign({})).kid, next.id)
    assert.equal(
      (await keySet(server)).keys.some((key) => key.kid === old),
      false,
    )
  })

  it('make one key, however many ask first', async (t) => {
    const server = await startServer(t)
    const sets = await Promise.all(Array.from({ length: 8 }, () => keySet(server)))
    assert.equal(new Set(sets.map((set) => set.keys[0]?.kid)).size, 1)
  })
})
