/** Reports in the background on several daemons: begun at one, asked, fetched and cancelled at another, and lost with none. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Decimal } from '#leaf/decimal.ts'
import { Cancelled } from '#leaf/errors.ts'
import type { Principal } from '../../src/core/principal.ts'
import type { Documents } from '../../src/documents/documents.ts'
import { createDocumentMemory } from '../../src/documents/memory.ts'
import { leaveReports } from '../../src/documents/reports/report-runs.ts'
import { runReport } from '../../src/documents/reports/reports.ts'
import { Stop } from '#leaf/stop.ts'
import type { ReadableTables, RunSql } from '../../src/documents/reports/run-sql.ts'
import { openPostgresStore, type PostgresStore } from '#state/postgres/store.ts'
import { noPostgres, suitePostgres, type TestPostgres } from '../helpers/postgres.ts'
import { afterwards, testClock, until } from '../../packages/state/test/state-folder.ts'
import { openCompany, silent, siteOf, someone } from './trading-company.ts'

const clerk = someone('clerk@example.com', 'Assistant User', 'Clerk')
const other = someone('other@example.com', 'Assistant User', 'Clerk')
const files = siteOf({
  'config/doctypes/a.yaml':
    'doctype: Thing\nfields: [{fieldname: title, type: text}]\npermissions: [{role: Clerk, actions: [read, create, report]}]',
  'config/reports/a.yaml':
    'report: Slow\ndescription: Takes its time.\ntype: sql\ndoctypes: [Thing]\nsql: SELECT 1 AS n\ncache_seconds: 300',
})

/** A statement that ends when the test says so. */
interface Running {
  readonly signal: AbortSignal
  end(result?: Awaited<ReturnType<RunSql>>): void
  fail(error: Error): void
}

const rows = {
  columns: [
    { name: 'n', type: 'INTEGER' },
    { name: 'total', type: 'DECIMAL(18,2)' },
  ],
  rows: [
    [1, '10.50'],
    [2, '-0.10'],
  ],
} as unknown as Awaited<ReturnType<RunSql>>

let server: TestPostgres

