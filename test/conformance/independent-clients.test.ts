/** Clients that others wrote go through the whole story: openid-client, oauth4webapi and the official suite. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { paths } from '../../src/oauth/urls.ts'
import { Browser, callback, callMcp, register } from '../oauth/browser.ts'
import { password, startServer, type TestServer } from '../oauth/server.ts'

/** What a person does with the URL that a client opens; answers where the browser ends up. */
async function person(server: TestServer, url: string): Promise<URL> {
  const browser = new Browser(server)
  const form = await browser.open(url)
  const consent = await browser.submit(form, { username: 'sales@example.com', password })
  const done = await browser.submit(consent, { decision: 'approve' })
  assert.equal(done.status, 302)
  return new URL(done.location!)
}

const authentications = {
  none: openid.None(),
  client_secret_basic: undefined,
  client_secret_post: undefined,
} as const

describe('openid-client', () => {
  for (const method of Object.keys(authentications) as (keyof typeof authentications)[]) {
    it(`registers, connects, refreshes, asks and revokes with ${method}`, async (t) => {
      const server = await startServer(t)
      const secret = method === 'client_secret_basic' ? openid.ClientSecretBasic : openid.ClientSecretPost
      const metadata = {
        client_name: 'openid-client',
        redirect_uris: [callback],
        token_endpoint_auth_method: method,
      }
      const registered = await openid.dynamicClientRegistration(new URL(server.url), metadata, undefined, {
        execute: [openid.allowInsecureRequests],
      })
      const { client_id: id, client_secret } = registered.clientMetadata()
      const authentication = method === 'none' ? openid.None() : secret(client_secret)
      const config = await openid.discovery(new URL(server.url), id, undefined, authentication, {
        execute: [openid.allowInsecureRequests],
      })
      // The server's clock is not the machine's.
      const skew = Math.round((server.clock.now() - Date.now()) / 1000)
      const clocked = new openid.Configuration(
        config.serverMetadata(),
        id,
        { ...config.clientMetadata(), [openid.clockSkew]: skew },
        authentication,
      )
      openid.allowInsecureRequests(clocked)
      const verifier = openid.randomPKCECodeVerifier()
      const [state, nonce] = [openid.randomState(), openid.randomNonce()]
      const url = openid.buildAuthorizationUrl(clocked, {
        redirect_uri: callback,
        scope: 'openid email',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      })
      const back = await person(server, url.href)
      const tokens = await openid.authorizationCodeGrant(clocked, back, {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      })
      assert.equal(tokens.claims()?.['email'], 'sales@example.com')
      const info = await openid.fetchUserInfo(clocked, tokens.access_token, 'sales@example.com')
      assert.equal(info.email, 'sales@example.com')
      const next = await openid.refreshTokenGrant(clocked, tokens.refresh_token!)
      assert.equal((await callMcp(server, `Bearer ${next.access_token}`)).status, 200)
      if (method !== 'none') {
        assert.equal((await openid.tokenIntrospection(clocked, next.access_token)).active, true)
      }
      await openid.tokenRevocation(clocked, next.refresh_token!)
      assert.equal((await callMcp(server, `Bearer ${next.access_token}`)).status, 401)
      await assert.rejects(openid.refreshTokenGrant(clocked, next.refresh_token!), { error: 'invalid_grant' })
    })
  }
})

describe('oauth4webapi', () => {
  it('finds the way from a 401 to a token for the resource, knowing only its URL', async (t) => {
    const server = await startServer(t)
    const insecure = { [oauth.allowInsecureRequests]: true }
    const challenge = (await callMcp(server, undefined)).headers.get('www-authenticate')!
    const metadataUrl = /resource_metadata="([^"]+)"/.exec(challenge)![1]!
    const resource = (await (await fetch(metadataUrl)).json()) as {
      resource: string
      authorization_servers: string[]
    }
    const found = await oauth.resourceDiscoveryRequest(new URL(server.url + paths.mcp), insecure)
    const described = await oauth.processResourceDiscoveryResponse(new URL(server.url + paths.mcp), found)
    assert.equal(described.resource, resource.resource)
    const issuer = new URL(resource.authorization_servers[0]!)
    const discovery = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
    const as = await oauth.processDiscoveryResponse(issuer, discovery)
    const registration = await oauth.dynamicClientRegistrationRequest(
      as,
      { redirect_uris: [callback], token_endpoint_auth_method: 'none' },
      insecure,
    )
    const client = await oauth.processDynamicClientRegistrationResponse(registration)
    const verifier = oauth.generateRandomCodeVerifier()
    const url = new URL(as.authorization_endpoint!)
    const state = oauth.generateRandomState()
    for (const [name, value] of Object.entries({
      client_id: client.client_id,
      redirect_uri: callback,
      response_type: 'code',
      state,
      resource: resource.resource,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })) {
      url.searchParams.set(name, value)
    }
    const params = oauth.validateAuthResponse(as, client, await person(server, url.href), state)
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      params,
      callback,
      verifier,
      {
        ...insecure,
        additionalParameters: { resource: resource.resource },
      },
    )
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response)
    assert.equal(tokens.token_type, 'bearer')
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
    const denied = await oauth.authorizationCodeGrantRequest(
      as,
      client,
      oauth.None(),
      params,
      callback,
      verifier,
      insecure,
    )
    await assert.rejects(oauth.processAuthorizationCodeResponse(as, client, denied), {
      error: 'invalid_grant',
    })
  })
})

describe('the official conformance suite', () => {
  it('passes both authorization server scenarios', async (t) => {
    const server = await startServer(t)
    const port = 34_567
    const redirect = `http://127.0.0.1:${port}/callback`
    const { client_id } = await register(server, { redirect_uris: [redirect] })
    const root = join(import.meta.dirname, '../..')
    const shim = pathToFileURL(join(import.meta.dirname, 'node20/register.mjs')).href
    const program = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
    const args = ['authorization', '--url', server.url, '--client-id', client_id, '-p', String(port)]
    const child = spawn(
      process.execPath,
      ['--import', shim, program, ...args, '--resource', server.url + paths.mcp],
      {
        env: { ...process.env, NO_COLOR: '1' },
      },
    )
    t.after(() => child.kill('SIGKILL'))
    let output = ''
    let opened = false
    const read = (chunk: Buffer): void => {
      output += chunk.toString().replace(/\u001b\[[0-9;]*m/g, '')
      const url = /(http:\/\/\S+\.authorize\?\S+)/.exec(output)?.[1]
      if (url === undefined || opened) return
      opened = true
      void person(server, url).then((back) => fetch(back))
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    const code = await new Promise((resolve) => child.once('exit', resolve))
    assert.equal(code, 0, output)
    assert.match(output, /authorization-server-metadata-endpoint/)
    assert.match(output, /Total: [1-9]\d* passed, 0 failed/, output)
    assert.ok(opened, 'the code grant must have been walked')
    assert.doesNotMatch(output, /WARNING|FAILURE/)
  })
})
