import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import type { Settings } from '../../src/core/settings.ts'
import { readParams } from '#ui/requests.ts'
import type { Principal } from '../../src/core/principal.ts'
import { revokedAmong } from '../../src/oauth/tokens/revocation-news.ts'
import { Tokens } from '../../src/oauth/tokens/tokens.ts'
import { Trace, type Attempt } from '../../src/oauth/trace.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { silent } from '../documents/trading-company.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'
import type { ApiKey } from '#credentials/api-keys.ts'
import { startServer } from './server.ts'

describe('what is announced in a shared database', { skip: noPostgres ?? false }, () => {
  it('may come from anybody who can connect to it: only that something may have ended is taken from it', async (t) => {
    const postgres = await startPostgres(t)
    const url = await postgres.newDatabase()
    const store = await openPostgresStore({ url, clock: systemClock, log: silent })
    t.after(() => store.close())
    const ended: unknown[] = []
    const tokens = new Tokens({
      store,
      clock: systemClock,
      settings: () => ({}) as Settings,
      onRevoked: (families) => void ended.push(families),
    })
    await postgres.admin.query('CREATE ROLE stranger LOGIN')
    const address = new URL(url)
    address.username = 'stranger'
    const stranger = new Client({ connectionString: address.href })
    await stranger.connect()
    const known = [{ user: 'user@example.com', client: 'client-1' }]
    for (const text of ['{', '5', '[null]', '*', JSON.stringify(known)])
      await stranger.query(`NOTIFY assistant_core, 'tokens.revoked ${text}'`)
    await stranger.query(`NOTIFY assistant_core, 'something else'`)
    await stranger.end()
    while (ended.length < 1) await wait(20)
    await store.transaction(async (transaction) =>
      transaction.announce(`tokens.revoked ${JSON.stringify(known)}`),
    )
    while (!ended.some((families) => families !== undefined)) await wait(20)
    assert.deepEqual(await tokens.list(), [])
    assert.deepEqual(
      ended.filter((families) => families !== undefined),
      [known],
    )
  })

  it('is looked up where it is not known whose tokens ended: the others stay', async (t) => {
    const { tokens, apiKeys, clock } = await startServer(t)
    const issue = async (user: string, client: string) => {
      const request = { user, client, clientName: client, scopes: ['all'], resource: 'r' }
      const { accessToken } = await tokens.issue(request)
      // No two tokens of a client end at one moment.
      clock.pass(1)
      const found = await tokens.find(accessToken)
      assert.ok('token' in found)
      const { expiresAt } = found.token
      const principal = { user, client: { id: client, name: client }, expiresAt } as unknown as Principal
      return { token: found.token, principal }
    }
    const [one, two, other] = [
      await issue('ann', 'app'),
      await issue('ann', 'app'),
      await issue('bob', 'app'),
    ]
    const [{ key }, { key: ended }] = [
      await apiKeys.create({ user: 'sales@example.com' }),
      await apiKeys.create({ user: 'sales@example.com' }),
    ]
    const by = ({ user, id }: ApiKey) => ({ user, apiKey: id }) as unknown as Principal
    const session = { user: 'ann' } as unknown as Principal
    const ofKey = by(ended)
    const held = [one.principal, two.principal, other.principal, session, by(key), ofKey]
    const known = {
      tokensOf: (user: string) => tokens.list({ user }),
      keysOf: (user: string) => apiKeys.list(user),
    }
    assert.deepEqual(await revokedAmong(held, known), new Set())
    await tokens.revokeAccessToken(one.token)
    assert.deepEqual(await revokedAmong(held, known), new Set([one.principal]))
    await tokens.revoke({ user: 'bob' }, 'gone')
    assert.deepEqual(await revokedAmong(held, known), new Set([one.principal, other.principal]))
    await apiKeys.revoke(ended.id)
    assert.deepEqual(await revokedAmong(held, known), new Set([one.principal, other.principal, ofKey]))
  })

  it('tells every daemon how far an attempt came, and only the last word on whether it died', async (t) => {
    const postgres = await startPostgres(t)
    const url = await postgres.newDatabase()
    const open = async (): Promise<Trace> => {
      const store = await openPostgresStore({ url, clock: systemClock, log: silent })
      t.after(() => store.close())
      return new Trace({ clock: systemClock, store })
    }
    const [one, other] = [await open(), await open()]
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds()) await wait(20)
    }
    const id = one.begin(readParams(new URLSearchParams({ client_id: 'app', state: '1' })))
    one.step(id, 'request accepted')
    one.fail(id, 'consent', 'access_denied')
    await until(() => other.last(1)[0]?.died_at === 'consent')
    await wait(2)
    other.step(id, 'tokens issued')
    await until(() => one.last(1)[0]?.steps.at(-1) === 'tokens issued')
    for (const trace of [one, other]) {
      const [{ steps, died_at, reason, client }] = trace.last(1) as [Attempt]
      assert.deepEqual(
        [steps, died_at, reason, client],
        [['request accepted', 'tokens issued'], undefined, undefined, 'app'],
      )
    }
    const made = { id: 'x', started: '0', updated: '0', client: 'c', steps: [] }
    for (const text of ['{', 'null', '{}', JSON.stringify({ ...made, user: {} }), '{"steps":[1]}'])
      await postgres.admin.query(`NOTIFY assistant_core, 'attempt ${text}'`)
    for (let index = 0; index < 300; index++) one.step(`elsewhere-${index}`, 'sign-in page')
    await until(() => other.last(1)[0]?.id === 'elsewhere-299')
    assert.deepEqual([one.last(1000).length, other.last(1000).length], [200, 200])
    assert.ok(![...one.last(1000), ...other.last(1000)].some((attempt) => attempt.id === 'x'))
  })
})
