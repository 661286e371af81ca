/** Ways to the database: several hosts of which one takes writes, and a pooler that keeps no sessions. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { systemClock } from '#leaf/clock.ts'
import { Database } from '#state/postgres/servers/database.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import type { Collection, Stored } from '#state/store.ts'
import {
  caughtUp,
  noPgBouncer,
  noPostgres,
  startPgBouncer,
  startPostgres,
  startStandby,
  suitePostgres,
} from '../../../test/helpers/postgres.ts'
import { isApp } from './contract.ts'
import { afterwards, testLog, until } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

interface Note extends Stored {
  readonly n: number
}

const spec = { name: 'test.note', indexes: ['n'] } as const
const timeout = 120_000

function open(t: TestContext, url: string): Promise<PostgresStore> {
  return openPostgres(t, url, { lookMilliseconds: 200 })
}

/** Adds a number until the store says that it is kept. */
async function kept(notes: Collection<Note>, n: number): Promise<void> {
  await until(async () => {
    try {
      await notes.put({ id: `note ${n}`, n })
      return true
    } catch (error) {
      assert.ok(isApp('unavailable')(error), String(error))
      return false
    }
  })
}

describe('an address with several hosts', { skip: noPostgres, timeout }, () => {
  it('leads to the one that takes writes, and to the other once that was promoted', async (t) => {
    const primary = await startPostgres(t)
    const name = new URL(await primary.newDatabase()).pathname
    const standby = await startStandby(t, primary)
    const [first, second] = [`127.0.0.1:${standby.port}`, `127.0.0.1:${primary.port}`]
    const stores = [
      await open(t, `postgresql://postgres@${first},${second}${name}`),
      await open(t, `postgresql://postgres@${second},${first}${name}?target_session_attrs=read-write`),
    ]
    const heard: string[] = []
    stores[0]!.hear((message) => {
      if (message !== undefined) heard.push(message)
    })
    const notes = stores.map((store) => store.collection<Note>(spec))
    for (const [n, one] of notes.entries()) await one.put({ id: `before ${n}`, n })
    // The standby has all of it before its primary is gone.
    const seen = await open(t, `postgresql://postgres@${second}${name}`)
    await caughtUp(primary)
    await seen.close()
    await primary.stop()
    for (const one of notes) await assert.rejects(one.put({ id: 'lost', n: 0 }), isApp('unavailable'))
    await standby.promote()
    for (const [n, one] of notes.entries()) await kept(one, 10 + n)
    assert.deepEqual((await notes[0]!.find()).map(({ id }) => id).sort(), [
      'before 0',
      'before 1',
      'note 10',
      'note 11',
    ])
    await until(() => stores.every((store) => store.stats().fault === undefined))
    await until(async () => {
      await stores[1]!.transaction(async (transaction) => transaction.announce('still there'))
      return heard.includes('still there')
    })
  })

  it('is refused where it does not ask for the host that takes writes', async () => {
    const ask = (url: string) => openPostgresStore({ url, clock: systemClock, log: testLog() })
    for (const wanted of ['any', 'standby', 'prefer-standby'])
      await assert.rejects(
        ask(`postgresql://u@a,b/db?target_session_attrs=${wanted}`),
        /target_session_attrs must be read-write/,
      )
    await assert.rejects(ask('postgresql://u@a b,c/db'), /must hold one address such as/)
    await assert.rejects(ask('mysql://u@a,b/db'), /must begin with postgresql:/)
  })

  it('is refused while all of them are standbys, in words', async (t) => {
    const primary = await startPostgres(t)
    const standby = await startStandby(t, primary)
    const url = `postgresql://postgres@127.0.0.1:${standby.port}/postgres?target_session_attrs=read-write`
    await assert.rejects(open(t, url), /the database is read-only/)
  })
})

describe('PgBouncer in transaction mode', { skip: noPgBouncer, timeout }, () => {
  const server = suitePostgres()

  it('serves daemons that know the own address of the database as well', async (t) => {
    const own = await server.newDatabase()
    const pooled = new URL(own)
    pooled.port = String(await startPgBouncer(t, server))
    const stores = [await open(t, `${pooled.href}\n${own}\n`), await open(t, `${pooled.href}\n${own}`)]
    const heard: string[] = []
    for (const store of stores)
      store.hear((message) => {
        if (message !== undefined) heard.push(message)
      })
    const notes = stores.map((store) => store.collection<Note>(spec))
    await notes[0]!.insert({ id: 'sum', n: 0 })
    const add = async (n: number): Promise<void> => {
      await notes[n % 2]!.insert({ id: `note ${n}`, n })
      await stores[n % 2]!.transaction(async (transaction) => {
        const all = transaction.in(notes[n % 2]!)
        await all.put({ id: 'sum', n: (await all.get('sum'))!.n + n })
      })
    }
    // More at once than the pooler has sessions.
    const numbers = Array.from({ length: 60 }, (_, n) => n + 1)
    await Promise.all(numbers.map((n) => add(n)))
    assert.equal((await notes[1]!.get('sum'))!.n, (60 * 61) / 2)
    for (const one of notes) assert.equal((await one.find({ where: { n: 7 } })).length, 1)
    await stores[0]!.transaction(async (transaction) => transaction.announce('to all'))
    await until(() => heard.filter((message) => message === 'to all').length === 2)
  })

  it('serves with one address where it keeps sessions, whose limits hold', async (t) => {
    const url = new URL(await server.newDatabase())
    url.port = String(await startPgBouncer(t, server, 'pool_mode = session\ndefault_pool_size = 40'))
    const stores = [await open(t, url.href), await open(t, url.href)]
    const notes = stores.map((store) => store.collection<Note>(spec))
    let heard = 0
    stores[1]!.hear((message) => void (heard += message === 'to all' ? 1 : 0))
    await stores[0]!.transaction(async (transaction) => transaction.announce('to all'))
    await until(() => heard === 1)
    const database = await Database.open({ url: url.href, connections: 4 })
    afterwards(t, () => database.close())
    const text =
      "SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')"
    assert.deepEqual(await database.alone({ text, values: [] }), [['40s', '2s']])
    // One that stands still in a transaction is ended, and others go on.
    let runs = 0
    const standing = stores[0]!.transaction(async (transaction) => {
      if (++runs === 1) {
        await transaction.in(notes[0]!).put({ id: 'a', n: 0 })
        assert.equal((await transaction.in(notes[0]!).find()).length, 1)
        await until(async () => (await notes[1]!.get('a')) !== undefined)
      }
      await transaction.in(notes[0]!).put({ id: 'a', n: runs })
    })
    await notes[1]!.put({ id: 'a', n: 7 })
    await standing
    assert.deepEqual([runs, (await notes[1]!.get('a'))?.n], [2, 2])
  })

  it('is told when it is given alone, as nobody would hear the others', async (t) => {
    const own = await server.newDatabase()
    const pooled = new URL(own)
    pooled.port = String(await startPgBouncer(t, server))
    await assert.rejects(open(t, pooled.href), /needs the database's own address as its second line/)
  })
})
