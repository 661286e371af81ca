/** Pushed authorization requests (RFC 9126), by clients that others wrote and by bare requests. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { pushedRecords } from '../../src/oauth/pushed-requests.ts'
import { paths, resourceOf } from '../../src/oauth/urls.ts'
import { authorizeUrl, Browser, callback, callMcp, pkcePair, postForm, register } from '../oauth/browser.ts'
import { password, startServer } from '../oauth/server.ts'

const user = 'sales@example.com'

/** Signs in where that is asked, and approves. */
async function approve(browser: Browser, url: string): Promise<URL> {
  let page = await browser.open(url)
  if (page.body.includes('name="password"')) page = await browser.submit(page, { username: user, password })
  const done = await browser.submit(page, { decision: 'approve' })
  assert.equal(done.status, 302, done.body)
  return new URL(done.location!)
}

async function world(t: TestContext, changes: Record<string, unknown> = {}) {
  const server = await startServer(t)
  const client = await register(server, changes)
  const { verifier, challenge } = pkcePair()
  const request = {
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: callback,
    scope: 'all',
    state: 'a state that is in no address',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const push = (fields: Record<string, string | undefined> = {}, headers: Record<string, string> = {}) =>
    postForm(server, paths.pushed, { ...request, ...fields }, headers)
  const addressOf = (uri: string, more: Record<string, string> = {}, id = client.client_id): string =>
    authorizeUrl(server, { client_id: id, request_uri: uri, ...more })
  const redeem = (code: string) =>
    postForm(server, paths.token, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id: client.client_id,
      client_secret: client.client_secret,
      code_verifier: verifier,
    })
  return { server, client, push, addressOf, redeem, browser: new Browser(server) }
}

