/** Ways to the database: several hosts of which one takes writes, and a pooler that keeps no sessions. */
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres.ts'
import type { Collection, Stored } from '../../src/store/store.ts'
import {
  noPgBouncer,
  noPostgres,
  startPgBouncer,
  startPostgres,
  startStandby,
  type TestPostgres,
} from '../helpers/postgres.ts'
import { isApp } from './contract.ts'
import { afterwards, testLog, until } from './state-folder.ts'

interface Note extends Stored {
  readonly n: number
}

const spec = { name: 'test.note', indexes: ['n'] } as const
const timeout = 120_000

function open(t: TestContext, url: string): Promise<PostgresStore> {
  const options = { url, clock: systemClock, log: testLog(), lookMilliseconds: 200 }
  return openPostgresStore(options).then((store) => {
    afterwards(t, () => store.close())
    return store
  })
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
    await until(async () => {
      const { rows } = await primary.admin.query(
        'SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) AS caught_up FROM pg_stat_replication',
      )
      return rows[0].caught_up === true
    })
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
  const cleanups: (() => Promise<void>)[] = []
  let server: TestPostgres
  before(async () => {
    server = await startPostgres({ after: (step) => void cleanups.push(step as () => Promise<void>) })
  })
  after(async () => {
    for (const step of cleanups.reverse()) await step()
  })

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

  it('is told when it is given alone, as nobody would hear the others', async (t) => {
    const own = await server.newDatabase()
    const pooled = new URL(own)
    const ignore =
      'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout'
    pooled.port = String(await startPgBouncer(t, server, ignore))
    await assert.rejects(open(t, pooled.href), /needs the database's own address as its second line/)
  })
})
