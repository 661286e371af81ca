/** Old lines of the ledger in compressed segments: real PostgreSQL, with times that are moved on. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { AuditEvent, AuditLine } from '#audit/audit.ts'
import { endOf, followAudit, searchAudit, tailAudit } from '#audit/finding/search.ts'
import type { LedgerQuestion, LedgerRow } from '#state/ledger.ts'
import { systemClock } from '#leaf/clock.ts'
import { noPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { isApp } from '../../state/test/contract.ts'
import { until } from '../../state/test/state-folder.ts'
import { all, clientOf, introduce, startWriter, type Writer } from './shared-ledger.ts'

const day = 86_400_000
const users = ['ann@example.com', 'bob@example.com', 'eve@example.com']

/** Two daemons that have told about 3,400 lines in turns, two days ago by their clock now. */
async function written(t: TestContext, url: string): Promise<{ readonly a: Writer; readonly b: Writer }> {
  let late = 0
  const clock = { now: () => systemClock.now() + late }
  const [a, b] = [await startWriter(t, url, { clock }), await startWriter(t, url, { clock })]
  for (let round = 0; round < 17; round++)
    await Promise.all([a, b].map(async ({ audit }) => await tell(audit, round * 100, 100)))
  await introduce(a)
  await tell(a.audit, 5_000, 1)
  late = 2 * day
  return { a, b }
}

async function tell(audit: Writer['audit'], from: number, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => audit.record(event(from + n))))
}

function event(n: number): AuditEvent {
  const documents = n % 50 === 0 ? { documents: [{ doctype: 'Note', count: 1, names: [`n${n}`] }] } : {}
  return {
    type: n % 7 === 0 ? 'document.update' : 'tool.call',
    status: n % 11 === 0 ? 'denied' : 'ok',
    user: users[n % 3]!,
    target: `t${n}`,
    request_id: `r${n}`,
    ...documents,
  }
}

async function compressed(...writers: readonly Writer[]): Promise<void> {
  const before = systemClock.now() + day
  const mine = async ({ store, audit }: Writer): Promise<void> => {
    const [line] = await tailAudit(audit.place, 1)
    for (const { id } of await store.ledger.writers())
      void (line && (await store.ledger.compress(before, id)))
  }
  for (const writer of writers) for (let round = 0; round < 3; round++) await mine(writer)
}

/** What every way of asking gives, in its order. */
async function answers({ audit }: Writer): Promise<unknown[]> {
  const filters = [
    {},
    { user: 'bob@example.com' },
    { type: 'document.' },
    { request: 'r17' },
    { document: 'Note/n100' },
    { doctype: 'Note', status: 'denied' },
    { text: 't1650' },
    { target: 'nothing' },
  ] as const
  const found: unknown[] = []
  for (const filter of filters) {
    found.push(await all(audit, filter), await tailAudit(audit.place, 7, filter))
    const [one] = await tailAudit(audit.place, 1, { ...filter, request: 'r800' })
    if (one) found.push(await all(audit, { ...filter, until: Date.parse(one.time) }))
    if (one) found.push(await tailAudit(audit.place, 5, { since: Date.parse(one.time) }))
  }
  found.push(await all(audit, { seq: 900 }), await all(audit, { seq: 1_650 }))
  return found
}

async function numbers(writer: Writer, question: LedgerQuestion): Promise<string[]> {
  const found: string[] = []
  for await (const rows of writer.store.ledger.read(question))
    found.push(...rows.map((row) => `${row.writer} ${row.seq}`))
  return found
}