describe('RFC 9126', () => {
  it('§2.2 answers 201 with a name of 256 bits that lasts ten minutes, and metadata tell the endpoint (§5)', async (t) => {
    const { server, push } = await world(t)
    const { status, headers, body } = await push()
    assert.equal(status, 201)
    assert.match(body.request_uri, /^urn:ietf:params:oauth:request_uri:ac_rq_[\w-]{43}$/)
    assert.equal(body.expires_in, 600)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.notEqual((await push()).body.request_uri, body.request_uri)
    for (const path of [paths.authorizationServer, paths.openidConfiguration]) {
      const metadata = (await (await fetch(server.url + path)).json()) as Record<string, string>
      assert.equal(metadata['pushed_authorization_request_endpoint'], server.url + paths.pushed)
    }
  })

  it('§4 takes the request from what was pushed, and nothing of it from the address', async (t) => {
    const { server, push, addressOf, redeem, browser } = await world(t)
    const { request_uri: uri } = (await push({ resource: resourceOf(server.url) })).body
    const more = {
      redirect_uri: 'https://evil.example/',
      scope: 'openid',
      state: 'forged',
      code_challenge: 'x',
    }
    const back = await approve(browser, addressOf(uri, more))
    assert.equal(`${back.origin}${back.pathname}`, callback)
    assert.equal(back.searchParams.get('state'), 'a state that is in no address')
    assert.equal(back.searchParams.get('iss'), server.url)
    const { body } = await redeem(back.searchParams.get('code')!)
    assert.equal(body.scope, 'all')
    assert.equal((await callMcp(server, `Bearer ${body.access_token}`)).status, 200)
  })

  it('§4 gives one code for it, even to who has approved before', async (t) => {
    const { push, addressOf, redeem, browser } = await world(t)
    const { request_uri: uri } = (await push()).body
    const back = await approve(browser, addressOf(uri))
    const again = await browser.open(addressOf(uri))
    const second = await browser.submit(again, { decision: 'approve' })
    assert.equal(second.status, 403)
    assert.equal(second.location, undefined)
    assert.equal((await redeem(back.searchParams.get('code')!)).status, 200)
  })

  it('§4 shows a fault, and sends nobody anywhere, for one that has ended, was made up or is of another client', async (t) => {
    const { server, push, addressOf, browser } = await world(t)
    const other = await register(server)
    const { request_uri: uri } = (await push()).body
    const wrong = [
      addressOf(uri, {}, other.client_id),
      addressOf(`${uri}x`),
      authorizeUrl(server, { request_uri: uri }),
    ]
    for (const url of wrong) {
      const page = await browser.open(url)
      assert.equal(page.status, 400, url)
      assert.equal(page.location, undefined)
      assert.match(page.body, /has ended, or never was/)
    }
    server.clock.pass(600)
    assert.match((await browser.open(addressOf(uri))).body, /has ended, or never was/)
  })

  it('§2.1 refuses what the authorization endpoint would refuse, and keeps nothing', async (t) => {
    const { server, push } = await world(t)
    const rows: readonly (readonly [Record<string, string | undefined>, number, string])[] = [
      [{ redirect_uri: 'https://evil.example/' }, 400, 'invalid_request'],
      [{ redirect_uri: undefined }, 400, 'invalid_request'],
      [{ code_challenge: undefined }, 400, 'invalid_request'],
      [{ response_type: 'token' }, 400, 'unsupported_response_type'],
      [{ resource: 'https://evil.example/' }, 400, 'invalid_target'],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 400, 'request_uri_not_supported'],
      [{ request: 'a.b.c' }, 400, 'request_not_supported'],
      [{ client_id: 'nobody' }, 401, 'invalid_client'],
      [{ state: 's'.repeat(8192) }, 413, 'invalid_request'],
    ]
    for (const [fields, status, error] of rows) {
      const reply = await push(fields)
      assert.deepEqual([reply.status, reply.body.error], [status, error], JSON.stringify(fields).slice(0, 80))
      // Who is no client leaves nothing; what a client got wrong is told to its operator.
      if (status !== 401) assert.match(server.trace.last(1)[0]?.reason ?? '', new RegExp(`^${error}: `))
    }
    const kept = server.store.collection(pushedRecords)
    assert.equal(await kept.count(), 0)
    assert.equal((await fetch(server.url + paths.pushed)).status, 405)
  })

  it('§2 authenticates the client as at the token endpoint, and keeps no secret', async (t) => {
    const { server, client, push } = await world(t, { token_endpoint_auth_method: 'client_secret_post' })
    assert.equal((await push()).status, 401)
    assert.equal((await push({ client_secret: 'wrong' })).status, 401)
    assert.equal((await push({ client_secret: client.client_secret })).status, 201)
    const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString('base64')
    assert.equal((await push({ client_id: undefined }, { authorization: `Basic ${basic}` })).status, 201)
    const kept = await server.store.collection(pushedRecords).find({})
    assert.equal(kept.length, 2)
    assert.ok(kept.every(({ query }) => !query.includes('secret')))
  })

  it('asks once for the sign-in that it wants anew, whoever is signed in', async (t) => {
    const { server, push, addressOf, browser } = await world(t)
    await approve(browser, addressOf((await push()).body.request_uri))
    for (const wish of [{ prompt: 'login' }, { max_age: '0' }]) {
      server.clock.pass(1)
      const { request_uri: uri } = (await push(wish)).body
      const first = await browser.open(addressOf(uri))
      assert.match(first.body, /name="password"/, JSON.stringify(wish))
      server.clock.pass(1)
      const consent = await browser.submit(first, { username: user, password })
      const done = await browser.submit(consent, { decision: 'approve' })
      assert.equal(done.status, 302)
    }
  })
})

describe('pushed requests of clients that others wrote', () => {
  it('openid-client goes its way by one', async (t) => {
    const { server, client, browser } = await world(t, { token_endpoint_auth_method: 'client_secret_basic' })
    const config = await openid.discovery(
      new URL(server.url),
      client.client_id,
      undefined,
      openid.ClientSecretBasic(client.client_secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const verifier = openid.randomPKCECodeVerifier()
    const state = openid.randomState()
    const url = await openid.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: callback,
      scope: 'all',
      state,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    assert.deepEqual([...url.searchParams.keys()].sort(), ['client_id', 'request_uri'])
    const back = await approve(browser, url.href)
    const tokens = await openid.authorizationCodeGrant(config, back, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
  })

  it('oauth4webapi does, as a public client', async (t) => {
    const { server, client, browser } = await world(t)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const issuer = new URL(server.url)
    const found = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
    const as = await oauth.processDiscoveryResponse(issuer, found)
    const me = { client_id: client.client_id }
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const wanted = new URLSearchParams({
      redirect_uri: callback,
      response_type: 'code',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const reply = await oauth.pushedAuthorizationRequest(as, me, oauth.None(), wanted, insecure)
    const { request_uri: uri } = await oauth.processPushedAuthorizationResponse(as, me, reply)
    const back = await approve(browser, authorizeUrl(server, { ...me, request_uri: uri }))
    const params = oauth.validateAuthResponse(as, me, back, state)
    const answer = await oauth.authorizationCodeGrantRequest(
      as,
      me,
      oauth.None(),
      params,
      callback,
      verifier,
      insecure,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, me, answer)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
  })
})
