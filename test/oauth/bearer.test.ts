/** Who is let in by what they present, row by row; and who still is, later, in what outlives a request. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Principal } from '../../src/core/principal.ts'
import { type ClientLimits, currentPrincipal } from '../../src/oauth/acting.ts'
import { resourceOf } from '../../src/oauth/urls.ts'
import { peopleOf, type User } from '../../src/users/people.ts'
import { callMcp } from './browser.ts'
import { makeUser, startServer, type TestServer } from './server.ts'

const id = 'sales@example.com'
const client = 'app-a'

/** A token and an API key of the same user. */
async function credentialsOf(
  server: TestServer,
  addresses?: readonly string[],
): Promise<readonly [string, string]> {
  const from = addresses && { addresses }
  const asked = {
    user: id,
    client,
    clientName: 'A',
    scopes: ['all'],
    resource: resourceOf(server.url),
    ...from,
  }
  const { accessToken } = await server.tokens.issue(asked)
  const { key, secret } = await server.apiKeys.create({ user: id, ...from })
  return [`Bearer ${accessToken}`, `token ${key.id}:${secret}`]
}

async function seen(
  server: TestServer,
  credential: string,
): Promise<readonly [status: number, body: Record<string, unknown>]> {
  const reply = await callMcp(server, credential)
  return [reply.status, (await reply.json()) as Record<string, unknown>]
}

describe('a token and an API key', () => {
  const rows: readonly {
    readonly says: string
    readonly user?: Partial<User>
    readonly addresses?: readonly string[]
    readonly status: number
    readonly why?: RegExp
  }[] = [
    { says: 'let in their user', status: 200 },
    {
      says: 'let in from the networks that they are for',
      addresses: ['127.0.0.0/8', '::1/128'],
      status: 200,
    },
    {
      says: 'let nobody in from elsewhere',
      addresses: ['192.0.2.0/24'],
      status: 401,
      why: /may not be used from this address/,
    },
    {
      says: 'let in no user who is disabled, whatever else the user may',
      user: { enabled: false },
      status: 401,
      why: /the user of the access token is disabled/,
    },
    {
      says: 'let in no user whose assistant is off',
      user: { assistantEnabled: false },
      status: 403,
      why: /assistant access is not enabled/,
    },
    {
      says: 'let in no user without the role for it',
      user: { roles: new Set(['Sales User']) },
      status: 403,
      why: /lacks the role Assistant User/,
    },
  ]
  for (const { says, user, addresses, status, why } of rows)
    it(says, async (t) => {
      const server = await startServer(t)
      const credentials = await credentialsOf(server, addresses)
      if (user) server.setUsers([makeUser(id, user)])
      for (const credential of credentials) {
        const [found, body] = await seen(server, credential)
        assert.equal(found, status, credential.slice(0, 6))
        if (why) assert.match(String(body['message']), why)
        else assert.equal(body['user'], id)
      }
      await server.usage.close()
      const used = await server.usage.of([`key:${credentials[1].slice('token '.length).split(':')[0]}`])
      assert.equal(used.calls, status === 200 ? 1 : 0, 'only what was let in is counted as used')
      const why_ = status === 401 ? /bearer refused/ : /bearer forbidden/
      if (why) assert.match(server.logged.join(''), why_)
      for (const credential of credentials)
        assert.ok(!server.logged.join('').includes(credential.split(/[ :]/).at(-1)!))
    })
})

describe('an API key', () => {
  it('lets nobody in without its own secret, nor after its end, which the principal knows', async (t) => {
    const server = await startServer(t)
    const [mine, other] = [
      await server.apiKeys.create({ user: id, seconds: 60 }),
      await server.apiKeys.create({ user: id }),
    ]
    const credential = `token ${mine.key.id}:${mine.secret}`
    const refused = async (presented: string, why: RegExp): Promise<void> => {
      const [status, body] = await seen(server, presented)
      assert.deepEqual([status, body['error']], [401, 'invalid_token'], presented.slice(0, 30))
      assert.match(String(body['message']), why)
    }
    await refused(`token ${mine.key.id}:${other.secret}`, /the API key is unknown/)
    await refused(`token nobody:${mine.secret}`, /the API key is unknown/)
    await refused(`token ${mine.secret}`, /is not "token API_KEY:API_SECRET"/)
    const [status, { expiresAt, readOnly, client: through, scopes }] = await seen(server, credential)
    assert.deepEqual(
      [status, expiresAt, readOnly, through, scopes],
      [200, mine.key.expiresAt, undefined, undefined, ['all']],
    )
    server.clock.pass(61)
    await refused(credential, /the API key has expired/)
  })
})

