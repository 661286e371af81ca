import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tokenRecords, type AccessToken } from '../../src/oauth/records.ts'
import { Tokens } from '../../src/oauth/tokens/tokens.ts'
import { paths } from '../../src/oauth/urls.ts'
import { pages } from '../../src/pages/pages.ts'
import type { Query } from '#state/store.ts'
import { authorize, callMcp, connect, postForm, postJson, redeem, refresh, register } from './browser.ts'
import { startServer } from './server.ts'

const unlimited = { settings: { rate_limits: { enabled: false } } }

describe('what happens at the same time', () => {
  it('50 parallel refreshes give one successor and log nobody out', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, tokens } = await connect(server)
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => refresh(server, client, tokens.refresh_token)),
    )
    assert.deepEqual([...new Set(replies.map((reply) => reply.status))], [200])
    assert.equal(new Set(replies.map((reply) => reply.body.refresh_token)).size, 1)
    assert.equal(new Set(replies.map((reply) => reply.body.access_token)).size, 1)
    assert.equal((await server.tokens.list()).length, 2, 'the first access token and one more')
    const next = await refresh(server, client, replies[0]!.body.refresh_token)
    assert.equal(next.status, 200)
    assert.equal((await callMcp(server, `Bearer ${next.body.access_token}`)).status, 200)
  })

  it('20 parallel redemptions of one code have one winner', async (t) => {
    const server = await startServer(t, unlimited)
    const { client_id: client } = await register(server)
    const flow = await authorize(server, { client })
    const replies = await Promise.all(Array.from({ length: 20 }, () => redeem(server, { ...flow, client })))
    assert.equal(replies.filter((reply) => reply.status === 200).length, 1)
    assert.equal(replies.filter((reply) => reply.body.error === 'invalid_grant').length, 19)
    assert.equal((await server.tokens.families()).length, 1)
  })

  it('a revocation wins against refreshes in flight, whenever it comes', async (t) => {
    const server = await startServer(t, unlimited)
    for (let round = 0; round < 10; round++) {
      const { client, tokens } = await connect(server)
      const refreshes = Array.from({ length: 6 }, () => refresh(server, client, tokens.refresh_token))
      const revocation = postForm(server, paths.revoke, { token: tokens.refresh_token, client_id: client })
      const replies = await Promise.all(refreshes)
      assert.equal((await revocation).status, 200)
      for (const reply of replies.filter((one) => one.status === 200)) {
        assert.equal((await callMcp(server, `Bearer ${reply.body.access_token}`)).status, 401)
        assert.equal((await refresh(server, client, reply.body.refresh_token)).body.error, 'invalid_grant')
      }
      const left = await server.tokens.list({ client })
      assert.deepEqual(
        left.filter((token) => token.status === 'Active'),
        [],
      )
    }
  })

  it('a revocation counts for the next request, cached or not', async (t) => {
    const server = await startServer(t, unlimited)
    const { tokens, client } = await connect(server)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
    await server.tokens.revoke({ client }, 'test')
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    // A look-up that began before a revocation and ended after it must not bring the token back.
    const other = await connect(server)
    const lookups = Array.from({ length: 20 }, () => server.tokens.find(other.tokens.access_token))
    await Promise.all([...lookups, server.tokens.revoke({ client: other.client }, 'test')])
    assert.equal((await server.tokens.find(other.tokens.access_token)).kind, 'inactive')
  })

  it('10 000 registrations leave a bounded state and a known client unharmed', async (t) => {
    const server = await startServer(t, {
      settings: { rate_limits: { enabled: false }, oauth: { max_clients: 300 } },
    })
    const known = await connect(server)
    const batch = 200
    for (let done = 0; done < 10_000; done += batch) {
      const description = {
        name: `App ${done}`,
        redirectUris: ['https://app.example/cb'],
        authMethod: 'none',
        grantTypes: ['authorization_code'],
        responseTypes: ['code'],
        metadata: {},
      } as const
      await Promise.all(
        Array.from({ length: batch }, () => server.clients.register(description, 'dynamic', async () => {})),
      )
    }
    await register(server)
    assert.ok((await server.clients.list()).length <= 300)
    assert.equal((await refresh(server, known.client, known.tokens.refresh_token)).status, 200)
  })

  it('a flood from one address is stopped, and the others may still register', async (t) => {
    const server = await startServer(t, {
      settings: { rate_limits: { register: { points: 5, seconds: 3600 } } },
    })
    const statuses: number[] = []
    for (let n = 0; n < 8; n++) {
      const reply = await postJson(server, { redirect_uris: ['https://app.example/cb'] })
      statuses.push(reply.status)
      if (reply.status === 429) assert.match(reply.headers.get('retry-after') ?? '', /^\d+$/)
    }
    assert.deepEqual(statuses, [201, 201, 201, 201, 201, 429, 429, 429])
    assert.deepEqual(server.limits.counts().register, { passed: 5, refused: 3 })
  })
})

