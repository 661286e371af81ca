import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import assert from 'node:assert/strict'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AuditEvent } from '#audit/audit.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { tailAudit } from '#audit/finding/search.ts'
import { openAudit } from '#audit/open-audit.ts'
import { isApp } from '../../state/test/contract.ts'
import { readHead } from '#audit/checkpoint.ts'
import { currentText, daysLater, linesOf, startAudit } from './audit-folder.ts'

const call: AuditEvent = {
  type: 'tool.call',
  status: 'ok',
  user: 'ann@example.com',
  session_id: 's1',
  target: 'list_documents',
  execution_time: 0.012,
}

describe('the audit log', () => {
  it('holds an event on disk once its promise has settled', async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record(call)
    const [line] = await linesOf(folder)
    assert.equal(line?.seq, 1)
    assert.equal(line.time, '2026-01-02T03:04:05.000Z')
    assert.equal(line.user, 'ann@example.com')
    assert.equal(line.execution_time, 0.012)
  })

  it('numbers its lines without gaps and chains each to the bytes of the one before, over restarts', async (t) => {
    const opened = await startAudit(t)
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => opened.audit.record({ ...call, target: `t${index}` })),
    )
    const again = await opened.reopen()
    await again.audit.record(call)
    const text = (await currentText(again.folder)).trimEnd().split('\n')
    assert.ok(text.length >= 51)
    for (const [index, line] of text.entries()) {
      const { seq, prev } = JSON.parse(line) as { seq: number; prev: string }
      assert.equal(seq, index + 1)
      if (index > 0) {
        assert.equal(
          prev,
          createHash('sha256')
            .update(text[index - 1]!)
            .digest('base64url'),
        )
      }
    }
  })

  it('keeps its folder and files to itself', async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record(call)
    assert.equal((await stat(folder)).mode & 0o777, 0o700)
    for (const { path } of await listLogFiles(folder)) assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.equal((await stat(`${folder}/key.pem`)).mode & 0o777, 0o600)
  })

  it('redacts secrets at any depth and in any text', async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record({
      ...call,
      error: 'Bearer abcdefghijklmnop was refused',
      target: 'ac_at_0123456789abcdef0123',
      data: {
        arguments: { list: [{ password: 'hunter2', note: 'token ac_rt_0123456789abcdef0123' }] } as never,
        api_key: 'k',
      },
    })
    const text = await currentText(folder)
    for (const secret of ['abcdefghijklmnop', 'hunter2', '0123456789abcdef', '"k"']) {
      assert.ok(!text.includes(secret), secret)
    }
    assert.match(text, /\[redacted\]/)
  })

  it('is one line an event, whatever the texts hold', async (t) => {
    const { audit, folder } = await startAudit(t)
    const hostile = 'a\n{"seq":9}\r\u001b]0;x\u0007\u0085\u2028\u2029\u202e\u200b\u{e0041}\u007f"\\'
    const keys = ['type', 'user', 'client', 'session_id', 'request_id', 'address', 'target', 'error'] as const
    for (const key of keys) await audit.record({ ...call, [key]: hostile })
    await audit.record({ ...call, data: { [hostile]: [hostile, { deep: hostile }] } })
    const lines = await linesOf(folder)
    assert.equal(lines.length, keys.length + 1)
    for (const [index, key] of keys.entries()) assert.equal(lines[index]![key], hostile)
    assert.deepEqual(lines.at(-1)!.data, { [hostile]: [hostile, { deep: hostile }] })
    assert.match(await currentText(folder), /^[\x20-\x7e\n]*$/)
  })

  it('cuts what is too large, and says so', async (t) => {
    const { audit, folder } = await startAudit(t, { max_event_bytes: 4096 })
    await audit.record({
      ...call,
      data: { text: 'x'.repeat(100_000), list: Array.from({ length: 5000 }, (_, i) => i) },
    })
    await audit.record({
      ...call,
      data: { wide: Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, 'v'.repeat(500)])) },
    })
    await audit.record({ ...call, error: 'e'.repeat(100_000), user: 'u'.repeat(10_000) })
    for (const line of (await currentText(folder)).trimEnd().split('\n')) {
      assert.ok(Buffer.byteLength(line) < 4096 + 300, String(Buffer.byteLength(line)))
      assert.match(line, /… ?\d+ more|\d+ more/)
    }
  })

  it('refuses to be told anything once it is closed, and a refusal nobody waits for harms nobody', async (t) => {
    const { audit } = await startAudit(t)
    await audit.close()
    void audit.record(call)
    await assert.rejects(audit.record(call), isApp('unavailable'))
    assert.throws(() => audit.requireWritable(), isApp('unavailable'))
  })

  it('answers its last events, the newest last', async (t) => {
    const { audit, folder } = await startAudit(t)
    for (let index = 0; index < 30; index++) void audit.record({ ...call, target: `t${index}` })
    await audit.settled()
    assert.deepEqual(
      (await tailAudit(new FileLedger(folder), 3)).map(({ target }) => target),
      ['t27', 't28', 't29'],
    )
    assert.equal((await tailAudit(new FileLedger(folder), 1000)).length, 30)
  })
})

