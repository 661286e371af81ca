/** Places for clients: neither a stranger nor a user takes them from the others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readParams } from '#ui/requests.ts'
import { pushedRecords } from '../../src/oauth/pushed-requests.ts'
import { paths } from '../../src/oauth/urls.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  callback,
  callMcp,
  connect,
  formOf,
  pkcePair,
  postForm,
  postJson,
  redeem,
  refresh,
  register,
} from '../oauth/browser.ts'
import { password, startServer, type TestServer } from '../oauth/server.ts'
import { watchedDaemon } from './lag.ts'

const few = { rate_limits: { enabled: false }, oauth: { max_clients: 30 } }

/** Registers from networks of its own, as an attacker with many of them does. */
async function flood(server: TestServer, count: number, network: (n: number) => string): Promise<void> {
  const description = {
    name: 'Flood',
    redirectUris: ['https://flood.example/cb'],
    authMethod: 'none',
    metadata: {},
  } as const
  for (let n = 0; n < count; n++)
    await server.clients.register(description, 'dynamic', async () => {}, network(n))
}

/** Signs in and comes to the consent page of a client. */
async function consentPage(server: TestServer, client: string, user = 'sales@example.com') {
  const { challenge, verifier } = pkcePair()
  const browser = new Browser(server)
  const query = { response_type: 'code', client_id: client, redirect_uri: callback, state: 's' }
  const url = authorizeUrl(server, { ...query, code_challenge: challenge, code_challenge_method: 'S256' })
  const page = await browser.submit(await browser.open(url), { username: user, password })
  return { browser, page, verifier }
}

describe('clients that one user connects', () => {
  it('take no place when the user only approves them', async (t) => {
    const server = await startServer(t, { settings: few })
    const browser = new Browser(server)
    for (let n = 0; n < 30; n++) {
      const { client_id: client } = await register(server)
      const { code } = await authorize(server, { client, browser })
      assert.notEqual(code, '')
    }
    assert.equal((await postJson(server, { redirect_uris: [callback] })).status, 201)
    assert.ok((await server.clients.list()).every(({ activatedAt }) => activatedAt === undefined))
    await connect(server, { user: 'hr@example.com' })
  })

  it('are twenty at most: the one used longest ago goes, with its tokens, and that is audited', async (t) => {
    const server = await startServer(t, { settings: few })
    const browser = new Browser(server)
    const mine: Awaited<ReturnType<typeof connect>>[] = []
    for (let n = 0; n < 21; n++) {
      mine.push(await connect(server, { browser }))
      server.clock.pass(60)
    }
    const kept = (await server.clients.list()).map(({ id }) => id)
    assert.equal(kept.length, 20)
    const [first, second] = mine as [(typeof mine)[0], (typeof mine)[0]]
    assert.ok(!kept.includes(first.client))
    assert.equal((await callMcp(server, `Bearer ${first.tokens.access_token}`)).status, 401)
    assert.equal((await refresh(server, second.client, second.tokens.refresh_token)).status, 200)
    const [event, ...more] = await server.auditEvents('client.displace')
    assert.deepEqual(more, [])
    assert.equal(event?.target, first.client)
    assert.equal(event?.user, 'sales@example.com')
    // The other users have the places that are left.
    await connect(server, { user: 'hr@example.com' })
    assert.equal((await postJson(server, { redirect_uris: [callback] })).status, 201)
  })
})