describe('a token that is looked up while it is revoked', () => {
  it('does not get into the cache as it was before', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, tokens } = await connect(server)
    const reading = gate()
    const records = server.store.collection(tokenRecords)
    const first = records.first.bind(records)
    // The first look-up has read the token, and hands it on only when the gate opens.
    t.mock.method(
      records,
      'first',
      async (query: Query<AccessToken>) => {
        const token = await first(query)
        await reading.pass()
        return token
      },
      { times: 1 },
    )
    const slow = new Tokens({ ...server, onRevoked: () => {} })
    const found = slow.find(tokens.access_token)
    await reading.reached
    await slow.revoke({ client }, 'test')
    reading.open()
    assert.equal((await found).kind, 'active', 'it was read before')
    assert.equal((await slow.find(tokens.access_token)).kind, 'inactive')
  })
})

describe('a revocation', () => {
  it('counts when its transaction is kept, and not before or without', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, tokens } = await connect(server)
    server.ended.length = 0
    const revoking = server.store.transaction(async (tx) => {
      await server.tokens.revokeIn(tx, { client }, 'test')
      assert.deepEqual(server.ended, [])
      throw new Error('the rest of it failed')
    })
    await assert.rejects(revoking, /the rest of it failed/)
    assert.deepEqual(server.ended, [])
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 200)
    await server.store.transaction((tx) => server.tokens.revokeIn(tx, { client }, 'test'))
    assert.equal(server.ended.length, 1)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
  })
})

describe('every way of ending tokens', () => {
  it('tells what holds something open for them', async (t) => {
    const server = await startServer(t, unlimited)
    const expectTold = async (client: string, end: () => Promise<unknown>): Promise<void> => {
      server.ended.length = 0
      await end()
      assert.deepEqual(
        server.ended.map((one) => one.client),
        [client],
      )
    }
    const revoked = await connect(server)
    await expectTold(revoked.client, () => server.tokens.revoke({ client: revoked.client }, 'test'))
    const removed = await connect(server)
    await expectTold(removed.client, () => server.clients.remove(removed.client))
    const single = await connect(server)
    const fields = { token: single.tokens.access_token, client_id: single.client }
    await expectTold(single.client, () => postForm(server, paths.revoke, fields))
    const reused = await connect(server)
    await refresh(server, reused.client, reused.tokens.refresh_token)
    server.clock.pass(61)
    await expectTold(reused.client, () => refresh(server, reused.client, reused.tokens.refresh_token))
    const twice = await connect(server)
    await expectTold(twice.client, () => redeem(server, twice))
    server.clock.pass(1)
    const page = await connect(server)
    const apps = await page.browser.open(pages.connectedApps.path)
    await expectTold(page.client, () => page.browser.submit(apps, {}))
  })
})

interface Gate {
  readonly reached: Promise<void>
  readonly open: () => void
  /** Waits at the gate. */
  readonly pass: () => Promise<void>
}

function gate(): Gate {
  let [arrive, open] = [() => {}, () => {}]
  const reached = new Promise<void>((resolve) => (arrive = resolve))
  const opened = new Promise<void>((resolve) => (open = resolve))
  return {
    reached,
    open: () => open(),
    pass: () => {
      arrive()
      return opened
    },
  }
}
