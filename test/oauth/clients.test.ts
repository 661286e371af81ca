import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hash } from '@node-rs/argon2'
import { sha256 } from '#leaf/secrets.ts'
import { commandLineClient } from '../../src/oauth/clients/clients.ts'
import { clientRecords } from '../../src/oauth/records.ts'
import { paths, resourceOf } from '../../src/oauth/urls.ts'
import { authorize, callMcp, connect, postForm, redeem, refresh, register } from './browser.ts'
import { startServer } from './server.ts'

describe('clients', () => {
  it('get another secret, and the old one ends at once though it was just confirmed', async (t) => {
    const server = await startServer(t)
    const { client_id: client, client_secret: old } = await register(server, {
      token_endpoint_auth_method: 'client_secret_post',
    })
    const flow = await authorize(server, { client })
    const { body } = await redeem(server, { ...flow, client }, { client_secret: old })
    const { secret } = await server.clients.rotateSecret(client)
    const before = await refresh(server, client, body.refresh_token, { client_secret: old })
    assert.equal(before.status, 401)
    assert.equal((await refresh(server, client, body.refresh_token, { client_secret: secret })).status, 200)
    const { client_id: open } = await register(server)
    await assert.rejects(server.clients.rotateSecret(open), { code: 'invalid' })
    await assert.rejects(server.clients.rotateSecret('nobody'), { code: 'not_found' })
    await assert.rejects(server.clients.update('nobody', { name: 'x' }), { code: 'not_found' })
  })

  it('are known by a secret that an older version hashed slowly, and slowly only once', async (t) => {
    const server = await startServer(t)
    const { client_id: client, client_secret: secret = '' } = await register(server, {
      token_endpoint_auth_method: 'client_secret_post',
    })
    const records = server.store.collection(clientRecords)
    const keep = async (slow: string): Promise<void> => {
      await records.update(client, (one) => ({ ...one, secretHash: slow, secretDigest: 'of before' }))
    }
    const old = await hash(secret)
    await keep(old)
    const digest = async (): Promise<string | undefined> => (await server.clients.find(client))?.secretDigest
    const ask = (client_secret: string) =>
      postForm(server, paths.introspect, { client_id: client, client_secret, token: 'x' })
    assert.equal((await ask(`${secret}x`)).status, 401)
    assert.equal((await ask(old)).status, 401)
    assert.equal(await digest(), 'of before')
    assert.equal((await ask(secret)).status, 200)
    assert.equal(await digest(), sha256(`${old} ${secret}`))
    // A daemon that is not updated yet reads what it knows.
    assert.equal((await server.clients.find(client))?.secretHash, old)
    assert.equal((await ask(secret)).status, 200)
    // Whoever reads the state cannot use what stands there.
    assert.equal((await ask(sha256(`${old} ${secret}`))).status, 401)
    assert.equal((await ask(`${secret}x`)).status, 401)

    // Such a daemon gives it another secret: the one before ends here as well.
    await keep(await hash('ac_cs_another'))
    assert.equal((await ask(secret)).status, 401)
    assert.equal((await ask('ac_cs_another')).status, 200)
    const { secret: third } = await server.clients.rotateSecret(client)
    assert.equal((await ask('ac_cs_another')).status, 401)
    assert.equal((await ask(third)).status, 200)
    assert.equal((await server.clients.find(client))?.secretHash, undefined)
  })

  it('change, and the change counts for the next request', async (t) => {
    const server = await startServer(t)
    const { client_id: client } = await register(server)
    await server.clients.update(client, { redirectUris: ['https://new.example/cb'] })
    assert.equal((await authorize(server, { client })).page.status, 400)
    assert.equal(
      (await authorize(server, { client, redirectUri: 'https://new.example/cb' })).page.status,
      302,
    )
  })

  it('are gone with all their tokens when they are removed', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const other = await connect(server)
    assert.equal(await server.clients.remove(client), true)
    assert.equal(await server.clients.remove(client), false)
    assert.equal((await callMcp(server, `Bearer ${tokens.access_token}`)).status, 401)
    assert.equal((await callMcp(server, `Bearer ${other.tokens.access_token}`)).status, 200)
    assert.equal((await server.grants.list()).length, 1)
  })

  it('are not taken for idle by a clock that jumps', async (t) => {
    const server = await startServer(t)
    const { client } = await connect(server)
    server.clock.pass(400 * 86_400)
    assert.deepEqual(await server.clients.prune(), [])
    assert.ok((await server.clients.list()).some(({ id }) => id === client))
  })

  it('have one of the program own, for tokens from the command line, which cannot be authorized', async (t) => {
    const server = await startServer(t)
    const { id, name } = commandLineClient
    const issued = await server.tokens.issue({
      user: 'sales@example.com',
      client: id,
      clientName: name,
      scopes: ['all'],
      resource: resourceOf(server.url),
      accessSeconds: 120,
    })
    assert.equal(issued.expiresIn, 120)
    const next = await refresh(server, id, issued.refreshToken!)
    assert.equal(next.status, 200)
    assert.equal(next.body.expires_in, 120, 'the lifetime holds for what follows')
    assert.equal((await callMcp(server, `Bearer ${next.body.access_token}`)).status, 200)
    assert.equal((await authorize(server, { client: id })).page.status, 400)
    assert.equal((await server.clients.list()).length, 0)
  })

  it('are noted as used by codes and by refreshes at most once an hour', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const used = async (): Promise<number | undefined> => (await server.clients.find(client))?.lastUsedAt
    const first = await used()
    assert.equal(first, server.clock.now())
    server.clock.pass(59 * 60)
    const later = await connect(server, { client })
    assert.equal((await refresh(server, client, tokens.refresh_token)).status, 200)
    assert.equal(await used(), first)
    server.clock.pass(60)
    await connect(server, { client })
    assert.equal(await used(), server.clock.now())
    server.clock.pass(3600)
    assert.equal((await refresh(server, client, later.tokens.refresh_token)).status, 200)
    assert.equal(await used(), server.clock.now())
  })

  it('with an empty Basic password count as public ones', async (t) => {
    const server = await startServer(t)
    const { client, tokens } = await connect(server)
    const header = { Authorization: `Basic ${Buffer.from(`${client}:`).toString('base64')}` }
    const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    assert.equal((await postForm(server, paths.token, fields, header)).status, 200)
    const secret = await postForm(server, paths.token, { ...fields, client_id: client, client_secret: 'x' })
    assert.equal(secret.status, 401, 'a public client has no secret')
  })
})