describe('a token', () => {
  it('gives the principal its client and scopes, when it ends, and that it may only read', async (t) => {
    const server = await startServer(t)
    const asked = { user: id, client, clientName: 'A', scopes: ['all'], resource: resourceOf(server.url) }
    for (const narrowed of [{ readOnly: true } as const, {}]) {
      const { accessToken, expiresIn } = await server.tokens.issue({ ...asked, ...narrowed })
      const [status, body] = await seen(server, `Bearer ${accessToken}`)
      const { readOnly, client: through, scopes, expiresAt } = body
      assert.deepEqual(
        [status, readOnly, through, scopes, expiresAt],
        [200, narrowed.readOnly, { id: client, name: 'A' }, ['all'], server.clock.now() + expiresIn * 1000],
      )
    }
  })
})

describe('a call beyond the rate of its client', () => {
  it('is answered 429 and goes no further, and one of an API key of the same user does', async (t) => {
    const server = await startServer(t, { settings: { rate_limits: { mcp: { points: 2, seconds: 60 } } } })
    const [token, key] = await credentialsOf(server)
    for (let call = 0; call < 2; call++) assert.equal((await seen(server, token))[0], 200)
    const reply = await callMcp(server, token)
    assert.deepEqual([reply.status, reply.headers.get('retry-after')], [429, '60'])
    assert.deepEqual(await reply.json(), {
      error: 'rate_limited',
      message: 'too many requests; try again in 60 seconds',
    })
    assert.equal((await seen(server, key))[0], 200)
  })
})

describe('the limits of a client', () => {
  it('hold for its tokens from the moment that they change, and for no API key', async (t) => {
    let limits: ReturnType<ClientLimits>
    const server = await startServer(t, { clientLimits: (of) => (of === client ? limits : undefined) })
    const [token, key] = await credentialsOf(server)
    const rolesOf = async (credential: string): Promise<unknown> =>
      (await seen(server, credential))[1]['roles']
    const all = ['Assistant User', 'Sales User']
    assert.deepEqual(await rolesOf(token), all)
    limits = { roles: ['Assistant User'], tools: ['get_*'] }
    assert.deepEqual(await rolesOf(token), ['Assistant User'])
    assert.deepEqual((await seen(server, token))[1]['toolLimit'], ['get_*'])
    assert.deepEqual(await rolesOf(key), all)
    limits = { roles: ['Sales User'] }
    assert.equal((await seen(server, token))[0], 403)
    limits = undefined
    assert.deepEqual(await rolesOf(token), all)
  })
})

describe('what outlives its request', () => {
  const before: Principal = {
    user: id,
    fullName: 'sales',
    roles: new Set(['Assistant User', 'Sales User', 'Former Role']),
    roleKey: 'before',
    client: { id: client, name: 'A' },
    scopes: ['all'],
    readOnly: true,
    toolLimit: ['before'],
    requestId: 'request',
    expiresAt: 7,
  }
  const rows: readonly {
    readonly says: string
    readonly user?: Partial<User> | 'gone'
    readonly limits?: ReturnType<ClientLimits>
    readonly roles?: readonly string[]
    readonly tools?: readonly string[]
  }[] = [
    { says: 'goes on with the roles of now', roles: ['Assistant User', 'Sales User'] },
    { says: 'ends with its user', user: 'gone' },
    { says: 'ends when the user is disabled', user: { enabled: false } },
    { says: 'ends when the assistant of the user is turned off', user: { assistantEnabled: false } },
    { says: 'ends when the user loses the role for it', user: { roles: new Set(['Sales User']) } },
    {
      says: 'goes on within what its client may by now',
      limits: { roles: ['Assistant User'], tools: ['get_*'] },
      roles: ['Assistant User'],
      tools: ['get_*'],
    },
    { says: 'ends when its client may not use that role any more', limits: { roles: ['Sales User'] } },
  ]
  for (const { says, user, limits, roles, tools } of rows)
    it(says, () => {
      const users = new Map(user === 'gone' ? [] : [[id, makeUser(id, user)]])
      const deps = {
        people: () => peopleOf({ users, roles: new Map() }),
        clientLimits: (of: string) => (of === client ? limits : undefined),
      }
      const now = currentPrincipal(deps, before)
      if (!roles) return assert.equal(now, undefined)
      assert.deepEqual([...now!.roles], roles)
      assert.deepEqual(now!.toolLimit, tools)
      assert.notEqual(now!.roleKey, before.roleKey)
      const { user: same, client: through, scopes, readOnly, requestId, expiresAt } = now!
      const kept = {
        user: id,
        client: before.client,
        scopes: ['all'],
        readOnly: true,
        requestId: 'request',
        expiresAt: 7,
      }
      assert.deepEqual({ user: same, client: through, scopes, readOnly, requestId, expiresAt }, kept)
    })
})
