/** The audit log of several daemons on one database: real PostgreSQL, each writer with a folder and a store of its own. */
import assert from 'node:assert/strict'
import { readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { copyLog } from '#audit/copy.ts'
import type { AuditEvent, AuditLine } from '#audit/audit.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { exportedLogs, importLog } from '#audit/import-log.ts'
import { endOf, followAudit, searchAudit, tailAudit } from '#audit/finding/search.ts'
import { summarizeAudit } from '#audit/finding/summary.ts'
import type { Ledger } from '#state/ledger.ts'
import { systemClock } from '#leaf/clock.ts'
import { openPostgresStore } from '#state/postgres/store.ts'
import { noPostgres, startPostgres, suitePostgres } from '../../../test/helpers/postgres.ts'
import { isApp } from '../../state/test/contract.ts'
import { afterwards, temporaryFolder, testLog, until } from '../../state/test/state-folder.ts'
import { startAudit } from './audit-folder.ts'
import { all, clientOf, introduce, isTold, startWriter as start } from './shared-ledger.ts'

const looked: AuditEvent = {
  type: 'tool.call',
  status: 'ok',
  user: 'ann@example.com',
  target: 'list_documents',
}

describe('the audit log of several daemons', { skip: noPostgres, timeout: 240_000 }, () => {
  const server = suitePostgres()

  it('is one: each tells what all of them wrote, in the order in which it happened', async (t) => {
    const url = await server.newDatabase()
    const [a, b, c] = [await start(t, url), await start(t, url), await start(t, url)]
    for (const [n, { audit }] of [a, b, c, a, b, c].entries())
      await audit.record({ ...looked, target: `t${n}` })
    await introduce(a)
    for (const { audit } of [a, b, c]) {
      assert.deepEqual(
        (await all(audit)).map(({ target }) => target),
        ['t0', 't1', 't2', 't3', 't4', 't5'],
      )
      assert.deepEqual(
        (await tailAudit(audit.place, 2, { type: 'tool.call' })).map(({ target }) => target),
        ['t4', 't5'],
      )
      assert.equal((await summarizeAudit(audit.place, { type: 'tool.' })).events, 6)
      const { seq, files, writers, fault } = await audit.stats()
      assert.deepEqual({ files, writers, fault }, { files: 0, writers: 3, fault: undefined })
      assert.ok(seq >= 6)
      const verified = await audit.verify()
      assert.deepEqual(verified.faults, [])
      assert.equal(verified.writers?.length, 3)
    }
    const lines = await all(a.audit)
    assert.equal(new Set(lines.map(({ writer }) => writer)).size, 3)
    assert.deepEqual(
      await readdir(join(a.folder)).then((names) => names.filter((name) => name.startsWith('audit-'))),
      [],
    )
  })

  it('misses the file that says how far a daemon had come', async (t) => {
    const url = await server.newDatabase()
    const { audit, store, folder } = await start(t, url)
    await audit.record(looked)
    assert.deepEqual((await audit.verify()).faults, [])
    const head = `head-${await store.ledger.name()}.json`
    await rm(join(folder, head))
    const missed = `${head}: the file is missing; lines cut off the end would not be noticed`
    assert.deepEqual((await audit.verify()).faults, [missed])
  })

  it('keeps the event of a change in the transaction of the change, and of nothing that is not kept', async (t) => {
    const url = await server.newDatabase()
    const { audit, store } = await start(t, url)
    const notes = store.collection<{ id: string }>({ name: 'test.note' })
    const write = (id: string, fault?: Error): Promise<void> =>
      store.transaction(async (transaction) => {
        await transaction.in(notes).insert({ id })
        await audit.recordIn(transaction, { ...looked, type: 'document.create', target: `Note/${id}` })
        await audit.recordIn(transaction, { ...looked, type: 'document.share', target: `Note/${id}` })
        if (fault) throw fault
      })
    await Promise.all(['a', 'b', 'c'].map((id) => write(id)))
    await assert.rejects(write('d', new Error('no')), /no/)
    await write('e')
    // A client of the database sees both at once, with nothing that waits.
    const client = await clientOf(t, url)
    const { rows } = await client.query(`SELECT count(*)::int AS count FROM assistant_core.ledger
      WHERE terms @> ARRAY['doctype Note']`)
    assert.equal(rows[0].count, 8)
    assert.deepEqual(
      (await all(audit, { doctype: 'Note' })).map(({ type, target }) => `${type} ${target}`).sort(),
      ['a', 'b', 'c', 'e']
        .flatMap((id) => [`document.create Note/${id}`, `document.share Note/${id}`])
        .sort(),
    )
    assert.equal(store.stats().documents['audit.outbox'] ?? 0, 0)
    assert.deepEqual((await audit.verify()).faults, [])
  })

  it('tells events of transactions that collide once each, whoever had to begin again', async (t) => {
    const url = await server.newDatabase()
    const writers = [await start(t, url), await start(t, url)]
    const each = 20
    await Promise.all(
      writers.map(async ({ audit, store }) => {
        const counters = store.collection<{ id: string; n: number }>({ name: 'test.counter' })
        for (let n = 0; n < each; n++) {
          await store.transaction(async (transaction) => {
            const counter = transaction.in(counters)
            const { n = 0 } = (await counter.get('c')) ?? {}
            await counter.put({ id: 'c', n: n + 1 })
            await audit.recordIn(transaction, { ...looked, type: 'count.up', target: String(n + 1) })
          })
          await audit.record(looked)
        }
      }),
    )
    const counted = await all(writers[0]!.audit, { type: 'count.up' })
    assert.deepEqual(
      counted.map(({ target }) => Number(target)).sort((a, b) => a - b),
      Array.from({ length: 2 * each }, (_, n) => n + 1),
    )
    assert.equal((await all(writers[1]!.audit, { type: 'tool.call' })).length, 2 * each)
    assert.deepEqual((await writers[1]!.audit.verify()).faults, [])
  })

  it('is followed on one daemon as others write', async (t) => {
    const url = await server.newDatabase()
    const [a, b] = [await start(t, url), await start(t, url)]
    await b.audit.record({ ...looked, target: 'before' })
    const stop = new AbortController()
    const seen: string[] = []
    const after = await endOf(a.audit.place)
    const following = (async () => {
      for await (const { target } of followAudit(a.audit.place, {
        filter: { user: 'ann@example.com' },
        after,
        signal: stop.signal,
      }))
        seen.push(target!)
    })()
    for (const [n, { audit }] of [a, b, b, a].entries()) await audit.record({ ...looked, target: `t${n}` })
    // One who comes later is followed as well.
    const c = await start(t, url)
    await c.audit.record({ ...looked, target: 'new' })
    await until(() => seen.length === 5)
    stop.abort()
    await following
    assert.deepEqual(seen.toSorted(), ['new', 't0', 't1', 't2', 't3'])
  })

  it('is whole, and answers, where somebody asked for half a character', async (t) => {
    const { audit } = await start(t, await server.newDatabase())
    // The second is cut in the middle of a character.
    const targets = ['a\ud800b', `${'x'.repeat(292)}😀`]
    for (const target of targets) await audit.record({ ...looked, target })
    assert.deepEqual((await audit.verify()).faults, [])
    for (const target of targets)
      assert.deepEqual(
        (await tailAudit(audit.place, 9, { target })).map((line) => line.target),
        [target],
      )
  })

  it('answers every question as the files of one daemon do', async (t) => {
    const url = await server.newDatabase()
    const { audit } = await start(t, url)
    const files = await startAudit(t)
    const events: AuditEvent[] = [
      looked,
      { ...looked, status: 'denied', user: 'bob', error: 'who reads Patient/PAT-1?' },
      { ...looked, documents: [{ doctype: 'Patient', names: ['PAT-1', 'a/b'], count: 2 }], client: 'c1' },
      {
        ...looked,
        target: 'get_document',
        data: { arguments: { doctype: 'Patient', name: 'PAT-2' } as never },
      },
      {
        ...looked,
        type: 'document.update',
        target: 'Sales Order/SO/7',
        changes: [{ field: 'total', from: 1, to: 2 }],
      },
      { ...looked, type: 'token.issue', session_id: 's', request_id: 'r', trace_id: 'f'.repeat(32) },
      { ...looked, type: 'token.revoke', target: `line\nend\0nul \ud800 half ${'long '.repeat(90)}` },
      { ...looked, type: 'a.b.c', user: 'Ünï "quoted" \\', data: { text: 'Straße' } },
    ]
    for (const event of events) for (const log of [audit, files.audit]) await log.record(event)
    const questions = [
      {},
      { user: 'bob' },
      { user: 'Ünï "quoted" \\' },
      { status: 'denied' },
      { status: 'ok' },
      { type: 'token.' },
      { type: 'token.issue' },
      { type: 'a.b.' },
      { type: 'a.' },
      { type: 'tok' },
      { document: 'Patient/PAT-1' },
      { document: 'Patient/a/b' },
      { document: 'Patient/PAT-2' },
      { document: 'Sales Order/SO/7' },
      { doctype: 'Patient' },
      { doctype: 'Sales Order' },
      { doctype: 'Sales Order/SO' },
      { text: 'PATIENT' },
      { text: 'straße' },
      { client: 'c1' },
      { session: 's' },
      { request: 'r' },
      { trace: 'f'.repeat(32) },
      { target: 'get_document', user: 'ann@example.com' },
      { target: events[6]!.target! },
      { seq: 3 },
      { seq: 99 },
      { until: 0 },
      { document: 'Patient/PAT-1', user: 'bob' },
    ] as const
    for (const question of questions) {
      const wanted = (await all(files.audit, question)).filter(isTold)
      const found = (await all(audit, question)).filter(isTold)
      assert.deepEqual(found.map(content), wanted.map(content), JSON.stringify(question))
    }
  })

  it('sends each event away once, by the daemon that wrote it', async (t) => {
    const received: string[] = []
    const webhook = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      request.on('end', () => {
        for (const { target } of (JSON.parse(body) as { events: AuditLine[] }).events)
          if (target !== undefined) received.push(target)
        response.end()
      })
    })
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
    afterwards(t, async () => {
      webhook.close()
      webhook.closeAllConnections()
    })
    const settings = { webhook: { url: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}` } }
    const url = await server.newDatabase()
    const writers = [await start(t, url, { settings }), await start(t, url, { settings })]
    const sent: string[] = []
    for (const [w, { audit, store }] of writers.entries())
      for (let n = 0; n < 5; n++) {
        sent.push(`read ${w} ${n}`, `write ${w} ${n}`)
        await audit.record({ ...looked, target: `read ${w} ${n}` })
        await store.transaction((transaction) =>
          audit.recordIn(transaction, { ...looked, target: `write ${w} ${n}` }),
        )
      }
    await until(() => received.length >= sent.length)
    for (const writer of writers) await writer.close()
    assert.deepEqual(received.toSorted(), sent.toSorted())
  })

  it('is refused with the database, waits for it and loses nothing', async (t) => {
    const own = await startPostgres(t)
    const { audit, store, log } = await start(t, await own.newDatabase())
    const notes = store.collection<{ id: string }>({ name: 'test.note' })
    await audit.record({ ...looked, target: 'before' })
    await own.stop()
    const waiting = audit.record({ ...looked, target: 'meanwhile' })
    await until(() => throwsUnavailable(() => audit.requireWritable()))
    assert.ok((await audit.stats()).fault)
    await assert.rejects(
      store.transaction(async (transaction) => {
        await transaction.in(notes).insert({ id: 'a' })
        await audit.recordIn(transaction, { ...looked, type: 'document.create', target: 'Note/a' })
      }),
      isApp('unavailable'),
    )
    await assert.rejects(audit.record({ ...looked, target: 'refused' }), isApp('unavailable'))
    await own.start()
    await waiting
    await until(() => !throwsUnavailable(() => audit.requireWritable()))
    assert.deepEqual(
      (await all(audit)).map(({ target }) => target),
      ['before', 'meanwhile'],
    )
    assert.equal(await notes.count(), 0)
    const { faults } = await audit.verify()
    assert.deepEqual(faults, [])
    assert.deepEqual((await audit.stats()).losses, [])
    assert.ok(log.lines.length > 0)
  })

  it('keeps what a daemon told that was lost with its folder, and says that it is whole', async (t) => {
    const url = await server.newDatabase()
    const state = await temporaryFolder(t)
    const [a, b] = [await start(t, url), await start(t, url, { state })]
    const notes = b.store.collection<{ id: string }>({ name: 'test.note' })
    for (let n = 0; n < 40; n++)
      await b.store.transaction(async (transaction) => {
        await transaction.in(notes).insert({ id: String(n) })
        await b.audit.recordIn(transaction, { ...looked, type: 'document.create', target: `Note/${n}` })
      })
    await introduce(a)
    await rm(b.folder, { recursive: true })
    await a.audit.record(looked)
    assert.equal((await all(a.audit, { type: 'document.create' })).length, 40)
    assert.deepEqual((await a.audit.verify()).faults, [])
    // One that begins anew in its place has another key, for which somebody has to answer.
    await b.store.close()
    const again = await start(t, url, { state })
    assert.match((await again.audit.stats()).losses[0]!.what, /now key \S+ lies there/)
    await again.audit.record(looked)
    assert.match((await a.audit.verify()).faults.join('\n'), /now key \S+ lies there/)
    assert.equal((await a.audit.acceptLosses('ann', 'the disk was lost')).length, 1)
    await introduce(a)
    const { faults, notes: said } = await a.audit.verify()
    assert.deepEqual(faults, [])
    assert.match(said.join('\n'), /accepted by ann: the disk was lost/)
    assert.equal((await all(a.audit, { type: 'document.create' })).length, 40)
  })

  const attacks: Readonly<Record<string, readonly [how: string, told: RegExp]>> = {
    'that a row was removed': [
      'DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq = 3',
      /:4: line 3 is missing/,
    ],
    'that a row was changed': [
      `UPDATE assistant_core.ledger SET line = replace(line, 't2', 'tx') WHERE writer = $1 AND seq = 3`,
      /:3: this line was changed/,
    ],
    'that a row is hidden from a search': [
      `UPDATE assistant_core.ledger SET terms = '{}' WHERE writer = $1 AND seq = 3`,
      /:3: this line is not found by what it tells/,
    ],
    'that a row has another time': [
      'UPDATE assistant_core.ledger SET at = 0 WHERE writer = $1 AND seq = 3',
      /:3: this line is not found by what it tells/,
    ],
    'that the tail of a writer was cut off': [
      'DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq >= 4',
      /the log of this writer ends at line 3, and .* signed line \d+/,
    ],
    'that a writer was removed': [
      'WITH w AS (DELETE FROM assistant_core.ledger_writer WHERE id = $1) DELETE FROM assistant_core.ledger WHERE writer = $1',
      /: this writer is missing: .* signed that it had come to line \d+/,
    ],
    'that the key of a writer was replaced': [
      `UPDATE assistant_core.ledger_writer w SET keys = o.keys FROM assistant_core.ledger_writer o WHERE w.id = $1 AND o.id <> $1`,
      /this was signed with another key[^]*key \S+ signed it, as .* saw, and not the key that lies here/,
    ],
    'that lines are gone which nobody says were removed': [
      'DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq < 3',
      /:3: lines 1 to 2 are missing/,
    ],
  }
  for (const [what, [how, told]] of Object.entries(attacks))
    it(`tells on any daemon ${what}, also when the state was made to forget`, async (t) => {
      const url = await server.newDatabase()
      const [a, b] = [await start(t, url), await start(t, url)]
      for (let n = 0; n < 5; n++) await b.audit.record({ ...looked, target: `t${n}` })
      const [{ writer } = {}] = await all(b.audit, { target: 't0' })
      await introduce(a)
      await b.close()
      // Who writes signs how far the others have come.
      const state = join(a.folder, '..')
      await a.audit.record(looked)
      await a.close()
      const again = await start(t, url, { state })
      assert.deepEqual((await again.audit.verify()).faults, [])
      const client = await clientOf(t, url)
      const changed = await client.query(how, [writer])
      assert.ok(changed.rowCount! > 0)
      await client.query("DELETE FROM assistant_core.document WHERE collection = 'audit.head'")
      const { ok, faults } = await again.audit.verify()
      assert.equal(ok, false)
      assert.match(faults.join('\n'), told)
      // And so does one that was not there before.
      const late = await start(t, url)
      assert.match((await late.audit.verify()).faults.join('\n'), told)
    })

  it('tells that a running daemon misses what it had written, and goes on', async (t) => {
    const url = await server.newDatabase()
    const { audit, log } = await start(t, url)
    for (let n = 0; n < 5; n++) await audit.record({ ...looked, target: `t${n}` })
    const client = await clientOf(t, url)
    await client.query('DELETE FROM assistant_core.ledger WHERE seq >= 4')
    await audit.record({ ...looked, target: 'later' })
    const [loss] = (await audit.stats()).losses
    assert.deepEqual([loss?.expected, loss?.found], [5, 3])
    assert.ok(log.lines.some(({ message }) => message.includes('lines are missing at the end')))
    assert.deepEqual(
      (await all(audit)).map(({ target }) => target),
      ['t0', 't1', 't2', 'later'],
    )
    await audit.settled()
    assert.match((await audit.verify()).faults.join('\n'), /5 had been written, 3 were found/)
    await audit.acceptLosses('ann', 'it was me')
    assert.deepEqual((await audit.verify()).faults, [])
  })

  it('tells that the database is one of before, as of a backup, once it starts again', async (t) => {
    const url = await server.newDatabase()
    const state = await temporaryFolder(t)
    const first = await start(t, url, { state })
    await first.audit.record({ ...looked, target: 'kept' })
    await first.close()
    const name = new URL(url).pathname.slice(1)
    await server.admin.query(`CREATE DATABASE ${name}_before TEMPLATE ${name}`)
    const second = await start(t, url, { state })
    await second.audit.record({ ...looked, target: 'lost' })
    await second.close()
    const third = await start(t, url.replace(name, `${name}_before`), { state })
    const [loss] = (await third.audit.stats()).losses
    assert.ok(loss && loss.expected > loss.found, JSON.stringify(loss))
    assert.match((await third.audit.verify()).faults.join('\n'), /had been written/)
    assert.ok(third.log.lines.some(({ message }) => message.includes('lines are missing at the end')))
  })

  it('hands over to another key, which every daemon can check', async (t) => {
    const url = await server.newDatabase()
    const [a, b] = [await start(t, url), await start(t, url)]
    await a.audit.record(looked)
    const { from, to } = await a.audit.changeKey()
    await a.audit.record(looked)
    assert.notEqual(from, to)
    for (const { audit } of [a, b]) assert.deepEqual((await audit.verify()).faults, [])
    await a.close()
    const again = await start(t, url, { state: join(a.folder, '..') })
    await again.audit.record(looked)
    assert.deepEqual((await again.audit.stats()).losses, [])
    const verified = await b.audit.verify()
    assert.deepEqual(verified.faults, [])
    assert.equal(verified.writers?.filter(({ lines }) => lines > 0).length, 1)
  })

  it('takes over the files and the waiting events of version 2.8.0, each once', async (t) => {
    const url = await server.newDatabase()
    const files = await startAudit(t)
    for (let n = 0; n < 5; n++) await files.audit.record({ ...looked, target: `file${n}` })
    await files.audit.close()
    const lines: string[] = []
    for await (const line of searchAudit(new FileLedger(files.folder))) lines.push(JSON.stringify(line))
    const key = JSON.parse(await readFile(join(files.folder, 'head.json'), 'utf8')).key as string
    // What waited in the database: one that the files have, one of this daemon, one of a daemon that is gone, one of a living one.
    const early = await openPostgresStore({ url, clock: systemClock, log: testLog() })
    const waiting = early.collection<{ id: string }>({ name: 'audit.outbox', indexes: ['log' as never] })
    const wait = (id: string, log: string, time: string): Promise<unknown> =>
      waiting.put({ id, log, after: 0, time, event: { ...looked, target: id } } as { id: string })
    const { id, time } = JSON.parse(lines[2]!) as AuditLine
    const now = new Date().toISOString()
    await wait(id, key, time)
    await wait('mine', key, now)
    await wait('orphan', 'another', '2026-01-01T00:00:00.000Z')
    await wait('living', 'another', now)
    await early.close()

    const { audit, store } = await start(t, url, { state: files.state })
    assert.deepEqual((await all(audit)).map(({ target }) => String(target)).toSorted(), [
      'file0',
      'file1',
      'file2',
      'file3',
      'file4',
      'mine',
      'orphan',
    ])
    const kept: AuditLine[] = []
    for await (const line of searchAudit(audit.place)) kept.push(line)
    for (const line of lines)
      assert.ok(
        kept.some((one) => JSON.stringify(one) === line),
        line,
      )
    assert.deepEqual((await audit.verify()).faults, [])
    assert.deepEqual((await audit.stats()).losses, [])
    const left = store.collection<{ id: string }>({ name: 'audit.outbox', indexes: ['log' as never] })
    assert.deepEqual(
      (await left.find()).map((one) => one.id),
      ['living'],
    )
    // And once only.
    await audit.close()
    await store.close()
    const again = await start(t, url, { state: files.state })
    assert.equal((await all(again.audit)).length, 7)
    assert.deepEqual((await again.audit.verify()).faults, [])
  })

  it('removes what is too old, whoever wrote it, tells of it and is whole', async (t) => {
    const url = await server.newDatabase()
    const b = await start(t, url)
    for (let n = 0; n < 5; n++) await b.audit.record({ ...looked, target: `old${n}` })
    await b.close()
    const clock = { now: () => Date.now() + 400 * 86_400_000 }
    const a = await start(t, url, { clock })
    // Its last line is a signature, which goes only when somebody else has signed on.
    await a.audit.tidy()
    await a.audit.record({ ...looked, target: 'new' })
    await a.audit.tidy()
    assert.deepEqual(
      (await all(a.audit)).map(({ target }) => target),
      ['new'],
    )
    const pruned = await tailAudit(a.audit.place, 10, { type: 'audit.prune' })
    assert.equal(pruned.at(-1)?.data?.['through'], 6, 'five events and the signature')
    assert.deepEqual((await a.audit.verify()).faults, [])
    // What says so must be signed: otherwise anybody could say it.
    await a.audit.record(looked)
    const client = await clientOf(t, url)
    const [{ writer, seq } = {}] = await tailAudit(a.audit.place, 1)
    await client.query(
      `UPDATE assistant_core.ledger SET line = replace(line, '"type":"tool.call"', $3) WHERE writer = $1 AND seq = $2`,
      [writer, seq, `"type":"audit.prune","data":{"writer":"${writer}","through":3}`],
    )
    await client.query('DELETE FROM assistant_core.ledger WHERE writer = $1 AND seq <= 3', [writer])
    assert.match((await a.audit.verify()).faults.join('\n'), /lines 1 to 3 are missing/)
  })

  it('does not remove, and sign for, what was only made to look old', async (t) => {
    const url = await server.newDatabase()
    const a = await start(t, url)
    for (let n = 0; n < 5; n++) await a.audit.record({ ...looked, target: `t${n}` })
    const [{ writer } = {}] = await all(a.audit, { target: 't0' })
    const client = await clientOf(t, url)
    await client.query('UPDATE assistant_core.ledger SET at = 0 WHERE writer = $1 AND seq <= 2', [writer])
    await a.audit.tidy()
    assert.equal((await all(a.audit, { type: 'audit.prune' })).length, 0)
    assert.match((await a.audit.verify()).faults.join('\n'), /:2: this line is not found by what it tells/)
    // Nor when the line says so as well: the one behind it names another.
    await client.query(
      `UPDATE assistant_core.ledger SET line = replace(line, '"time":"2', '"time":"1') WHERE writer = $1 AND seq <= 2`,
      [writer],
    )
    await a.audit.tidy()
    assert.equal((await all(a.audit, { type: 'audit.prune' })).length, 0)
    assert.match((await a.audit.verify()).faults.join('\n'), /:2: this line was changed/)
  })

  it('becomes a folder of files for each daemon, and lines in another database again', async (t) => {
    const url = await server.newDatabase()
    const [a, b] = [await start(t, url), await start(t, url)]
    for (const { audit } of [a, b]) await audit.record(looked)
    const to = join(await temporaryFolder(t), 'copy')
    const first = await copyLog(a.store.ledger, a.folder, to, testLog())
    assert.deepEqual([first.ok, first.copied], [true, 2])
    await b.audit.record({ ...looked, target: 'more' })
    const second = await copyLog(a.store.ledger, a.folder, to, testLog())
    assert.deepEqual([second.ok, second.copied, second.lines], [true, 1, first.lines + 1])
    const logs = await exportedLogs(to)
    const other = await openPostgresStore({
      url: await server.newDatabase(),
      clock: systemClock,
      log: testLog(),
    })
    afterwards(t, () => other.close())
    for (const one of logs) await importLog(one.folder, other.ledger, one, testLog())
    const texts = async (place: Ledger): Promise<string[]> => {
      const lines: string[] = []
      for await (const line of searchAudit(place)) lines.push(JSON.stringify(line))
      return lines
    }
    assert.deepEqual(await texts(other.ledger), await texts(a.audit.place))
    await assert.rejects(copyLog(a.store.ledger, a.folder, a.folder, testLog()), isApp('conflict'))
  })
})

/** What was told, without its place in a log. */
function content(line: AuditLine): object {
  return { ...line, seq: 0, id: '', prev: '', time: '', writer: '' }
}

function throwsUnavailable(work: () => void): boolean {
  try {
    work()
    return false
  } catch (error) {
    return isApp('unavailable')(error)
  }
}
