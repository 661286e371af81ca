/** RFC 9700, OAuth 2.0 security best current practice. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  authorize,
  Browser,
  authorizeUrl,
  callback,
  callMcp,
  connect,
  pkcePair,
  redeem,
  refresh,
  register,
} from '../oauth/browser.ts'
import { startServer } from '../oauth/server.ts'

const confidential = { token_endpoint_auth_method: 'client_secret_basic' }

describe('RFC 9700', () => {
  it('§4.14.2 repeats the same successor within the grace period and ends the family after it', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const first = await refresh(server, client, tokens.refresh_token)
    server.clock.pass(59)
    const again = await refresh(server, client, tokens.refresh_token)
    assert.equal(again.body.refresh_token, first.body.refresh_token)
    assert.equal(again.body.access_token, first.body.access_token)
    assert.equal(again.body.expires_in, 3600 - 59)
    server.clock.pass(2)
    const late = await refresh(server, client, tokens.refresh_token)
    assert.equal(late.body.error, 'invalid_grant')
    assert.equal((await refresh(server, client, first.body.refresh_token)).body.error, 'invalid_grant')
    assert.equal((await callMcp(server, `Bearer ${first.body.access_token}`)).status, 401)
    const [event, ...more] = await server.auditEvents('token.reuse')
    assert.deepEqual([event?.status, event?.user, event?.client], ['denied', 'sales@example.com', client])
    assert.equal(more.length, 0)
  })

  it('§4.14.2 knows a token that was rotated long ago, and is not fooled by one that was made up', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    let current = tokens.refresh_token
    for (let n = 0; n < 5; n++) {
      server.clock.pass(3000)
      current = (await refresh(server, client, current)).body.refresh_token
    }
    const forged = current.slice(0, -22) + 'A'.repeat(22)
    assert.equal((await refresh(server, client, forged)).body.error, 'invalid_grant')
    const alive = await refresh(server, client, current)
    assert.equal(alive.status, 200, 'a forged token must not end the family')
    assert.equal((await refresh(server, client, tokens.refresh_token)).body.error, 'invalid_grant')
    assert.equal((await refresh(server, client, alive.body.refresh_token)).body.error, 'invalid_grant')
  })

  it('§2.1.1 refuses a verifier for a code that had no challenge', async (t) => {
    const server = await startServer(t, {
      settings: { oauth: { require_pkce_for_confidential_clients: false } },
    })
    const { client_id: client, client_secret } = await register(server, confidential)
    const without = { code_challenge: '', code_challenge_method: '' }
    const flow = await authorize(server, { client, params: without })
    assert.notEqual(flow.code, '')
    assert.equal((await redeem(server, { ...flow, client }, { client_secret })).body.error, 'invalid_grant')
    const honest = await authorize(server, { client, params: without })
    assert.equal(
      (await redeem(server, { ...honest, client }, { client_secret, code_verifier: undefined })).status,
      200,
    )
  })

  it('§4.14.2 prolongs a refresh token by use, and not beyond the age at which the user is asked again', async (t) => {
    const days = 86_400
    const settings = { oauth: { refresh_token_days: 30, grant_days: 50 } }
    const server = await startServer(t, { settings })
    const { client, tokens } = await connect(server)
    server.clock.pass(29 * days)
    const used = await refresh(server, client, tokens.refresh_token)
    assert.equal(used.status, 200)
    server.clock.pass(20 * days)
    const again = await refresh(server, client, used.body.refresh_token)
    assert.equal(again.status, 200, 'in use, and 49 days old')
    server.clock.pass(2 * days)
    const late = await refresh(server, client, again.body.refresh_token)
    assert.deepEqual([late.status, late.body.error], [400, 'invalid_grant'])
  })

  it('§4.11 sends no referrer and is never framed', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const url = authorizeUrl(server, {
      response_type: 'code',
      client_id: client,
      redirect_uri: callback,
      code_challenge: pkcePair().challenge,
      code_challenge_method: 'S256',
    })
    const page = await new Browser(server).open(url)
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(page.headers.get('x-frame-options'), 'DENY')
    assert.equal(page.headers.get('cache-control'), 'no-store')
  })
})
