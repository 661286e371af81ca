/** For how long the log is kept, who may shorten that, and what verify says of it. */
import assert from 'node:assert/strict'
import { readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import type { AuditEvent } from '#audit/audit.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { daysLater, linesOf, type OpenedAudit, startAudit } from './audit-folder.ts'

const day = 86_400_000
const call: AuditEvent = { type: 'tool.call', status: 'ok', target: 'x'.repeat(100) }

async function told({ folder }: OpenedAudit, type: string): Promise<readonly object[]> {
  return (await linesOf(folder)).filter((line) => line.type === type).map(({ data }) => data ?? {})
}

describe('the retention of the audit log', () => {
  it('counts at once where it grows, and a day later where it shrinks, over any number of starts', async (t) => {
    let opened = await startAudit(t, { retention_days: 100, max_total_bytes: 1000 })
    await opened.audit.tidy()
    const wanted = async (retention_days: number, max_total_bytes: number): Promise<readonly string[]> => {
      opened.audit.configure({ retention_days, max_total_bytes })
      await opened.audit.tidy()
      return (await opened.audit.stats()).warnings
    }
    assert.deepEqual(await told(opened, 'audit.retention'), [], 'the first is nothing new')
    assert.deepEqual(await wanted(200, 0), [])
    assert.deepEqual(await told(opened, 'audit.retention'), [{ retention_days: 200, max_total_bytes: 0 }])

    const [first] = await wanted(90, 5000)
    assert.match(
      first!,
      /^from 2026-01-03T03:04:05\S+ on the log is kept for 90 days, in at most 5000 bytes; until then for 200 days, however large it is$/,
    )
    opened.clock.advance(day / 2)
    opened = await opened.reopen({ retention_days: 90, max_total_bytes: 5000 })
    await opened.audit.tidy()
    assert.deepEqual((await opened.audit.stats()).warnings, [first], 'a start does not begin the day anew')
    assert.equal((await told(opened, 'audit.retention')).length, 2, 'nor is it told again')
    // Lower still: a new day. Less low: what was announced covers it.
    const [lower] = await wanted(80, 5000)
    assert.match(lower!, /^from 2026-01-03T15:04:05\S+ on .* 80 days/)
    assert.match((await wanted(85, 5000))[0]!, /^from 2026-01-03T15:04:05\S+ on .* 85 days/)
    daysLater(opened, 1)
    assert.deepEqual(await wanted(85, 5000), [])
    assert.deepEqual((await told(opened, 'audit.retention')).at(-1), {
      retention_days: 85,
      max_total_bytes: 5000,
    })
    // Taken back before its day is over, it never counts.
    await wanted(40, 5000)
    assert.deepEqual(await wanted(85, 5000), [])
    daysLater(opened, 2)
    assert.deepEqual(await wanted(85, 5000), [])
  })

  it('is for ever where the settings say 0', async (t) => {
    const opened = await startAudit(t, { retention_days: 0, max_total_bytes: 0, max_file_bytes: 500 })
    for (let n = 0; n < 9; n++) await opened.audit.record(call)
    daysLater(opened, 800)
    await opened.audit.record(call)
    await opened.audit.tidy()
    assert.equal((await linesOf(opened.folder))[0]?.seq, 1)
    assert.deepEqual((await opened.audit.stats()).warnings, [])
  })

  it('is thirty days at least', async (t) => {
    const opened = await startAudit(t, { retention_days: 1 })
    await opened.audit.record(call)
    daysLater(opened, 30)
    await opened.audit.record(call)
    await opened.audit.tidy()
    assert.equal((await linesOf(opened.folder))[0]?.seq, 1)
    daysLater(opened, 2)
    await opened.audit.tidy()
    assert.ok((await linesOf(opened.folder))[0]!.seq > 1)
    assert.match((await opened.audit.verify()).notes.join('\n'), /under retention_days: 1/)
  })

  it('leaves what was meddled with, to be told', async (t) => {
    const opened = await startAudit(t, { retention_days: 31 })
    for (let n = 0; n < 3; n++) await opened.audit.record(call)
    const [file] = await listLogFiles(opened.folder)
    await writeFile(file!.path, (await readFile(file!.path, 'utf8')).replace('xxx', 'xyx'))
    daysLater(opened, 40)
    await opened.audit.record(call)
    await opened.audit.tidy()
    assert.equal((await told(opened, 'audit.prune')).length, 0)
    assert.match((await opened.audit.verify()).faults.join('\n'), /:1: this line was changed/)
  })

  it('leaves what only the name of its file makes old', async (t) => {
    const opened = await startAudit(t, { retention_days: 31, max_file_bytes: 500 })
    for (let n = 0; n < 9; n++) await opened.audit.record(call)
    await opened.audit.tidy()
    const [file] = await listLogFiles(opened.folder)
    await rename(file!.path, file!.path.replace(file!.day, '2020-01-01'))
    await opened.audit.tidy()
    assert.equal((await linesOf(opened.folder))[0]?.seq, 1)
  })
})

describe('verifying what was removed of the audit log', () => {
  /** A log that says in a signed line that its first file went, which it did. */
  async function removed(t: TestContext, data: object): Promise<Awaited<ReturnType<typeof verifyAudit>>> {
    const opened = await startAudit(t, { max_file_bytes: 500 })
    for (let n = 0; n < 9; n++) await opened.audit.record(call)
    const [first, second] = await listLogFiles(opened.folder)
    const through = second!.first - 1
    await opened.audit.record({ type: 'audit.prune', status: 'ok', data: { through, ...data } })
    await opened.audit.close()
    await opened.store.close()
    await unlink(first!.path)
    return await verifyAudit(opened.folder)
  }

  it('takes the signed word of version 2.13.1, which did not say what setting it went under', async (t) => {
    const { ok, notes, faults } = await removed(t, { files: ['audit-000000000001-2026-01-02.jsonl.gz'] })
    assert.ok(ok, faults.join('\n'))
    assert.match(notes.join('\n'), /the lines through \d+ were removed by housekeeping at 2026-01-02\S+$/)
  })

  const young = { until: '2025-12-20T00:00:00.000Z', max_total_bytes: 1, retention_days: 200 }
  for (const [what, data, fault] of [
    ['younger than thirty days', { ...young, setting: 'max_total_bytes' }, /for 30 days/],
    ['younger than the retention of that day', { ...young, setting: 'retention_days' }, /for 200 days/],
    ['of no age', { ...young, until: 'never', setting: 'max_total_bytes' }, /for 30 days/],
  ] as const)
    it(`finds that lines are gone that were ${what}`, async (t) => {
      const { ok, faults } = await removed(t, data)
      assert.equal(ok, false)
      assert.match(faults.join('\n'), fault)
    })
})