describe('a report in the background', { skip: noPostgres, timeout: 120_000 }, () => {
  server = suitePostgres()

  it('that one daemon runs is waited for and fetched at another, decimals and all', async (t) => {
    const { one, two, running } = await startTwo(t)
    const first = await ask(one, clerk, 0)
    assert.ok('pending' in first)
    const again = await ask(two, clerk, 0)
    assert.deepEqual(again, first, 'the other knows it, and since when it runs')
    const waiting = ask(two, clerk, 20_000)
    running[0]!.end()
    const found = await waiting
    assert.ok('rows' in found)
    assert.equal(found.rows[1]!['n'], 2)
    assert.ok(found.rows[1]!['total'] instanceof Decimal)
    assert.equal(String(found.rows[1]!['total']), '-0.10')
    assert.deepEqual(await ask(one, clerk, 20_000), found)
    assert.equal(running.length, 1, 'it was made once')
  })

  it('is of its user alone', async (t) => {
    const { one, two, running } = await startTwo(t)
    await ask(one, clerk, 0)
    await ask(two, other, 0)
    assert.equal(running.length, 2)
  })

  it('is begun once when it is asked for at both at once', async (t) => {
    const { one, two, running } = await startTwo(t)
    const asked = await Promise.all([one, two, one, two].map((daemon) => ask(daemon, clerk, 0)))
    assert.equal(new Set(asked.map((answer) => 'pending' in answer && answer.started)).size, 1)
    assert.equal(running.length, 1)
  })

  it('that failed says so where it is waited for, and is made anew when it is asked for again', async (t) => {
    const { one, two, running } = await startTwo(t)
    const here = ask(one, clerk, 20_000)
    await until(() => running.length === 1)
    const there = ask(two, clerk, 20_000)
    await until(async () => 'pending' in (await ask(two, clerk, 0)))
    const failures = Promise.all([
      assert.rejects(here, /the statement was wrong/),
      assert.rejects(there, /the statement was wrong/),
    ])
    running[0]!.fail(new Error('the statement was wrong'))
    await failures
    assert.ok('pending' in (await ask(two, clerk, 0)))
    assert.equal(running.length, 2)
  })

  it('ends when its user takes the call back that waits for it, at whichever daemon', async (t) => {
    const { one, two, running, advance } = await startTwo(t)
    await ask(one, clerk, 0)
    const call = new AbortController()
    const waiting = ask(two, clerk, 20_000, call.signal)
    call.abort(new Cancelled())
    assert.ok('pending' in (await waiting))
    await until(() => running[0]!.signal.aborted)
    advance(1)
    assert.ok('pending' in (await ask(one, clerk, 0)))
    assert.equal(running.length, 2, 'asked again it is made anew')
  })

  it('goes on when the connection of who waits for it is lost', async (t) => {
    const { one, two, running } = await startTwo(t)
    const call = new AbortController()
    const waiting = ask(one, clerk, 20_000, call.signal)
    await until(() => running.length === 1)
    call.abort(new Cancelled(false))
    await waiting
    running[0]!.end()
    assert.ok('rows' in (await ask(two, clerk, 20_000)))
    assert.equal(running.length, 1)
  })

  it('asks on about documents when the call that began it is over', async (t) => {
    const { one, advance } = await startTwo(t)
    const stop = new Stop()
    const tables: ReadableTables[] = []
    const runSql: RunSql = async (query) => {
      tables.push(query.tables)
      stop.end(new Error('gone'))
      await query.tables.tables[0]!.read()
      return rows
    }
    await ask({ ...one, runSql, stop }, clerk, 0).catch(() => undefined)
    advance(1)
    assert.ok('rows' in (await ask({ ...one, runSql }, clerk, 20_000)))
    assert.equal(tables.length, 1)
  })

  it('of a daemon that is gone is taken over by the one that is asked, and does not hang for ever', async (t) => {
    const { one, two, running, kill, advance } = await startTwo(t)
    await ask(one, clerk, 0)
    await kill()
    const waiting = ask(two, clerk, 60_000)
    await until(async () => 'pending' in (await ask(two, clerk, 0)))
    assert.equal(running.length, 1, 'as long as it may still be vouched for')
    advance(31_000)
    await until(() => running.length === 2)
    running[1]!.end()
    assert.ok('rows' in (await waiting))
  })

  it('of a daemon that stops is taken over at once', async (t) => {
    const { one, two, running } = await startTwo(t)
    await ask(one, clerk, 0)
    await leaveReports(one)
    assert.ok(running[0]!.signal.aborted)
    assert.ok('pending' in (await ask(two, clerk, 0)))
    assert.equal(running.length, 2)
  })

  it('makes room: of one user so many are kept', async (t) => {
    const { one, running } = await startTwo(t)
    const store = one.store as PostgresStore
    for (let n = 0; n < 25; n++) {
      // Another reading of the site is another report.
      const site = { ...one, platform: { ...one.platform, digest: `reading ${n}` } }
      const waiting = ask(site, clerk, 20_000)
      await until(() => running.length === n + 1)
      running[n]!.end()
      await waiting
    }
    await store.look()
    const { documents } = store.stats()
    assert.equal(documents['platform.report_run'], 20)
    assert.equal(documents['platform.report_text'], 20)
  })
})

function ask(
  documents: Documents,
  principal: Principal,
  wait: number,
  signal = new AbortController().signal,
): ReturnType<typeof runReport> {
  return runReport(documents, principal, 'Slow', {}, { signal, wait })
}

/** Two daemons on a database, whose time stands still until it is moved. */
async function startTwo(t: TestContext): Promise<{
  one: Documents
  two: Documents
  running: Running[]
  advance: (milliseconds: number) => void
  /** Ends the first without a word. */
  kill: () => Promise<void>
}> {
  const { documents } = await openCompany(t, { files, seeds: false })
  const url = await server.newDatabase()
  const clock = testClock()
  const running: Running[] = []
  const runSql = (({ signal }) =>
    new Promise((end, fail) => {
      signal.addEventListener('abort', () => fail(signal.reason as Error))
      running.push({ signal, end: (result = rows) => end(result), fail })
    })) as RunSql
  const start = async (): Promise<Documents> => {
    const store = await openPostgresStore({ url, clock, databaseClock: clock, log: silent })
    afterwards(t, () => store.close())
    return { ...documents, store, clock, runSql, memory: createDocumentMemory() }
  }
  const [one, two] = [await start(), await start()]
  return { one, two, running, advance: (by) => clock.advance(by), kill: () => one.store.close() }
}
