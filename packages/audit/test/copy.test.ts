import assert from 'node:assert/strict'
import { chmod, cp, mkdir, readdir, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { copyLog } from '#audit/copy.ts'
import type { AuditEvent } from '#audit/audit.ts'
import { listLogFiles } from '#audit/files/log-files.ts'
import { verifyAudit } from '#audit/verifying/verify.ts'
import { AppError } from '#leaf/errors.ts'
import { temporaryFolder, testLog } from '../../state/test/state-folder.ts'
import { linesOf, startAudit } from './audit-folder.ts'

const day = 86_400_000
const call: AuditEvent = { type: 'tool.call', status: 'ok', target: 'x'.repeat(100) }
const log = testLog()

describe('a copy of the audit log', () => {
  it('holds the lines of a log that is being written, and verifies by itself', async (t) => {
    const { audit, folder } = await startAudit(t, { max_file_bytes: 3000 })
    const to = join(await temporaryFolder(t), 'copy')
    const writing = (async () => {
      for (let index = 0; index < 300; index++) await audit.record(call)
    })()
    for (let index = 0; index < 5; index++) {
      await copyLog(undefined, folder, to, log)
      await audit.tidy()
    }
    await writing
    await audit.settled()
    const copy = await copyLog(undefined, folder, to, log)
    assert.deepEqual(await linesOf(to), await linesOf(folder))
    assert.ok(copy.ok && copy.lines > 300)
    assert.ok(!(await readdir(to)).some((name) => name.endsWith('.new')))
    assert.deepEqual(
      (await listLogFiles(to)).filter(({ compressed }) => !compressed).map(({ name }) => name),
      (await listLogFiles(folder)).filter(({ compressed }) => !compressed).map(({ name }) => name),
      'what was compressed since is there once',
    )
  })

  it('touches nothing beside itself: no file that links in its folder lead to, and no folder of other things', async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record(call)
    await audit.settled()
    const aside = await temporaryFolder(t)
    const precious = join(aside, 'precious')
    await writeFile(precious, 'precious')
    await chmod(precious, 0o644)
    const [to, other] = [join(aside, 'copy'), join(aside, 'other')]
    await mkdir(to)
    for (const name of ['head.json.new', 'key.pem.new', 'audit-link.new'])
      await symlink(precious, join(to, name))
    assert.ok((await copyLog(undefined, folder, to, log)).ok)
    await mkdir(other)
    await writeFile(join(other, 'holiday.txt'), 'mine')
    await Promise.all([chmod(other, 0o755), chmod(join(other, 'holiday.txt'), 0o644)])
    await assert.rejects(
      copyLog(undefined, folder, other, log),
      (error) => error instanceof AppError && /holds other things, such as holiday.txt/.test(error.message),
    )
    const modes = [precious, other, join(other, 'holiday.txt')].map(
      async (path) => (await stat(path)).mode & 0o777,
    )
    assert.deepEqual(await Promise.all(modes), [0o644, 0o755, 0o644])
    assert.equal(await readFile(precious, 'utf8'), 'precious')
    assert.deepEqual(await readdir(other), ['holiday.txt'])
  })

  it('is brought up to date by copying what is new only', async (t) => {
    const { audit, folder } = await startAudit(t, { max_file_bytes: 4000 })
    const to = join(await temporaryFolder(t), 'copy')
    for (let index = 0; index < 70; index++) await audit.record(call)
    await audit.tidy()
    const first = await copyLog(undefined, folder, to, log)
    assert.ok(first.copied > 3)
    assert.equal((await copyLog(undefined, folder, to, log)).copied, 0)
    await audit.record(call)
    await audit.settled()
    const again = await copyLog(undefined, folder, to, log)
    const { seq } = await audit.stats()
    assert.ok(again.copied <= 2, 'the file that grew, and one that was begun')
    assert.deepEqual([again.last, again.lines > first.lines], [seq, true])
    const [some] = await listLogFiles(to)
    assert.equal((await stat(some!.path)).mode & 0o777, 0o600)
  })

  it('drops what the log has dropped for its age, and nothing that somebody removed from the log', async (t) => {
    const { audit, folder, clock, store } = await startAudit(t, { retention_days: 3 })
    const to = join(await temporaryFolder(t), 'copy')
    for (let index = 0; index < 8; index++) {
      await audit.record(call)
      clock.advance(day)
      await audit.tidy()
      await copyLog(undefined, folder, to, log)
    }
    const days = async (where: string) => (await listLogFiles(where)).map(({ day }) => day)
    assert.deepEqual(await days(to), await days(folder))
    assert.ok((await verifyAudit(to)).ok)

    await audit.close()
    await store.close()
    const before = await days(to)
    const [oldest] = await listLogFiles(folder)
    await unlink(oldest!.path)
    await copyLog(undefined, folder, to, log)
    assert.deepEqual(await days(to), before)
  })

  it('is refused where the log was changed: the fault is named', async (t) => {
    const { audit, folder, store } = await startAudit(t)
    for (let index = 0; index < 5; index++) await audit.record(call)
    await audit.close()
    await store.close()
    const [file] = await listLogFiles(folder)
    await writeFile(file!.path, (await readFile(file!.path, 'utf8')).replace('xxx', 'yyy'))
    await assert.rejects(copyLog(undefined, folder, join(await temporaryFolder(t), 'copy'), log), (error) => {
      assert.ok(error instanceof AppError)
      assert.match(
        error.message,
        /^the copy of the audit log in .* audit-0{11}1-\S+:\d+: this line was changed$/,
      )
      return true
    })
  })

  it('is refused over the copy of another log, which stays as it was', async (t) => {
    const one = await startAudit(t)
    const two = await startAudit(t)
    await one.audit.record(call)
    await two.audit.record(call)
    const to = join(await temporaryFolder(t), 'copy')
    await copyLog(undefined, one.folder, to, log)
    const before = await linesOf(to)
    await assert.rejects(copyLog(undefined, two.folder, to, log), /holds the copy of another audit log/)
    assert.deepEqual(await linesOf(to), before)
  })

  it('is not made in the folder of the log itself, whose file would be replaced while it is written', async (t) => {
    const { audit, folder } = await startAudit(t)
    await audit.record(call)
    const alias = join(await temporaryFolder(t), 'alias')
    await symlink(folder, alias)
    const before = await stat((await listLogFiles(folder))[0]!.path)
    for (const to of [folder, alias])
      await assert.rejects(copyLog(undefined, folder, to, log), /is the audit log itself/)
    assert.equal((await stat((await listLogFiles(folder))[0]!.path)).ino, before.ino)
    await audit.record(call)
    assert.deepEqual([(await linesOf(folder)).length, (await audit.verify()).faults], [2, []])
  })

  it('can be gone on with: a log made of it takes the next event', async (t) => {
    const first = await startAudit(t)
    for (let index = 0; index < 3; index++) await first.audit.record(call)
    await first.audit.settled()
    const to = join(await temporaryFolder(t), 'copy')
    await copyLog(undefined, first.folder, to, log)
    const state = await temporaryFolder(t)
    await copyLog(undefined, to, join(state, 'audit'), log)
    const second = await startAudit(t, {}, state)
    await second.audit.record(call)
    await second.audit.settled()
    const { ok, faults, lines } = await second.audit.verify()
    assert.ok(ok, faults.join())
    assert.ok(lines >= 4)
  })

  it('of no log at all is refused', async (t) => {
    const empty = await temporaryFolder(t)
    await assert.rejects(copyLog(undefined, empty, join(empty, 'copy'), log), /there is no audit log/)
    assert.deepEqual(await readdir(empty), [])
    await rm(empty, { recursive: true })
    await cp(import.meta.dirname, empty, { recursive: true })
    await assert.rejects(copyLog(undefined, empty, join(empty, 'copy'), log), /there is no audit log/)
  })
})
