/** A log whose disk stands still, which is no fault that any write tells: real, a file system that is frozen. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openAudit } from '#audit/open-audit.ts'
import { isApp } from '../../state/test/contract.ts'
import {
  afterwards,
  openStore,
  temporaryFolder,
  testClock,
  testLog,
  until,
} from '../../state/test/state-folder.ts'
import { linesOf } from './audit-folder.ts'

const seen = { type: 'tool.call', status: 'ok', user: 'ann@example.com', target: 'get_document' } as const
const documents = [{ doctype: 'Patient', names: ['PAT-1'], count: 1 }]

describe('the audit log on a disk that stands still', { timeout: 60_000 }, () => {
  it('lets no document be shown whose event is not written, says how old it is, and tells that it was not shown', async (t) => {
    const disk = diskToFreeze(t)
    if ('reason' in disk) return t.skip(disk.reason)
    const folder = join(disk.folder, 'audit')
    const [clock, log] = [testClock(), testLog()]
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const audit = await openAudit({ folder, store, clock, log })
    afterwards(t, () => audit.close())
    await audit.record({ ...seen, request_id: 'before', documents })
    assert.equal((await audit.stats()).waiting_seconds, 0)

    disk.freeze()
    const told = audit.record({ ...seen, request_id: 'told' })
    audit.requireWritable(true)
    await assert.rejects(audit.record({ ...seen, request_id: 'late', documents }), isApp('unavailable'))
    // From then on nobody is made to wait for it.
    for (const reading of [true, false])
      assert.throws(() => audit.requireWritable(reading), /an event has waited for 5 seconds/)
    const change = store.transaction((transaction) => audit.recordIn(transaction, seen))
    await assert.rejects(change, isApp('unavailable'))
    const { waiting, waiting_seconds: seconds, fault } = await audit.stats()
    assert.deepEqual([waiting, fault], [3, 'an event has waited for 5 seconds'])
    assert.ok(seconds >= 5)

    disk.thaw()
    await told
    await until(async () => (await audit.stats()).waiting === 0)
    audit.requireWritable()
    const lines = (await linesOf(folder)).filter(({ type }) => type === 'tool.call')
    assert.deepEqual(
      lines.map(({ request_id: id, status, documents }) => [id, status, documents?.[0]?.count]),
      [
        ['before', 'ok', 1],
        ['told', 'ok', undefined],
        ['late', 'ok', 1],
        ['late', 'error', undefined],
      ],
    )
    assert.match(lines.at(-1)!.error!, /nothing is shown/)
    assert.deepEqual((await audit.verify()).faults, [])
  })
})

/** A file system in a file, or why there is none. */
function diskToFreeze(t: TestContext): { folder: string; freeze(): void; thaw(): void } | { reason: string } {
  const home = mkdtempSync(join(tmpdir(), 'assistant-core-frozen-'))
  const folder = join(home, 'disk')
  const run = (command: string, ...args: string[]): void =>
    void execFileSync(command, args, { stdio: 'pipe' })
  try {
    run('truncate', '-s', '20M', `${home}/image`)
    run('mkfs.ext4', '-q', `${home}/image`)
    run('mkdir', folder)
    run('mount', '-o', 'loop', `${home}/image`, folder)
  } catch {
    rmSync(home, { recursive: true })
    return { reason: 'this user may not mount a file system' }
  }
  let frozen = false
  const thaw = (): void => {
    if (frozen) run('fsfreeze', '-u', folder)
    frozen = false
  }
  afterwards(t, () => {
    thaw()
    run('umount', '-l', folder)
    rmSync(home, { recursive: true })
  })
  return {
    folder,
    freeze: () => {
      run('fsfreeze', '-f', folder)
      frozen = true
    },
    thaw,
  }
}
