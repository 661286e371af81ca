import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { pages } from '../../src/pages/pages.ts'
import { authorize, Browser, callMcp, connect, redeem, refresh, register } from './browser.ts'
import { startServer } from './server.ts'

describe('connecting a client', () => {
  it('goes from registration over sign-in and consent to a token that works, and refreshes', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const flow = await authorize(server, { client })
    assert.equal(flow.page.status, 302)
    assert.ok(flow.page.location?.startsWith('http://127.0.0.1:5555/callback?code=ac_cd_'))
    assert.equal(flow.answer.get('state'), 'a state')
    assert.equal(flow.answer.get('iss'), server.url)

    const reply = await redeem(server, { ...flow, client })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    assert.equal(reply.headers.get('cache-control'), 'no-store')
    assert.equal(reply.body.token_type, 'Bearer')
    assert.equal(reply.body.expires_in, 3600)
    assert.equal(reply.body.scope, 'all')

    const called = await callMcp(server, `Bearer ${reply.body.access_token}`, {
      method: 'POST',
      headers: { 'MCP-Session-Id': 'conversation-1' },
    })
    assert.equal(called.status, 200)
    const principal = (await called.json()) as Record<string, unknown>
    assert.equal(principal['user'], 'sales@example.com')
    assert.deepEqual(principal['client'], { id: client, name: 'Test App' })
    assert.equal(principal['sessionId'], 'conversation-1')
    assert.equal(principal['expiresAt'], server.clock.now() + 3_600_000)

    const next = await refresh(server, client, reply.body.refresh_token)
    assert.equal(next.status, 200)
    assert.notEqual(next.body.refresh_token, reply.body.refresh_token)
    assert.equal((await callMcp(server, `Bearer ${next.body.access_token}`)).status, 200)
  })

  it('tells the client that the user denied, with state and issuer', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const { answer, page } = await authorize(server, { client, decision: 'deny' })
    assert.equal(page.status, 302)
    assert.equal(answer.get('error'), 'access_denied')
    assert.equal(answer.get('state'), 'a state')
    assert.equal(answer.get('iss'), server.url)
    assert.equal((await server.grants.list()).length, 0)
  })

  it('shows connected apps and ends everything of one at once', async (t) => {
    const server = await startServer(t)
    const { browser, tokens, client } = await connect(server)
    await callMcp(server, `Bearer ${tokens.access_token}`)
    const page = await browser.open(pages.connectedApps.path)
    assert.match(page.body, /Test App/)
    assert.match(page.body, /<dt>Calls in 30 days<\/dt><dd>1<\/dd>/)
    const after = await browser.submit(page, {})
    assert.match(after.body, /Access was revoked/)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await refresh(server, client, tokens.refresh_token)).body.error, 'invalid_grant')
  })

  it('signs out', async (t) => {
    const server = await startServer(t)
    const { browser } = await connect(server)
    const page = await browser.open(pages.signOut.path)
    assert.match((await browser.submit(page, {})).body, /You are signed out/)
    assert.match((await browser.open(pages.connectedApps.path)).body, /name="password"/)
    assert.ok(new Browser(server))
  })
})
