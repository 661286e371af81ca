import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sha256 } from '#leaf/secrets.ts'
import { callMcp, connect, redeem, refresh } from './browser.ts'
import { startServer, type TestServer } from './server.ts'
import { type AccessToken, familyRecords, tokenRecords } from '../../src/oauth/records.ts'

const unlimited = { settings: { rate_limits: { enabled: false } } }

describe('very many tokens', () => {
  it('of one user end all, a batch at a time between which others have their turns', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, tokens, user } = await connectedUser(server)
    const [family] = await server.tokens.families({ client })
    const { scopes, resource, clientName, grant } = family!
    const request = { user, client, clientName, grant, scopes, resource }
    const count = 2000
    await server.store.transaction(async (tx) => {
      for (let n = 0; n < count; n++) await server.tokens.issueIn(tx, request)
      await server.tokens.issueIn(tx, { ...request, user: 'other@example.com' })
    })
    const { turns, result: ended } = await turnsOf(() => server.tokens.revoke({ user }, 'test'))
    assert.ok(turns >= 10, `${turns} turns`)
    assert.equal(ended.length, count + 1)
    assert.equal(new Set(ended.map(({ id }) => id)).size, ended.length, 'each once')
    assert.ok((await server.tokens.families({ user })).every(({ revokedAt }) => revokedAt !== undefined))
    assert.ok((await server.tokens.list({ user })).every(({ status }) => status === 'Revoked'))
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await refresh(server, client, tokens.refresh_token)).body.error, 'invalid_grant')
    assert.deepEqual(await server.grants.list({ user }), [])
    const [others] = await server.tokens.list({ user: 'other@example.com' })
    assert.equal(others!.status, 'Active')
  })

  it('of one family, as an older release kept them, end a batch at a time, and so do those of many families', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, tokens, user } = await connectedUser(server)
    const [family] = await server.tokens.families({ client })
    const [token] = await server.tokens.list({ client })
    const { scopes, resource, clientName } = family!
    const many = async (of: string): Promise<void> => keepAsOlderRelease(server, { ...token!, family: of })
    const isOver = async (): Promise<boolean> =>
      (await server.tokens.list({ user })).every(({ status }) => status === 'Revoked')

    await many(family!.id)
    const one = await turnsOf(() => server.tokens.revoke({ family: family!.id }, 'test'))
    assert.ok(one.turns >= 10, `${one.turns} turns`)
    assert.deepEqual(
      one.result.map(({ id }) => id),
      [family!.id],
    )
    assert.ok(await isOver())
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await refresh(server, client, tokens.refresh_token)).body.error, 'invalid_grant')

    const request = { user, client, clientName, scopes, resource }
    for (let n = 0; n < 3; n++) await many((await server.tokens.issue(request)).family.id)
    const all = await turnsOf(() => server.tokens.revoke({ all: true }, 'test'))
    assert.ok(all.turns >= 30, `${all.turns} turns`)
    assert.equal(all.result.length, 3)
    assert.ok(await isOver())
  })

  for (const [name, act] of Object.entries({
    'a refresh token is used twice': async (server, { client, tokens }) => {
      assert.equal((await refresh(server, client, tokens.refresh_token)).status, 200)
      server.clock.pass(1800)
      assert.equal((await refresh(server, client, tokens.refresh_token)).body.error, 'invalid_grant')
    },
    'its code is used twice': async (server, connected) => {
      assert.equal((await redeem(server, connected)).body.error, 'invalid_grant')
    },
    'its user narrows the approval': async (server, { client, browser }) => {
      const narrow = await connect(server, { client, browser, fields: { reading: '1' } })
      assert.equal((await callMcp(server, `Bearer ${narrow.tokens.access_token}`)).status, 200)
      assert.equal((await server.grants.list({ client })).length, 1)
    },
  } satisfies Record<string, (server: TestServer, connected: Connected) => Promise<void>>))
    it(`of one family, as an older release kept them, work no more from the moment that ${name}, and end in batches`, async (t) => {
      const server = await startServer(t, unlimited)
      const connected = await connectedUser(server)
      const [family] = await server.tokens.families({ client: connected.client })
      const [token] = await server.tokens.list({ client: connected.client })
      await keepAsOlderRelease(server, token!)
      let n = 0
      const next = async () => (await server.tokens.find(`${family!.id} ${n++}`)).kind
      assert.equal(await next(), 'active')
      const left = new Set<number>()
      const over = new AbortController()
      const looking = (async () => {
        while (!over.signal.aborted) {
          await setImmediate()
          const [now] = await server.store.collection(familyRecords).find({ where: { id: family!.id } })
          if (now!.revokedAt === undefined) continue
          assert.equal(await next(), 'inactive')
          left.add(await activeOf(server, family!.id))
        }
      })()
      await act(server, connected).finally(() => over.abort())
      await looking
      assert.ok(left.size > 3, `counted while they ended: ${[...left].join()}`)
      assert.equal(await activeOf(server, family!.id), 0)
      assert.equal((await callMcp(server, `Bearer ${connected.tokens.access_token}`)).status, 401)
    })

  it('of an ended family, left by a daemon that was interrupted, work no more and end when it is done again', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, user } = await connectedUser(server)
    const [token] = await server.tokens.list({ client })
    await keepAsOlderRelease(server, token!)
    await server.store.transaction(async (tx) => server.tokens.revokeIn(tx, { user }, 'test'))
    assert.equal(await activeOf(server, token!.family), 2000)
    assert.equal((await server.tokens.find(`${token!.family} 7`)).kind, 'inactive')
    assert.deepEqual(await server.tokens.revoke({ user }, 'test'), [], 'the family ended before')
    assert.equal(await activeOf(server, token!.family), 0)
  })

  it('of one family are the last hundred, however often it is refreshed', async (t) => {
    const server = await startServer(t, unlimited)
    const { client, tokens } = await connect(server)
    const issued = [tokens.access_token]
    for (let next = tokens.refresh_token, n = 0; n < 110; n++) {
      const { status, body } = await refresh(server, client, next)
      assert.equal(status, 200)
      next = body.refresh_token
      issued.push(body.access_token)
    }
    assert.equal((await server.tokens.list({ client })).length, 100)
    assert.equal((await callMcp(server, `Bearer ${issued[0]!}`)).status, 401)
    for (const token of issued.slice(-100))
      assert.equal((await server.tokens.find(token)).kind, 'active', 'each of the last hundred works')
  })
})

/** Does something, and tells in how many turns of the event loop. */
async function turnsOf<R>(work: () => Promise<R>): Promise<{ readonly turns: number; readonly result: R }> {
  let turns = 0
  let isOver = false
  const look = (): void => {
    turns++
    if (!isOver) globalThis.setImmediate(look)
  }
  globalThis.setImmediate(look)
  const result = await work()
  isOver = true
  return { turns, result }
}

async function connectedUser(server: TestServer) {
  const connected = await connect(server)
  const [token] = await server.tokens.list({ client: connected.client })
  return { ...connected, user: token!.user }
}

type Connected = Awaited<ReturnType<typeof connectedUser>>

/** Older releases named their tokens otherwise, and kept all that came of refreshes. */
async function keepAsOlderRelease(server: TestServer, token: AccessToken): Promise<void> {
  await server.store.transaction(async (tx) => {
    const stored = tx.in(server.store.collection(tokenRecords))
    for (let n = 0; n < 2000; n++)
      await stored.put({ ...token, id: `${n} of ${token.family}`, hash: sha256(`${token.family} ${n}`) })
  })
}

function activeOf(server: TestServer, family: string): Promise<number> {
  return server.store.collection(tokenRecords).count({ where: { family, status: 'Active' } })
}
