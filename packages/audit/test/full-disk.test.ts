import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { openAudit } from '#audit/open-audit.ts'
import { isApp } from '../../state/test/contract.ts'
import {
  afterwards,
  openStore,
  smallDisk,
  temporaryFolder,
  testClock,
  testLog,
  until,
} from '../../state/test/state-folder.ts'
import { linesOf } from './audit-folder.ts'

const call = { type: 'tool.call', status: 'ok', data: { text: 'x'.repeat(8000) } } as const

describe('the audit log on a full disk', () => {
  it('refuses at once, loses nothing it accepted, and goes on by itself', { timeout: 60_000 }, async (t) => {
    const disk = await smallDisk(t, 500_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const folder = join(disk.folder, 'audit')
    const log = testLog()
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const audit = await openAudit({ folder, store, clock, log })
    afterwards(t, () => audit.close())
    await writeFile(join(disk.folder, 'ballast'), Buffer.alloc(300_000))

    const accepted: Promise<string>[] = []
    const refused: string[] = []
    for (let index = 0; index < 200; index++) {
      const id = `r${index}`
      const told = audit.record({ ...call, request_id: id }).then(() => id)
      // Refused at once, or accepted and then written, however long that takes.
      const now = await Promise.race([
        told.catch(() => 'refused'),
        new Promise((resolve) => setTimeout(resolve, 5, 'waits')),
      ])
      if (now === 'refused') refused.push(id)
      else accepted.push(told)
    }
    assert.ok(refused.length > 10, `${refused.length} refused`)
    assert.throws(() => audit.requireWritable(), isApp('unavailable'))
    await assert.rejects(audit.record(call), isApp('unavailable'))
    const inTransaction = store.transaction(async (transaction) => {
      await transaction.in(store.collection({ name: 'test.note' })).put({ id: 'n' })
      await audit.recordIn(transaction, call)
    })
    await assert.rejects(inTransaction, isApp('unavailable'))
    assert.equal(await store.collection({ name: 'test.note' }).count(), 0)
    assert.match((await audit.stats()).fault ?? '', /no space left/)
    assert.ok((await audit.stats()).waiting > 0)
    assert.equal(log.lines.filter(({ message }) => message.includes('cannot be written')).length, 1)

    await rm(join(disk.folder, 'ballast'))
    await until(async () => (await audit.stats()).fault === undefined)
    const kept = await Promise.all(accepted)
    await audit.record({ ...call, request_id: 'after' })
    const written = (await linesOf(folder)).map(({ request_id: id }) => id).filter((id) => id !== undefined)
    assert.deepEqual(written, [...kept, 'after'])
    for (const id of refused) assert.ok(!written.includes(id))
    assert.deepEqual((await audit.verify()).faults, [])
    assert.ok(log.lines.some(({ message }) => message === 'the audit log can be written again'))
  })

  it('finds the reserve of the run before, and takes no other', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const inode = async (): Promise<number> => {
      const audit = await openAudit({ folder, store, clock, log: testLog(), reserveBytes: 200_000 })
      await audit.record(call)
      await audit.close()
      return (await stat(join(folder, 'reserve'))).ino
    }
    const first = await inode()
    assert.equal(await inode(), first)
    await writeFile(join(folder, 'reserve'), 'cut short')
    await inode()
    assert.equal((await stat(join(folder, 'reserve'))).size, 200_000)
  })

  it('lets reading be told from its reserve, until that is used up too', { timeout: 60_000 }, async (t) => {
    const disk = await smallDisk(t, 800_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const folder = join(disk.folder, 'audit')
    const log = testLog()
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const audit = await openAudit({ folder, store, clock, log, reserveBytes: 200_000 })
    afterwards(t, () => audit.close())
    await writeFile(join(disk.folder, 'ballast'), Buffer.alloc(500_000))

    const accepted: string[] = []
    const change = async (): Promise<void> =>
      store.transaction(async (transaction) => {
        await transaction.in(store.collection({ name: 'test.note' })).put({ id: 'n' })
        await audit.recordIn(transaction, call)
      })
    while (!(await audit.stats()).on_reserve) {
      await audit.record({ ...call, request_id: `r${accepted.length}` })
      accepted.push(`r${accepted.length}`)
    }
    audit.requireWritable(true)
    assert.throws(() => audit.requireWritable(), isApp('unavailable'))
    await assert.rejects(change(), isApp('unavailable'))
    assert.equal(await store.collection({ name: 'test.note' }).count(), 0)
    const before = accepted.length
    // What is accepted after the last byte waits, and is refused from then on.
    while ((await audit.stats()).fault === undefined) {
      const id = `r${accepted.length}`
      accepted.push(id)
      const told = audit.record({ ...call, request_id: id })
      await Promise.race([told, until(async () => (await audit.stats()).fault !== undefined)])
    }
    assert.ok(accepted.length - before > 15, `${accepted.length - before} in the reserve`)
    assert.throws(() => audit.requireWritable(true), isApp('unavailable'))

    await rm(join(disk.folder, 'ballast'))
    await until(async () => !(await audit.stats()).on_reserve && (await audit.stats()).fault === undefined)
    await change()
    await audit.settled()
    const written = (await linesOf(folder)).map(({ request_id: id }) => id).filter((id) => id !== undefined)
    assert.deepEqual(written, accepted)
    assert.deepEqual((await audit.verify()).faults, [])
  })

  it('notices that there is room again even when nothing is told', { timeout: 60_000 }, async (t) => {
    const disk = await smallDisk(t, 200_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const audit = await openAudit({
      folder: join(disk.folder, 'audit'),
      store,
      clock,
      log: testLog(),
      settings: { max_event_bytes: 300_000 },
    })
    afterwards(t, () => audit.close())
    await audit.record({ type: 'a.b', status: 'ok' })
    await writeFile(join(disk.folder, 'ballast'), Buffer.alloc(150_000))
    const waiting = audit.record({ ...call, data: { text: 'x'.repeat(60_000) } })
    await until(async () => (await audit.stats()).fault !== undefined)
    await rm(join(disk.folder, 'ballast'))
    await waiting
    audit.requireWritable()
    assert.deepEqual((await audit.verify()).faults, [])
  })
})
