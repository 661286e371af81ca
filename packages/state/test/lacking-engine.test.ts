/**
 * A server that lacks what engines lack that only speak PostgreSQL's language: LISTEN, LOCK TABLE and advisory locks. The
 * store does without, and does the same.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Client } from 'pg'
import { type PostgresStore } from '#state/postgres/store.ts'
import type { Stored } from '#state/store.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../../../test/helpers/postgres.ts'
import { startSlowProxy } from '../../../test/helpers/slow-proxy.ts'
import { storeContract } from './contract.ts'
import { openPostgres } from './open-postgres.ts'
import { afterwards, until } from './state-folder.ts'

interface Counter extends Stored {
  readonly n: number
}

const counters = { name: 'test.counter', contended: true } as const
const notes = { name: 'test.note', indexes: ['n'] } as const
const without = { locking: 'rows', announcements: 'polled' } as const

let server: TestPostgres

describe('a server that lacks LISTEN and locks', { skip: noPostgres, timeout: 300_000 }, () => {
  server = suitePostgres()

  storeContract('a lacking', async (t) => {
    const url = await server.newDatabase()
    return (clock) => openPostgres(t, url, { clock, ...without })
  })

  it('keeps a series of several daemons without a gap, and each of them hears the others', async (t) => {
    const url = await server.newDatabase()
    const stores = await Promise.all([1, 2, 3].map(() => openPostgres(t, url, without)))
    const heard = stores.map((store) => {
      const texts: (string | undefined)[] = []
      store.hear((text) => void texts.push(text))
      return texts
    })
    const takeNumber = async (store: PostgresStore, n: number): Promise<void> => {
      const [series, all] = [store.collection<Counter>(counters), store.collection<Counter>(notes)]
      const work = async (tx: Parameters<Parameters<PostgresStore['transaction']>[0]>[0]): Promise<void> => {
        const next = ((await tx.in(series).get('s'))?.n ?? 0) + 1
        await tx.in(series).put({ id: 's', n: next })
        await tx.in(all).insert({ id: `${next}`, n })
        tx.announce(`taken ${next}`)
      }
      await store.transaction(work, { reads: [[series, 's']] })
    }
    const each = 20
    await Promise.all(stores.flatMap((store) => Array.from({ length: each }, (_, n) => takeNumber(store, n))))
    const found = await stores[0]!.collection<Counter>(notes).find()
    const numbers = Array.from({ length: each * stores.length }, (_, at) => at + 1)
    assert.deepEqual(
      found.map(({ id }) => Number(id)).sort((a, b) => a - b),
      numbers,
    )
    const expected = numbers.map((n) => `taken ${n}`).sort()
    for (const texts of heard) {
      await until(() => texts.length >= expected.length)
      assert.deepEqual(texts.map(String).sort(), expected, 'each once, and none that is not known')
    }
  })

  it('keeps writers out while the whole state is locked, and lets them go on', async (t) => {
    const url = await server.newDatabase()
    const store = await openPostgres(t, url, without)
    const all = store.collection<Counter>(notes)
    await all.insert({ id: 'a', n: 1 })
    const client = new Client(url)
    await client.connect()
    afterwards(t, () => client.end())
    await client.query('BEGIN; SELECT FROM assistant_core.state FOR UPDATE')
    let isDone = false
    const writing = all.insert({ id: 'b', n: 2 }).then(() => (isDone = true))
    await until(async () => {
      const waits =
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
      return (await client.query(waits)).rowCount === 1
    })
    assert.equal(isDone, false)
    await client.query('COMMIT')
    await writing
    assert.equal(await all.count(), 2)
  })

  it('is found out by what it answers, also where locks are there and keep nobody waiting', async (t) => {
    const url = new URL(await server.newDatabase())
    const client = new Client(url.href)
    await client.connect()
    afterwards(t, () => client.end())
    await client.query(`CREATE SCHEMA ours;
      CREATE FUNCTION ours.pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS 'SELECT';
      CREATE FUNCTION ours.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
    await client.query(`ALTER DATABASE ${url.pathname.slice(1)} SET search_path = ours, pg_catalog, public`)
    // What it does not know is a fault of syntax to it.
    const proxy = await startSlowProxy(server.port, 0, ['LISTEN ', 'LISTEM '])
    afterwards(t, () => proxy.close())
    url.port = String(proxy.port)
    const [one, two] = [await openPostgres(t, url.href), await openPostgres(t, url.href)]
    const heard: (string | undefined)[] = []
    two.hear((text) => void heard.push(text))
    await one.transaction(async (tx) => tx.announce('news'))
    await until(() => heard.length > 0)
    assert.deepEqual(heard, ['news'])
    const { rows } = await client.query('SELECT count(*)::int AS n FROM assistant_core.lock')
    assert.ok(rows[0].n > 1000)
  })

  it('is not thought to be one that has both', async (t) => {
    const url = await server.newDatabase()
    await openPostgres(t, url)
    const client = new Client(url)
    await client.connect()
    afterwards(t, () => client.end())
    const { rows } = await client.query(
      "SELECT to_regclass('assistant_core.lock') AS lock, to_regclass('assistant_core.announcement') AS text",
    )
    assert.deepEqual(rows, [{ lock: null, text: null }])
  })
})