describe('a flood of registrations', () => {
  it('makes room by itself, not by the client of another network', async (t) => {
    const server = await startServer(t, { settings: few })
    const { client_id: early } = await register(server)
    await flood(server, 200, () => '203.0.113.0/24')
    assert.ok((await server.clients.list()).length <= 30)
    await connect(server, { client: early })
  })

  it('from many networks leaves alone what a user has the consent page of', async (t) => {
    const server = await startServer(t, { settings: few })
    const { client_id: client } = await register(server)
    const { browser, page, verifier } = await consentPage(server, client)
    await flood(server, 200, (n) => `2001:db8:${n.toString(16)}::/64`)
    const answer = await browser.submit(page, { decision: 'approve' })
    const code = new URL(answer.location!).searchParams.get('code')!
    const reply = await redeem(server, { code, redirectUri: callback, verifier, client })
    assert.equal(reply.status, 200)
  })

  it('is not helped by a user who opens consent pages for it', async (t) => {
    const server = await startServer(t, { settings: few })
    for (let n = 0; n < 30; n++) await consentPage(server, (await register(server)).client_id)
    const now = server.clock.now()
    const held = (await server.clients.list()).filter(({ heldUntil = 0 }) => heldUntil > now)
    assert.equal(held.length, 5)
    assert.equal((await postJson(server, { redirect_uris: [callback] })).status, 201)
  })
})

describe('pushed requests', () => {
  it('of strangers of one network filled the state; now they take room for three hundred, and others push on', async (t) => {
    const server = await startServer(t, { settings: few })
    const { client_id: client } = await register(server, { token_endpoint_auth_method: 'none' })
    const challenge = { code_challenge: pkcePair().challenge, code_challenge_method: 'S256' }
    const request = { client_id: client, response_type: 'code', redirect_uri: callback, ...challenge }
    const push = () => postForm(server, paths.pushed, { ...request, state: 'x'.repeat(7000) })
    const kept = server.store.collection(pushedRecords)
    for (let n = 0; n < 300; n++) assert.equal((await push()).status, 201)
    const refused = await push()
    assert.equal(refused.status, 429)
    assert.equal(refused.body.error, 'temporarily_unavailable')
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.equal(await kept.count(), 300)
    assert.match(server.trace.last(1)[0]?.reason ?? '', /too many requests from here/)
    const params = readParams(new URLSearchParams(request))
    assert.equal((await server.pushed.push(client, params, '203.0.113.9')).expires_in, 600)
    server.clock.pass(600)
    assert.equal((await push()).status, 201)
    assert.equal((await server.auditEvents('client.register')).length, 1)
  })
})

describe('a user who may not use the service', () => {
  it('cannot approve: not by the page, and not by a form made by hand', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    const { browser, page } = await consentPage(server, client, 'disabled@example.com')
    assert.doesNotMatch(page.body, /value="approve"/)
    const answer = await browser.submit(page, { decision: 'approve' })
    assert.ok(formOf(page).hidden['csrf'], 'the form is the real one')
    assert.equal(new URL(answer.location!).searchParams.get('error'), 'access_denied')
    assert.equal(new URL(answer.location!).searchParams.get('code'), null)
    assert.deepEqual(await server.grants.list(), [])
    assert.deepEqual(await server.auditEvents('grant.approve'), [])
    const [event] = await server.auditEvents('grant.deny')
    assert.equal(event?.user, 'disabled@example.com')
    assert.equal(event?.status, 'denied')
    assert.match(event?.error ?? '', /may not use the service/)
  })
})

describe('places for clients that are nearly all taken', () => {
  it('are told by /readyz and doctor', async (t) => {
    const { daemon } = await watchedDaemon(t, { 'max_clients: 2000': 'max_clients: 10' })
    const told = async (): Promise<string> => {
      const ready = (await (await fetch(`${daemon.url}/readyz`)).json()) as {
        checks: { name: string; status: string; detail: string }[]
      }
      const found = ready.checks.find(({ name }) => name === 'clients')
      return `${found?.status}: ${found?.detail}`
    }
    for (let n = 0; n < 8; n++) {
      assert.equal(await told(), `ok: ${n} of 10 places for clients are taken`)
      const body = JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' })
      const headers = { 'Content-Type': 'application/json' }
      assert.equal((await fetch(daemon.url + paths.register, { method: 'POST', headers, body })).status, 201)
    }
    assert.match(await told(), /^degraded: 8 of 10 places for clients are taken: look who registered/)
    const doctor = await daemon.cli(['doctor', '--json'])
    assert.match(doctor.stdout, /"daemon\.clients"[^}]*"warning"/s)
  })
})
