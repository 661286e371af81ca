import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '#leaf/clock.ts'
import { ourError, outage } from '#state/postgres/servers/errors.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import type { Collection, Stored } from '#state/store.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { isApp } from './contract.ts'
import { afterwards, openStore, temporaryFolder, testClock, testLog, until } from './state-folder.ts'
import { openPostgres } from './open-postgres.ts'

interface Session extends Stored {
  readonly until: number
}

const day = 86_400_000
const spec = { name: 'test.session', expires: 'until' } as const

describe('the time of an embedded state', () => {
  it('is not put forward by a clock that jumps: nothing is removed before a day has passed', async (t) => {
    const clock = testClock()
    const log = testLog()
    const store = await openStore(t, await temporaryFolder(t), { clock, log })
    const sessions = store.collection<Session>(spec)
    await sessions.put({ id: 'a', until: clock.now() + day })
    clock.advance(60 * day)
    assert.equal(await store.sweep(), 0)
    assert.match(store.stats().clock ?? '', /1440 hours ahead of the last write/)
    assert.equal(await sessions.get('a'), undefined, 'it has ended, as far as anybody knows')
    clock.advance(-60 * day)
    assert.equal(store.stats().clock, undefined)
    assert.ok(await sessions.get('a'), 'and is there when the clock is put right')
    clock.advance(60 * day)
    for (let hour = 0; hour < 24; hour++) {
      assert.equal(await store.sweep(), 0)
      clock.advance(day / 24)
    }
    assert.equal(await store.sweep(), 1)
    assert.equal(store.stats().clock, undefined)
  })

  it('outlives the program: who starts long after is doubted in the same way', async (t) => {
    const folder = await temporaryFolder(t)
    const first = testClock()
    const before = await openStore(t, folder, { clock: first })
    await before.collection<Session>(spec).put({ id: 'a', until: first.now() + 1 })
    first.advance(day)
    await before.collection<Session>(spec).put({ id: 'b', until: first.now() + day })
    await before.close()
    const log = testLog()
    const clock = testClock(first.now() + 3 * day)
    const store = await openStore(t, folder, { clock, log })
    store.collection<Session>(spec)
    assert.match(JSON.stringify(log.lines), /72 hours ahead of the last write/)
    assert.equal(await store.sweep(), 0, 'nor what had ended before: a day by the time of the last write')
  })

  it('does not go back: a clock far behind keeps from writing until the program is started anew', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = testClock()
    const store = await openStore(t, folder, { clock })
    const sessions = store.collection<Session>(spec)
    await sessions.put({ id: 'a', until: clock.now() + day })
    clock.advance(-20_000)
    await sessions.put({ id: 'b', until: clock.now() + day })
    assert.match(store.stats().clock ?? '', /20 s behind the last write/)
    assert.equal(store.stats().fault, undefined)
    clock.advance(-20_000)
    await assert.rejects(sessions.put({ id: 'c', until: clock.now() + day }), isApp('unavailable'))
    assert.match(store.stats().fault ?? '', /40 s behind the last write, so nothing is written/)
    assert.equal(await sessions.count(), 2)
    await store.close()
    const log = testLog()
    const again = await openStore(t, folder, { clock, log })
    await again.collection<Session>(spec).put({ id: 'c', until: clock.now() + day })
    assert.match(JSON.stringify(log.lines), /behind the last write/)
  })
})

describe('a clock that jumps hours ahead and back', () => {
  it('stops no writes once it is right again', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = testClock()
    const store = await openStore(t, folder, { clock })
    const sessions = store.collection<Session>(spec)
    await sessions.put({ id: 'a', until: clock.now() + day })
    clock.advance(7_200_000)
    await sessions.put({ id: 'b', until: clock.now() + day })
    clock.advance(-7_200_000)
    await sessions.put({ id: 'c', until: clock.now() + day })
    assert.equal(store.stats().fault, undefined)
    clock.advance(-7_200_000)
    await assert.rejects(sessions.put({ id: 'd', until: 0 }), isApp('unavailable'), 'behind is behind')
    assert.equal(await sessions.count(), 3)
  })
})