describe('old lines of the ledger', { skip: noPostgres, timeout: 240_000 }, () => {
  const server = suitePostgres()

  it('are found and verified in segments as before, and take less room', async (t) => {
    const url = await server.newDatabase()
    const { a, b } = await written(t, url)
    const client = await clientOf(t, url)
    const count = async (): Promise<{ rows: number; segments: number }> =>
      (
        await client.query(`SELECT (SELECT count(*)::int FROM assistant_core.ledger) AS rows,
          (SELECT count(*)::int FROM assistant_core.ledger_segment) AS segments`)
      ).rows[0]
    const lines = (await count()).rows
    const [told, size] = [await answers(a), await a.store.ledger.lineBytes()]
    await a.audit.tidy()
    await b.audit.tidy()
    // Those are the segments of a thousand lines; the rest of each daemon waits for more.
    assert.deepEqual(await count(), { rows: lines - 2_000, segments: 2 })
    assert.deepEqual(await answers(a), told)
    const verified = await a.audit.verify()
    assert.deepEqual([verified.faults, verified.lines], [[], lines])
    assert.equal(verified.writers?.length, 2)
    assert.ok((await a.store.ledger.lineBytes()) < size * 0.7)
    // Who follows from before them is told all of them once.
    const position = await endOf(a.audit.place)
    for (const id of position.keys()) position.set(id, 10)
    const stop = new AbortController()
    const followed: AuditLine[] = []
    for await (const line of followAudit(a.audit.place, { after: position, signal: stop.signal }))
      if (followed.push(line) === lines - 20) break
    assert.equal(new Set(followed.map(({ writer, seq }) => `${writer} ${seq}`)).size, lines - 20)
  })

  it('are read once each by who reads while they become segments', async (t) => {
    const url = await server.newDatabase()
    const { a, b } = await written(t, url)
    const [{ id } = { id: '' }] = await a.store.ledger.writers()
    const questions: readonly LedgerQuestion[] = [
      {},
      { backward: true },
      { writer: id },
      { writer: id, backward: true },
      { writer: id, after: 500 },
      { terms: ['user bob@example.com'] },
      { terms: ['user bob@example.com'], backward: true },
    ]
    const expected: string[][] = []
    const readings: { reading: AsyncGenerator<readonly LedgerRow[]>; begun: readonly LedgerRow[] }[] = []
    for (const question of questions) {
      expected.push(await numbers(a, question))
      const reading = a.store.ledger.read(question)
      readings.push({ reading, begun: ((await reading.next()).value as LedgerRow[] | undefined) ?? [] })
    }
    await compressed(a, b)
    for (const [index, { reading, begun }] of readings.entries()) {
      const found = begun.map((row) => `${row.writer} ${row.seq}`)
      for await (const rows of reading) found.push(...rows.map((row) => `${row.writer} ${row.seq}`))
      assert.deepEqual(found, expected[index], JSON.stringify(questions[index]))
      assert.deepEqual(await numbers(a, questions[index]!), expected[index])
    }
  })

  it('become a segment once, whoever tries at the same time or dies meanwhile', async (t) => {
    const url = await server.newDatabase()
    const { a, b } = await written(t, url)
    const before = systemClock.now() + day
    const told = await numbers(a, {})
    const client = await clientOf(t, url)
    const [{ id } = { id: '' }] = await a.store.ledger.writers()
    const holder = await clientOf(t, url)
    await holder.query('BEGIN')
    await holder.query('SELECT FROM assistant_core.ledger WHERE writer = $1 AND seq = 700 FOR UPDATE', [id])
    const waiting = "wait_event_type = 'Lock' AND query LIKE '%ledger_segment%'"
    const tries = [a, b].map(({ store }) => store.ledger.compress(before, id).catch(() => 'ended'))
    await until(async () => {
      const { rows } = await client.query(`SELECT FROM pg_stat_activity WHERE ${waiting}`)
      return rows.length === 2
    })
    // The database ends one of them in the midst of its statement, as when its daemon is killed.
    await client.query(`SELECT pg_terminate_backend(min(pid)) FROM pg_stat_activity WHERE ${waiting}`)
    await holder.query('COMMIT')
    const kept = await Promise.all(tries)
    // The one that was cut off tries once more, and finds nothing left to do.
    assert.ok(kept.filter((one) => one === true).length <= 1, String(kept))
    const { rows } = await client.query('SELECT first::int, last::int FROM assistant_core.ledger_segment')
    assert.deepEqual(rows, [{ first: 1, last: 1_000 }])
    assert.deepEqual(await numbers(a, {}), told)
    await compressed(a, b)
    assert.deepEqual(await numbers(a, {}), told)
    assert.deepEqual((await a.audit.verify()).faults, [])
  })

  const changed = (how: (text: string) => string) => (lines: Buffer) =>
    gzipSync(how(gunzipSync(lines).toString()))
  const attacks: Readonly<
    Record<string, readonly [how: string | ((lines: Buffer) => Buffer), told: RegExp]>
  > = {
    'a changed line': [
      changed((text) => text.replaceAll('"target":"t500"', '"target":"t5x0"')),
      /this line was changed/,
    ],
    'a line that is missing': [
      changed((text) => text.split('\n').toSpliced(600, 2).join('\n')),
      /:1: this is not a line of the log/,
    ],
    'bytes that are no segment': [(lines) => lines.subarray(0, 2_000), /:1: this is not a line of the log/],
    'a segment that was removed': [
      'DELETE FROM assistant_core.ledger_segment WHERE writer = $1',
      /lines 1 to 1000 are missing/,
    ],
    'lines that no search finds': [
      `UPDATE assistant_core.ledger_segment SET terms = '{}' WHERE writer = $1`,
      /:1: this line is not found by what it tells/,
    ],
    'terms of a line that were taken from it': [
      changed((text) => text.replace('"target t300"', '"target t3"')),
      /this line is not found by what it tells/,
    ],
    'another time': [
      'UPDATE assistant_core.ledger_segment SET since = since - 1e9, until = since - 1e9 WHERE writer = $1',
      /:1: this line is not found by what it tells/,
    ],
    'other numbers': [
      'UPDATE assistant_core.ledger_segment SET first = first + 1, last = last + 1 WHERE writer = $1',
      /:2: this line is not found by what it tells/,
    ],
  }
  it('tell in segments what was changed there', async (t) => {
    const url = await server.newDatabase()
    const { a, b } = await written(t, url)
    await compressed(a, b)
    const client = await clientOf(t, url)
    const [{ id } = { id: '' }] = await a.store.ledger.writers()
    assert.deepEqual((await a.audit.verify()).faults, [])
    await client.query('CREATE TABLE whole AS SELECT * FROM assistant_core.ledger_segment')
    for (const [what, [how, told]] of Object.entries(attacks)) {
      if (typeof how === 'string') assert.ok((await client.query(how, [id])).rowCount! > 0, what)
      else {
        const read = 'SELECT lines FROM assistant_core.ledger_segment WHERE writer = $1 AND first = 1'
        const { rows } = await client.query<{ lines: Buffer }>(read, [id])
        const lines = how(rows[0]!.lines)
        assert.ok(!lines.equals(rows[0]!.lines))
        await client.query(
          'UPDATE assistant_core.ledger_segment SET lines = $2 WHERE writer = $1 AND first = 1',
          [id, lines],
        )
      }
      const { ok, faults } = await a.audit.verify()
      assert.equal(ok, false, what)
      assert.match(faults.join('\n'), told, what)
      // A search goes on with what can be read.
      assert.ok((await all(b.audit)).length > 1_000, what)
      await client.query(
        'TRUNCATE assistant_core.ledger_segment; INSERT INTO assistant_core.ledger_segment SELECT * FROM whole',
      )
    }
    assert.deepEqual((await a.audit.verify()).faults, [])
  })

  it('are not read again by a verification that goes on, from whichever daemon', async (t) => {
    const url = await server.newDatabase()
    const { a, b } = await written(t, url)
    await compressed(a, b)
    const whole = await a.audit.verify()
    assert.deepEqual([whole.ok, whole.before], [true, undefined])
    await tell(a.audit, 6_000, 3)
    await tell(b.audit, 6_000, 3)
    const { before, from, writers, ...on } = await a.audit.verifyOn()
    assert.match(before!, /^\d{4}-/)
    assert.ok(from > 2_000 && on.lines - from < 1_000, `${on.lines} lines, read from ${from}`)
    assert.ok(writers!.every((one) => one.from > 1_000))
    const { before: none, from: start, writers: parts, ...all } = await a.audit.verify()
    assert.deepEqual([none, start, parts!.every((one) => one.from === 1)], [undefined, 1, true])
    assert.deepEqual(on, all)
    // The other daemon has not verified anything yet, and has nobody's word for it.
    await introduce(b)
    assert.equal((await b.audit.verifyOn()).from, 1)
    const client = await clientOf(t, url)
    const [{ id } = { id: '' }] = await a.store.ledger.writers()
    await client.query(
      `UPDATE assistant_core.ledger SET line = replace(line, 't6000', 't6009') WHERE line LIKE '%t6000%' AND writer = $1`,
      [id],
    )
    const found = await a.audit.verifyOn()
    assert.deepEqual([found.ok, found.from], [false, 1])
    assert.match(found.faults.join('\n'), /this line was changed/)
  })

  it('do not go in part, by whoever had found them in rows', async (t) => {
    const url = await server.newDatabase()
    const { a } = await written(t, url)
    await compressed(a)
    const told = await numbers(a, {})
    const [{ id } = { id: '' }] = await a.store.ledger.writers()
    const notes = a.store.collection<{ id: string }>({ name: 'test.note' })
    const lines = { writer: id, lines: [], dropped: [{ writer: id, through: 500 }] }
    const removing = a.store.transaction(async (transaction) => {
      await transaction.in(notes).put({ id: 'with it' })
      const last = { lines: () => Promise.resolve(lines), over: () => undefined }
      a.store.ledger.lastIn(transaction, undefined, () => last)
    })
    await assert.rejects(removing, isApp('unavailable'))
    assert.deepEqual(await numbers(a, {}), told)
    assert.equal(await notes.count(), 0)
  })

  it('go by whole segments when they are too old, and what outlives them is told again', async (t) => {
    const url = await server.newDatabase()
    let late = 0
    const clock = { now: () => systemClock.now() + late }
    const a = await startWriter(t, url, { clock })
    await a.audit.record({
      type: 'user.edit',
      status: 'ok',
      user: 'ann@example.com',
      target: 'bob@example.com',
    })
    await tell(a.audit, 0, 1_000)
    late = day
    await tell(a.audit, 1_000, 100)
    late = 3 * day
    await a.audit.tidy()
    assert.deepEqual((await all(a.audit, { type: 'user.edit' })).length, 1)
    assert.equal((await a.audit.verifyOn()).ok, true)
    // The lines are too many for the room and older than thirty days, which the event of the user survives.
    late = 40 * day
    await a.audit.record(event(1))
    a.audit.configure({ max_total_bytes: 10_000 })
    await a.audit.tidy()
    late += 2 * day
    await a.audit.tidy()
    const left = await all(a.audit)
    assert.ok(left.length < 200, String(left.length))
    const [again] = await all(a.audit, { type: 'user.edit' })
    assert.deepEqual([again?.again?.seq, again?.target], [1, 'bob@example.com'])
    const pruned = await tailAudit(a.audit.place, 9, { type: 'audit.prune' })
    assert.equal(pruned[0]?.data?.['through'], 1_000)
    assert.deepEqual((await a.audit.verify()).faults, [])
    // What had been verified before is gone, as the log says itself.
    const on = await a.audit.verifyOn()
    assert.deepEqual([on.ok, on.writers![0]!.first > 1_000], [true, true], on.faults.join())
    for await (const line of searchAudit(a.audit.place)) assert.ok(line.seq > 1_000)
  })
})
