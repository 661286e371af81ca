/** The connections of a server that daemons share: each takes what is left for it, and waits where none is. */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '#leaf/clock.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import type { Stored } from '#state/store.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { afterwards, testLog, until } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

describe('the connections of a database', { skip: noPostgres }, () => {
  const server = suitePostgres()
  before(async () => {
    await server.admin.query('ALTER SYSTEM SET max_connections = 23')
    await server.admin.query('CREATE ROLE service LOGIN')
    await server.stop()
    await server.start()
  })

  /** A new database of a role that gets none of the connections that superusers keep. */
  async function newDatabase(): Promise<URL> {
    const url = new URL(await server.newDatabase())
    await server.admin.query(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO service`)
    url.username = 'service'
    return url
  }

  it('are divided by the daemons, whose writes wait in turn', { timeout: 60_000 }, async (t) => {
    const { href: url } = await newDatabase()
    const stores: PostgresStore[] = []
    for (let n = 0; n < 4; n++) {
      stores.push(await openPostgres(t, url, { lookMilliseconds: 100 }))
    }
    // Of the twenty that the server gives: four for each, with the one that listens.
    await until(() => stores.every((store) => store.stats().connections?.most === 4))
    const { given, daemons } = stores[0]!.stats().connections!
    assert.deepEqual([given, daemons], [20, 4])
    const all = stores.map((store) => store.collection<Stored>({ name: 'test.note' }))
    const writes = Array.from({ length: 80 }, (_, n) => all[n % 4]!.insert({ id: `n${n}` }))
    await Promise.all(writes)
    assert.equal(await all[0]!.count(), 80)
    await until(() => stores.every((store) => store.stats().connections!.open <= 4))
    await stores.pop()!.close()
    await until(() => stores.every((store) => store.stats().connections?.most === 6))
  })

  it('are waited for by a daemon that starts, and not for ever', { timeout: 60_000 }, async (t) => {
    const { href: url } = await newDatabase()
    const taken: Client[] = []
    for (;;) {
      const client = new Client(url)
      client.on('error', () => undefined)
      try {
        await client.connect()
      } catch {
        break
      }
      taken.push(client)
    }
    afterwards(t, async () => void (await Promise.all(taken.map((client) => client.end()))))
    const options = { url, clock: systemClock, log: testLog() }
    await assert.rejects(openPostgresStore({ ...options, startMilliseconds: 0 }), /no connection left/)
    let isOpen = false
    const opening = openPostgresStore(options).then((store) => {
      isOpen = true
      return store
    })
    await until(async () => (await server.admin.query('SELECT 1')).rows.length === 1)
    assert.equal(isOpen, false)
    for (const client of taken.splice(0)) await client.end()
    await (await opening).close()
  })
})