describe('usage', () => {
  it('is counted by day, survives a flush, forgets after a month, and is known by the last address', async (t) => {
    const server = await startServer(t)
    server.usage.count('a', '192.0.2.1')
    server.usage.count('a', '192.0.2.2')
    const told = (from: string, calls: number) => ({ lastUsedAt: server.clock.now(), from, calls })
    assert.deepEqual(await server.usage.of(['a']), told('192.0.2.2', 2))
    await server.usage.flush()
    assert.deepEqual(await server.usage.of(['a']), told('192.0.2.2', 2))
    server.clock.pass(86_400)
    server.usage.count('a', '192.0.2.3')
    assert.deepEqual(await server.usage.of(['a', 'b']), told('192.0.2.3', 3))
    server.clock.pass(28.5 * 86_400)
    server.usage.count('a', '192.0.2.1')
    await server.usage.flush()
    assert.equal((await server.usage.of(['a'])).calls, 2)
    assert.deepEqual(await server.usage.of(['nothing']), { calls: 0 })
  })
})

describe('rate limits', () => {
  it('have budgets of their own by kind and key, follow the settings, and can be off', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { token: { points: 2, seconds: 60 } } } })
    const { limits } = server
    const from = (key: string) => ({ address: '192.0.2.1', key })
    assert.equal(await limits.secondsToWait('token', from('a')), 0)
    assert.equal(await limits.secondsToWait('token', from('a')), 0)
    assert.ok((await limits.secondsToWait('token', from('a'))) > 0)
    assert.equal(await limits.secondsToWait('token', from('b')), 0)
    assert.equal(await limits.secondsToWait('register', from('a')), 0)
    assert.equal(
      await limits.secondsToWait('token', { ...from('a'), times: 10 }),
      0,
      'a wider budget is another',
    )
    limits.pay('register', from('c'), 5990)
    assert.equal(await limits.secondsToWait('register', from('c')), 0, 'one of 600 was left')
    assert.ok((await limits.secondsToWait('register', from('c'))) > 0, 'a point for each ten milliseconds')
    assert.equal(await limits.secondsToWait('register', from('a')), 0)
    await assert.rejects(limits.take('token', from('a')), {
      code: 'temporarily_unavailable',
      status: 429,
    })
    server.change({ rate_limits: { enabled: false } })
    assert.equal(await limits.secondsToWait('token', from('a')), 0)
  })

  it('are shared by the addresses of one IPv6 network', async (t) => {
    const { limits } = await startServer(t, {
      settings: { rate_limits: { register: { points: 2, seconds: 60 } } },
    })
    const from = (address: string) => limits.secondsToWait('register', { address })
    assert.equal(await from('2001:db8:0:5::1'), 0)
    assert.equal(await from('2001:db8:0:5::2'), 0)
    assert.ok((await from('2001:db8:0:5:ffff::3')) > 0)
    assert.equal(await from('2001:db8:0:6::1'), 0)
  })

  it('stop one client at one address and not the others there', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { token: { points: 3, seconds: 60 } } } })
    const ask = async (client: string) => refresh(server, client, 'x')
    for (let n = 0; n < 3; n++) assert.equal((await ask('one')).status, 401)
    const over = await ask('one')
    assert.equal(over.status, 429)
    assert.match(over.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal((await ask('two')).status, 401)
    for (let n = 0; n < 40; n++) await ask(`made-up-${n}`)
    assert.equal((await ask('made-up-99')).status, 429, 'the address has a budget as well')
  })
})
