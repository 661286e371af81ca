import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { systemClock } from '../../src/core/clock.ts'
import type { Settings } from '../../src/core/settings.ts'
import { Tokens } from '../../src/oauth/tokens.ts'
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
})
