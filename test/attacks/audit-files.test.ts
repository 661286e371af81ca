/** Somebody who has no key thins the log of a daemon, or writes into it: by the settings, or in its folder. */
import assert from 'node:assert/strict'
import { appendFile, cp, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { lineHash } from '#audit/line.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { temporaryFolder } from '../../packages/state/test/state-folder.ts'
import { daysLater, linesOf, type OpenedAudit, startAudit } from '../../packages/audit/test/audit-folder.ts'

const call = { type: 'tool.call', status: 'ok', user: 'ann@example.com', target: 'list_documents' } as const
const edit = {
  type: 'site.edit',
  status: 'ok',
  user: 'boss@example.com',
  target: 'config/settings.yaml',
} as const

/** A log of several files that its daemon has closed. */
async function closedLog(t: TestContext, settings = { max_file_bytes: 1500 }): Promise<OpenedAudit> {
  const opened = await startAudit(t, settings)
  for (let n = 0; n < 30; n++) await opened.audit.record({ ...call, request_id: `${n}` })
  await stop(opened)
  return opened
}

async function stop({ audit, store }: OpenedAudit): Promise<void> {
  await audit.close()
  await store.close()
}

/** Adds an event behind the last line, chained but not signed. */
async function forge(folder: string, event: object): Promise<number> {
  const { path } = (await listLogFiles(folder)).at(-1)!
  const last = (await readFile(path, 'utf8')).trimEnd().split('\n').at(-1)!
  const { seq, time } = JSON.parse(last) as { seq: number; time: string }
  const line = { seq: seq + 1, time, id: 'forged', prev: lineHash(last), ...event }
  await appendFile(path, `${JSON.stringify(line)}\n`)
  return seq + 1
}

describe('an audit log that somebody thins by the settings', () => {
  it('keeps every event that is younger than thirty days, and says that it is too large', async (t) => {
    const opened = await startAudit(t, { max_file_bytes: 1500 })
    for (let n = 0; n < 30; n++) await opened.audit.record(call)
    await opened.audit.record(edit)
    const before = (await linesOf(opened.folder)).length
    const erasing = { max_total_bytes: 1, max_file_bytes: 1, retention_days: 1 }
    opened.audit.configure(erasing)
    await opened.audit.tidy()
    // Nor after the day on which it takes effect, nor at the next start.
    daysLater(opened, 2)
    const again = await opened.reopen(erasing)
    await again.audit.record(call)
    await again.audit.tidy()
    const lines = await linesOf(again.folder)
    assert.equal(lines[0]?.seq, 1)
    assert.ok(lines.length > before)
    assert.ok(lines.some(({ type }) => type === 'site.edit'))
    assert.match((await again.audit.stats()).warnings.join('\n'), /larger than audit\.max_total_bytes/)
    assert.ok((await again.audit.verify()).ok)
  })

  it('loses old events only, and none about the site, the log and users, under a setting that was announced', async (t) => {
    const opened = await startAudit(t, { max_file_bytes: 1500 })
    await opened.audit.record(edit)
    await opened.audit.record({ type: 'cli.run', status: 'ok', user: 'cli', target: 'users.passwd' })
    for (let n = 0; n < 30; n++) await opened.audit.record(call)
    daysLater(opened, 40)
    opened.audit.configure({ max_file_bytes: 1500, max_total_bytes: 1 })
    await opened.audit.tidy()
    assert.equal((await linesOf(opened.folder))[0]?.seq, 1, 'nothing goes before the day is over')
    assert.match((await opened.audit.stats()).warnings.join('\n'), /^from \S+ on the log is kept for/)
    assert.ok(opened.log.lines.some(({ message }) => message.includes('how long the audit log is kept')))

    daysLater(opened, 1)
    const again = await opened.reopen({ max_file_bytes: 1500, max_total_bytes: 1 })
    await again.audit.record(call)
    await again.audit.tidy()
    const lines = await linesOf(again.folder)
    assert.ok(lines[0]!.seq > 20, 'what is old is gone')
    for (const type of ['site.edit', 'cli.run']) {
      const [kept, ...more] = lines.filter((line) => line.type === type)
      assert.deepEqual([kept?.again?.seq !== undefined, more.length], [true, 0], type)
    }
    assert.equal(lines.find(({ type }) => type === 'site.edit')?.time.slice(0, 10), '2026-01-02')
    assert.equal(lines.filter(({ type }) => type === 'audit.retention').length, 2, 'announced, and in effect')
    const { ok, faults, notes } = await again.audit.verify()
    assert.ok(ok, faults.join('\n'))
    assert.match(
      notes.join('\n'),
      /the lines through \d+ were removed by housekeeping at \S+, the newest of 2026-01-02\S+, under max_total_bytes: 1/,
    )
  })
})

describe('an audit log in whose folder somebody writes', () => {
  it('is not believed where a line without a signature says that all before it was removed', async (t) => {
    const { folder, state } = await closedLog(t)
    const files = await listLogFiles(folder)
    assert.ok(files.length > 2)
    const through = files.at(-1)!.first - 1
    await forge(folder, { type: 'audit.prune', status: 'ok', user: 'system', data: { through } })
    for (const { path } of files.slice(0, -1)) await unlink(path)
    const { ok, faults } = await verifyAudit(folder)
    assert.equal(ok, false)
    assert.match(faults.join('\n'), new RegExp(`lines 1 to ${through} are missing`))
    // And a start, which signs what it finds, does not make it true.
    const again = await startAudit(t, {}, state)
    await again.audit.record(call)
    const third = await again.reopen({})
    assert.equal((await third.audit.verify()).ok, false)
    assert.equal((await third.audit.stats()).losses.length, 1)
  })

  it('is not believed either after a crash, behind which nobody knows the end', async (t) => {
    const opened = await startAudit(t, { max_file_bytes: 1500 })
    for (let n = 0; n < 30; n++) await opened.audit.record(call)
    const state = await temporaryFolder(t)
    await cp(opened.state, state, { recursive: true })
    await rm(join(state, 'lock'))
    const folder = join(state, 'audit')
    const files = await listLogFiles(folder)
    const through = files.at(-1)!.first - 1
    const seq = await forge(folder, { type: 'audit.prune', status: 'ok', data: { through } })
    for (const file of files.slice(0, -1)) await unlink(file.path)
    const again = await startAudit(t, {}, state)
    const [loss] = (await again.audit.stats()).losses
    assert.equal(loss?.what, `line ${seq} says that lines were removed, and is not signed`)
    await again.audit.record(call)
    assert.equal((await (await again.reopen({})).audit.verify()).ok, false)
  })

  it('tells of an event that was added while nothing ran, in verify and at the next start, until somebody answers', async (t) => {
    const { folder, state } = await closedLog(t)
    assert.deepEqual((await verifyAudit(folder)).faults, [])
    const seq = await forge(folder, { type: 'sign_in.ok', status: 'ok', user: 'victim@example.com' })
    assert.match((await verifyAudit(folder)).faults.join('\n'), /this was added while nothing ran/)

    const again = await startAudit(t, {}, state)
    assert.ok(again.log.lines.some(({ message }) => message.includes('is not as it was written')))
    const [loss] = (await again.audit.stats()).losses
    assert.equal(loss?.what, `lines ${seq} to ${seq} were added while nothing ran`)
    for (let n = 0; n < 5; n++) await again.audit.record(call)
    const third = await again.reopen({})
    assert.match(
      (await third.audit.verify()).faults.join('\n'),
      /lines here are not those that had been written/,
    )
    await third.audit.acceptLosses('ann', 'it was a test')
    const { ok, notes } = await third.audit.verify()
    assert.deepEqual([ok, /accepted by ann: it was a test/.test(notes.join('\n'))], [true, true])
  })

  it('tells of a last line that somebody put in the place of the one that was signed', async (t) => {
    const { folder, state } = await closedLog(t)
    const { path } = (await listLogFiles(folder)).at(-1)!
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    await writeFile(path, `${lines.slice(0, -1).join('\n')}\n`)
    await forge(folder, { type: 'sign_in.ok', status: 'ok', user: 'victim@example.com' })
    const again = await startAudit(t, {}, state)
    assert.match((await again.audit.stats()).losses[0]?.what ?? '', /is not the one that had been signed/)
    await again.audit.record(call)
    assert.equal((await (await again.reopen({})).audit.verify()).ok, false)
  })

  it('is whole after an orderly stop, a start and another stop, whatever was written', async (t) => {
    let opened = await closedLog(t)
    opened = await startAudit(t, {}, opened.state)
    for (let run = 0; run < 3; run++) {
      await opened.audit.record(call)
      opened = await opened.reopen({})
      assert.deepEqual((await opened.audit.verify()).faults, [])
      assert.deepEqual((await opened.audit.stats()).losses, [])
    }
    const before = (await linesOf(opened.folder)).length
    opened = await opened.reopen({})
    assert.equal((await linesOf(opened.folder)).length, before, 'a run that tells nothing writes nothing')
  })
})