describe('the time of a shared state', { skip: noPostgres }, () => {
  const server = suitePostgres()

  it('is the database’s: a daemon sixty days ahead removes nothing and writes nothing', async (t) => {
    const url = await server.newDatabase()
    const healthy = await openPostgres(t, url)
    const sessions = healthy.collection<Session>(spec)
    await sessions.put({ id: 'a', until: Date.now() + day })
    await sessions.put({ id: 'b', until: Date.now() - day / 2 })
    await sessions.put({ id: 'c', until: Date.now() - 2 * day })
    const log = testLog()
    const clock = { now: () => Date.now() + 60 * day }
    const wrong = await openPostgresStore({ url, clock, log, sweepMilliseconds: 10, lookMilliseconds: 10 })
    afterwards(t, () => wrong.close())
    assert.match(wrong.stats().fault ?? '', /1440 hours ahead of the database's, so nothing is written/)
    assert.match(JSON.stringify(log.lines), /1440 hours ahead of the database's/)
    assert.ok(Math.abs(wrong.clock.now() - Date.now()) < 10_000, 'it goes by the right time all the same')
    const there: Collection<Session> = wrong.collection(spec)
    assert.ok(await there.get('a'))
    await assert.rejects(there.put({ id: 'd', until: 0 }), isApp('unavailable'))
    await assert.rejects(
      wrong.transaction((transaction) => transaction.in(there).delete('a')),
      isApp('unavailable'),
    )
    await assert.rejects(wrong.sweep(), isApp('unavailable'))
    assert.equal(await stored(url), 3)
    // What the other one's refused sweep holds at this moment is passed over.
    await until(async () => (await healthy.sweep()) > 0)
    assert.equal(await stored(url), 2)
  })

  it('is told as off from a few seconds on, and right again when the machine is', async (t) => {
    const url = await server.newDatabase()
    let off = 12_000
    const log = testLog()
    const clock = { now: () => Date.now() - off }
    const store = await openPostgresStore({ url, clock, log, lookMilliseconds: 10 })
    afterwards(t, () => store.close())
    assert.match(store.stats().clock ?? '', /1[12] s behind the database's/)
    assert.equal(store.stats().fault, undefined)
    const sessions = store.collection<Session>(spec)
    await sessions.put({ id: 'a', until: Date.now() - 6_000 })
    assert.equal(await sessions.get('a'), undefined, 'what has ended by the database has ended here')
    off = 0
    await until(() => store.stats().clock === undefined)
    await until(() => /agrees with the database's again/.test(JSON.stringify(log.lines)))
    off = -40_000
    await until(() => store.stats().fault !== undefined)
    await assert.rejects(sessions.put({ id: 'b', until: 0 }), isApp('unavailable'))
    off = 0
    await until(() => store.stats().fault === undefined)
    await sessions.put({ id: 'b', until: 0 })
  })

  async function stored(url: string): Promise<number> {
    const store: PostgresStore = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    try {
      return store.stats().documents['test.session'] ?? 0
    } finally {
      await store.close()
    }
  }
})

describe('what an error of the database means', () => {
  const busy = /busy with the writes of others; try again/
  const told: readonly [code: string, text: string, meaning: RegExp, outage: boolean][] = [
    ['55P03', 'canceling statement due to lock timeout', busy, false],
    ['57014', 'canceling statement due to statement timeout', busy, false],
    ['40001', 'could not serialize access: connection of another', busy, false],
    ['40P01', 'deadlock detected', busy, false],
    ['25P03', 'terminating connection due to idle-in-transaction timeout', busy, false],
    ['42501', 'permission denied for schema timeout', /does not allow its user/, false],
    ['28P01', 'password authentication failed', /refuses this user or password/, true],
    ['28000', 'no pg_hba.conf entry for host, SSL off', /refuses this user or password/, true],
    ['3D000', 'database "connection" does not exist', /there is no such database/, true],
    ['53100', 'could not extend file', /disk is full/, true],
    ['53300', 'too many connections', /no connection left/, true],
    ['53200', 'out of memory', /reports 53200/, true],
    ['25006', 'cannot execute INSERT in a read-only transaction', /read-only/, true],
    ['57P01', 'terminating connection due to administrator command', /starting or stopping/, true],
    ['57P02', 'crash of another server process', /starting or stopping/, true],
    ['57P03', 'the database system is starting up', /starting or stopping/, true],
    ['57P05', 'terminating connection due to idle-session timeout', /starting or stopping/, true],
    ['08006', 'connection failure', /reports 08006/, true],
    ['58030', 'could not read block', /reports 58030/, true],
    ['ECONNREFUSED', 'connect ECONNREFUSED', /cannot be reached \(ECONNREFUSED\)/, true],
    ['EPIPE', 'write EPIPE', /cannot be reached \(EPIPE\)/, true],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate', /cannot be reached/, true],
    ['', 'timeout expired', /does not answer in time/, true],
    ['', 'Query read timeout', /does not answer in time/, true],
    ['', 'timeout exceeded when trying to connect', busy, false],
    ['', 'Connection terminated unexpectedly', /connection to the database was lost/, true],
    ['', 'The server does not support SSL connections', /does not speak TLS/, true],
  ]
  for (const [code, text, meaning, isOutage] of told)
    it(`${code || 'no code'}, ${text}: ${isOutage ? 'an outage' : 'the database is well'}`, () => {
      const error = Object.assign(new Error(text), code === '' ? {} : { code })
      assert.equal(outage(error) !== undefined, isOutage)
      const ours = ourError(error)
      assert.ok(isApp('unavailable')(ours))
      assert.match((ours as Error).message, meaning)
    })

  it('a fault of ours stays one: it is not told as an outage by the words in it', () => {
    const error = Object.assign(new Error('syntax error at or near "connection timeout"'), { code: '42601' })
    assert.equal(outage(error), undefined)
    assert.equal(ourError(error), error)
  })
})