describe('the key of the audit log', () => {
  it('is not replaced where its file cannot be read or holds none: what it signed could not be checked any more', async (t) => {
    const opened = await startAudit(t)
    await opened.audit.record(call)
    await opened.audit.close()
    const [key, own] = [join(opened.folder, 'key.pem'), join(opened.folder, 'key.pub.pem')]
    const [text, publicText] = [await readFile(key, 'utf8'), await readFile(own, 'utf8')]
    const refused = async (why: RegExp | object): Promise<void> => {
      await assert.rejects(openAudit(opened), why)
      assert.equal(await readFile(own, 'utf8'), publicText)
    }
    await rm(key)
    // Stands for a file of another user, which no test that runs as root can make.
    await mkdir(key)
    await refused({ code: 'EISDIR' })
    await rm(key, { recursive: true })
    for (const damaged of ['', text.slice(0, 60)]) {
      await writeFile(key, damaged)
      await refused(/key\.pem holds no key of the audit log; put back its copy/)
    }
    await writeFile(key, text)
    await writeFile(own, '')
    await assert.rejects(openAudit(opened), /key\.pub\.pem holds no key of the audit log/)
    await writeFile(own, publicText)
    const again = await opened.reopen()
    assert.deepEqual((await again.audit.verify()).faults, [])
  })
})

describe('how far the audit log has come', () => {
  it('is noted outside of it once a second at most, however much is signed, and the end of it at last', async (t) => {
    const opened = await startAudit(t)
    const { audit, folder } = opened
    const noted = async (): Promise<number> => ((await readHead(folder, undefined)) as { seq: number }).seq
    const since = performance.now()
    const heads = new Set<number>()
    for (let batch = 0; batch < 8; batch++) {
      await Promise.all(Array.from({ length: 1000 }, () => audit.record(call)))
      heads.add(await noted())
    }
    const seconds = (performance.now() - since) / 1000
    assert.ok(heads.size <= 2 + seconds, `${heads.size} notes in ${seconds} seconds`)
    const last = (await linesOf(folder)).findLast(({ type }) => type === 'audit.checkpoint')!
    while ((await noted()) < last.seq) await delay(50)
    assert.equal(await noted(), last.seq)
    await audit.record(call)
    const closing = await opened.reopen()
    assert.equal((await closing.audit.verify()).ok, true)
  })

  it('is noted before anything else, where an event removes lines', async (t) => {
    const opened = await startAudit(t, { retention_days: 33 })
    const { audit, folder } = opened
    for (let n = 0; n < 8; n++) {
      await audit.record(call)
      daysLater(opened, 10)
    }
    await audit.record(call)
    await audit.tidy()
    const prune = (await linesOf(folder)).findLast(({ type }) => type === 'audit.prune')
    assert.ok(prune, 'lines were removed')
    const head = (await readHead(folder, undefined)) as { seq: number }
    assert.ok(head.seq > prune.seq, `the head says ${head.seq}, the removal stands at ${prune.seq}`)
  })
})

describe('events told inside a transaction', () => {
  const notes = { name: 'test.note' } as const

  it('are in the log once, after the transaction was kept, and leave the state', async (t) => {
    const { audit, store, folder } = await startAudit(t)
    await store.transaction(async (transaction) => {
      await transaction.in(store.collection(notes)).put({ id: 'n' })
      await audit.recordIn(transaction, { ...call, type: 'document.create' })
      await audit.settled()
      assert.equal((await linesOf(folder)).length, 0)
    })
    await audit.settled()
    assert.deepEqual(
      (await linesOf(folder)).map(({ type }) => type),
      ['document.create'],
    )
    assert.equal(store.stats().documents['audit.outbox'], 0)
  })

  it('are in the log once when they waited over a restart, also as a release before left them', async (t) => {
    const first = await startAudit(t)
    const waiting = first.store.collection({ name: 'audit.outbox', indexes: ['log' as never] })
    const of = { after: 0, time: '2026-01-01T00:00:00.000Z' }
    await waiting.put({ ...of, id: 'older', event: { ...call, type: 'document.create' } } as never)
    await waiting.put({
      ...of,
      id: 'newer',
      text: JSON.stringify({ ...call, type: 'document.update' }),
    } as never)
    const { store, folder } = await first.reopen()
    assert.deepEqual(
      (await linesOf(folder)).map(({ id, type, time, user }) => ({ id, type, time, user })),
      [
        { id: 'newer', type: 'document.update', time: of.time, user: call.user },
        { id: 'older', type: 'document.create', time: of.time, user: call.user },
      ],
    )
    assert.equal(store.stats().documents['audit.outbox'], 0)
  })

  it('are not in the log when the transaction was not kept', async (t) => {
    const { audit, store, folder } = await startAudit(t)
    const failing = store.transaction(async (transaction) => {
      await transaction.in(store.collection(notes)).put({ id: 'n' })
      await audit.recordIn(transaction, call)
      throw new Error('no')
    })
    await assert.rejects(failing, /no/)
    await audit.record({ ...call, target: 'later' })
    assert.deepEqual(
      (await linesOf(folder)).map(({ target }) => target),
      ['later'],
    )
    assert.equal(await store.collection(notes).count(), 0)
  })

  it('are redacted before they reach the state', async (t) => {
    const { audit, store } = await startAudit(t)
    await store.transaction(async (transaction) => {
      await audit.recordIn(transaction, { ...call, data: { password: 'hunter2' } })
      const waiting = await transaction
        .in(store.collection({ name: 'audit.outbox', indexes: ['log' as never] }))
        .find()
      assert.equal(waiting.length, 1)
      assert.ok(!JSON.stringify(waiting).includes('hunter2'))
    })
  })
})
