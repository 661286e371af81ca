import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import type { Settings } from '../../src/core/settings.ts'
import { readParams } from '../../src/oauth/protocol.ts'
import { Tokens } from '../../src/oauth/tokens.ts'
import { Trace, type Attempt } from '../../src/oauth/trace.ts'
import { openPostgresStore } from '../../src/store/postgres.ts'
import { silent } from '../documents/trading-company.ts'
import { noPostgres, startPostgres } from '../helpers/postgres.ts'

describe('what is announced in a shared database', { skip: noPostgres ?? false }, () => {
  it('may come from anybody who can connect to it: what makes no sense ends streams, and never the daemon', async (t) => {
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
    const senseless = ['{', '5', 'null', '[null]', '[{"user":1}]', '{"length":1}', '*']
    for (const text of senseless) await stranger.query(`NOTIFY assistant_core, 'tokens.revoked ${text}'`)
    await stranger.query(`NOTIFY assistant_core, 'something else'`)
    const known = [{ user: 'user@example.com', client: 'client-1' }]
    await stranger.query(`NOTIFY assistant_core, 'tokens.revoked ${JSON.stringify(known)}'`)
    await stranger.end()
    while (ended.length <= senseless.length) await wait(20)
    assert.deepEqual(await tokens.list(), [])
    assert.deepEqual(ended, [...senseless.map(() => undefined), known])
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
