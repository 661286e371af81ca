import { execFileSync } from 'node:child_process'
import { appendFile, cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { AuditEvent } from '#audit/audit.ts'
import { FileLedger } from '#audit/files/file-ledger.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { parseLine } from '#audit/line.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { afterwards, temporaryFolder } from '../../state/test/state-folder.ts'
import { daysLater, linesOf, startAudit } from './audit-folder.ts'

const day = 86_400_000
const call: AuditEvent = { type: 'tool.call', status: 'ok', target: 'x'.repeat(100) }

describe('rotation of the audit log', () => {
  it('begins a new file when one is large enough, and compresses the old ones', async (t) => {
    const { audit, folder } = await startAudit(t, { max_file_bytes: 1500 })
    for (let index = 0; index < 30; index++) await audit.record(call)
    await audit.tidy()
    const files = await listLogFiles(folder)
    assert.ok(files.length > 3)
    assert.deepEqual(
      files.map(({ compressed }) => compressed),
      [...files.slice(1).map(() => true), false],
    )
    assert.ok(!(await readdir(folder)).some((name) => name.endsWith('.new')))
    const { ok, faults, lines } = await verifyAudit(folder)
    assert.ok(ok, faults.join('\n'))
    assert.ok(lines > 30)
  })

  it('begins a new file each day, named by its first line and the day', async (t) => {
    const { audit, folder, clock } = await startAudit(t)
    await audit.record(call)
    clock.advance(day)
    await audit.record(call)
    await audit.tidy()
    assert.deepEqual(
      (await listLogFiles(folder)).map(({ name }) => name),
      ['audit-000000000001-2026-01-02.jsonl.gz', 'audit-000000000003-2026-01-03.jsonl'],
    )
  })

  it('removes files that are older than allowed, says so, and the rest still verifies', async (t) => {
    const opened = await startAudit(t, { retention_days: 33 })
    const { audit, folder } = opened
    for (let index = 0; index < 8; index++) {
      await audit.record(call)
      daysLater(opened, 10)
    }
    await audit.record(call)
    await audit.tidy()
    const files = await listLogFiles(folder)
    assert.deepEqual(
      files.map(({ day }) => day.slice(-5)),
      ['02-21', '03-03', '03-13', '03-23'],
    )
    const { ok, faults, first, last } = await verifyAudit(folder)
    assert.ok(ok, faults.join('\n'))
    assert.ok(first > 1)
    const pruned = (await linesOf(folder)).filter(({ type }) => type === 'audit.prune')
    assert.equal(pruned.at(-1)?.data?.['through'], first - 1)
    assert.ok(last > first)
  })

  it('removes the oldest files while all together are too large', async (t) => {
    const opened = await startAudit(t, { max_file_bytes: 1500, max_total_bytes: 6000 })
    const { audit, folder } = opened
    for (let index = 0; index < 200; index++)
      void audit.record({ ...call, target: `${index}`.padEnd(150, '.') })
    for (let index = 0; index < 50; index++) await audit.record({ ...call, request_id: `${index}` })
    daysLater(opened, 32)
    await audit.record(call)
    await audit.tidy()
    await audit.tidy()
    const files = await listLogFiles(folder)
    assert.ok(files.reduce((sum, { bytes }) => sum + bytes, 0) < 8000)
    assert.ok(files[0]!.first > 1)
    const { faults } = await verifyAudit(folder)
    assert.deepEqual(faults, [])
  })

  it('tells a removal once, and compresses what is left, while a file cannot be removed', async (t) => {
    const opened = await startAudit(t, { max_file_bytes: 1500, max_total_bytes: 2500 })
    const { audit, folder, log } = opened
    for (let index = 0; index < 30; index++)
      await audit.record({ ...call, type: 'cli.run', request_id: `${index}` })
    daysLater(opened, 32)
    const [first] = await listLogFiles(folder)
    const held = await readFile(first!.path)
    // As an immutable file: it can be read, and neither removed nor replaced.
    try {
      execFileSync('chattr', ['+i', first!.path], { stdio: 'pipe' })
    } catch {
      // Who is not root cannot, nor can root on every file system.
      return t.diagnostic('not tried: no file can be made immutable here')
    }
    afterwards(t, () => void execFileSync('chattr', ['-i', first!.path]))
    for (let round = 0; round < 4; round++) {
      await audit.record({ ...call, request_id: `round ${round}` })
      await audit.tidy()
    }
    assert.deepEqual(await readFile(first!.path), held)
    assert.ok(log.lines.some(({ message }) => message === 'old audit files could not be put in order'))
    const lines = await linesOf(folder)
    const through = lines.flatMap(({ type, data }) => (type === 'audit.prune' ? [data!['through']] : []))
    assert.ok(through.length > 0 && new Set(through).size === through.length, through.join())
    const again = lines.flatMap(({ again, id }) => (again ? [id] : []))
    assert.equal(new Set(again).size, again.length)
    assert.ok(again.length > 0)
    const files = await listLogFiles(folder)
    assert.equal(files.filter(({ compressed }) => !compressed).length, 1)
    assert.deepEqual((await audit.verify()).faults, [])
  })

  it('cut off at any step goes on where it was', async (t) => {
    const opened = await startAudit(t)
    for (let index = 0; index < 5; index++) await opened.audit.record({ ...call, request_id: `${index}` })
    await opened.audit.close()
    await opened.store.close()
    const [current] = await listLogFiles(opened.folder)
    const text = await readFile(current!.path)
    const steps: [name: string, make: (folder: string) => Promise<void>][] = [
      ['before', async () => undefined],
      [
        'an empty new file',
        async (folder) => writeFile(join(folder, 'audit-000000000007-2026-01-03.jsonl'), ''),
      ],
      [
        'half of the first line of the new file',
        async (folder) => writeFile(join(folder, 'audit-000000000007-2026-01-03.jsonl'), '{"seq":7,"ti'),
      ],
      [
        'half a compressed file',
        async (folder) => writeFile(join(folder, `${current!.name}.gz.new`), 'half'),
      ],
      ['both', async (folder) => writeFile(join(folder, `${current!.name}.gz`), gzipSync(text))],
    ]
    for (const [name, make] of steps) {
      const state = await temporaryFolder(t)
      await cp(opened.state, state, { recursive: true })
      await make(join(state, 'audit'))
      const again = await startAudit(t, {}, state)
      again.clock.advance(day)
      await again.audit.record({ ...call, request_id: 'after' })
      await again.audit.tidy()
      const lines = await linesOf(again.folder)
      assert.deepEqual(
        lines.map(({ request_id: id }) => id).filter(Boolean),
        ['0', '1', '2', '3', '4', 'after'],
        name,
      )
      const { faults } = await again.audit.verify()
      assert.deepEqual(faults, [], name)
      assert.equal(
        lines.some(({ type }) => type === 'audit.repair'),
        name.startsWith('half of'),
        name,
      )
    }
  })
})

describe('a compressed file of the audit log', () => {
  it('that is damaged is named by verify, and hides no other from those who read or tidy', async (t) => {
    const { audit, folder } = await startAudit(t, { max_file_bytes: 1500 })
    for (let index = 0; index < 30; index++) await audit.record({ ...call, request_id: `${index}` })
    await audit.tidy()
    const files = await listLogFiles(folder)
    const { path, name } = files[1]!
    const whole = await readFile(path)
    const others = (await linesOf(folder)).length - (files[2]!.first - files[1]!.first)
    const damages: [string, Buffer][] = [
      ['a byte', Buffer.from(whole.map((byte, at) => (at === 100 ? byte ^ 255 : byte)))],
      [
        'the check at its end',
        Buffer.from(whole.map((byte, at) => (at === whole.length - 6 ? byte ^ 255 : byte))),
      ],
      ['its end', whole.subarray(0, 200)],
      ['all of it', Buffer.alloc(0)],
      ['all of it, with NUL', Buffer.alloc(whole.length)],
    ]
    for (const [what, bytes] of damages) {
      await writeFile(path, bytes)
      const { ok, faults } = await audit.verify()
      assert.ok(!ok && faults[0]!.startsWith(`${name}:`), `${what}: ${faults.join('; ')}`)
      for (const backward of [false, true]) {
        const seen = new Set<number>()
        for await (const lines of new FileLedger(folder).read({ backward }))
          for (const { bytes } of lines) seen.add(parseLine(bytes)?.seq ?? 0)
        assert.ok([...seen].filter((seq) => seq < files[1]!.first || seq >= files[2]!.first).length >= others)
      }
      for (let index = 0; index < 10; index++) await audit.record(call)
      await audit.tidy()
      assert.deepEqual((await listLogFiles(folder)).filter(({ compressed }) => !compressed).length, 1, what)
    }
    await writeFile(path, whole)
    assert.deepEqual((await audit.verify()).faults, [])
  })
})

describe('the end of the audit log after a crash', () => {
  it('is repaired wherever the last line was cut: the piece is put aside, and that is told', async (t) => {
    const opened = await startAudit(t)
    await opened.audit.record({ ...call, request_id: 'whole' })
    await opened.audit.close()
    await opened.store.close()
    const [file] = await listLogFiles(opened.folder)
    const whole = await readFile(file!.path)
    const line = Buffer.from(
      '{"seq":3,"time":"2026-01-02T03:04:05.000Z","id":"x","prev":"y","type":"a.b","status":"ok"}',
    )
    for (const length of [1, 2, 10, 40, line.length - 1, line.length]) {
      const state = await temporaryFolder(t)
      await cp(opened.state, state, { recursive: true })
      const folder = join(state, 'audit')
      await appendFile(join(folder, file!.name), line.subarray(0, length))
      const again = await startAudit(t, {}, state)
      await again.audit.record({ ...call, request_id: 'after' })
      const lines = await linesOf(folder)
      assert.deepEqual(
        lines.map(({ seq }) => seq),
        [1, 2, 3, 4, 5],
      )
      assert.deepEqual(
        lines.slice(2).map(({ type }) => type),
        // Behind the end of a run the next one signs first.
        ['audit.checkpoint', 'audit.repair', 'tool.call'],
      )
      const aside = String(lines[3]!.data?.['kept_as'])
      assert.deepEqual(await readFile(join(folder, aside)), line.subarray(0, length))
      assert.deepEqual((await readFile(join(folder, file!.name))).subarray(0, whole.length), whole)
      assert.deepEqual((await again.audit.verify()).faults, [])
    }
  })
})
