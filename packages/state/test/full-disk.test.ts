import { statfsSync } from 'node:fs'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import type { Stored } from '#state/store.ts'
import { isApp } from './contract.ts'
import { openStore, smallDisk, testLog, until } from './state-folder.ts'

interface Note extends Stored {
  readonly text: string
}

const spec = { name: 'test.note', unique: ['text'] } as const
const text = (index: number): string => `${index}`.padEnd(3000, '.')

describe('the embedded store on a full disk', () => {
  it('refuses, undoes what it could not keep, and goes on by itself', { timeout: 60_000 }, async (t) => {
    const disk = await smallDisk(t, 400_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const folder = join(disk.folder, 'state')
    const log = testLog()
    const store = await openStore(t, folder, { log })
    const notes = store.collection<Note>(spec)
    await writeFile(join(disk.folder, 'ballast'), Buffer.alloc(200_000))

    const kept = new Set<string>()
    let refused = 0
    // Sixteen writers at once: what was applied in memory behind the failing write must go, too.
    const write = async (index: number): Promise<void> => {
      try {
        await notes.insert({ id: `n${index}`, text: text(index) })
        kept.add(`n${index}`)
      } catch (error) {
        isApp('unavailable')(error)
        assert.match(String(error), /no space left/)
        refused++
      }
    }
    for (let index = 0; index < 128; index += 16) {
      await Promise.all(Array.from({ length: 16 }, (_, offset) => write(index + offset)))
    }
    assert.ok(refused > 16, `${refused} refused`)
    assert.ok(kept.size > 16, `${kept.size} kept`)
    assert.equal(store.stats().fault, 'no space left on the disk')
    assert.deepEqual(new Set((await notes.find()).map(({ id }) => id)), kept)
    assert.equal(await notes.count({ where: { text: text(127) } }), 0)
    assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1)

    await rm(join(disk.folder, 'ballast'))
    await until(() => store.stats().fault === undefined)
    await notes.insert({ id: 'n127', text: text(127) })
    kept.add('n127')
    await store.close()
    const again = await openStore(t, folder)
    assert.deepEqual(new Set((await again.collection<Note>(spec).find()).map(({ id }) => id)), kept)
  })

  it(
    'takes with a snapshot that does not fit no room from others, and makes no further segment for it',
    { timeout: 60_000 },
    async (t) => {
      const disk = await smallDisk(t, 60 << 20)
      if ('reason' in disk) return t.skip(disk.reason)
      const folder = join(disk.folder, 'state')
      const store = await openStore(t, folder)
      const notes = store.collection<Note>(spec)
      for (let index = 0; index < 27; index++)
        await notes.put({ id: `n${index}`, text: `${index}`.padEnd(1 << 20, '.') })
      const free = (): number => statfsSync(folder).bavail * statfsSync(folder).bsize
      let least = free()
      const looking = setInterval(() => (least = Math.min(least, free())), 1)
      await writeFile(join(disk.folder, 'ballast'), Buffer.alloc(12 << 20))
      await assert.rejects(store.compact(), /there is no room .* of which 2 are kept/)
      clearInterval(looking)
      assert.ok(least < 4 << 20, 'it was tried')
      assert.ok(least > 100_000, `${least} bytes were left for others`)
      await writeFile(join(disk.folder, 'more'), Buffer.alloc(free() - 1_000_000))
      const before = (await readdir(folder)).sort()
      await assert.rejects(store.compact(), isApp('unavailable'))
      assert.deepEqual((await readdir(folder)).sort(), before)
      for (const name of ['ballast', 'more']) await rm(join(disk.folder, name))
      await store.compact()
      await store.close()
      const again = await openStore(t, folder)
      assert.equal((await again.collection<Note>(spec).find()).length, 27)
    },
  )

  it('leaves no trace of a refused write in the journal', { timeout: 60_000 }, async (t) => {
    const disk = await smallDisk(t, 300_000)
    if ('reason' in disk) return t.skip(disk.reason)
    const folder = join(disk.folder, 'state')
    const store = await openStore(t, folder)
    const notes = store.collection<Note>(spec)
    await notes.insert({ id: 'small', text: 'small' })
    const journal = join(folder, 'journal-00000001.jsonl')
    const before = await readFile(journal)
    await assert.rejects(notes.insert({ id: 'large', text: 'x'.repeat(1_000_000) }), isApp('unavailable'))
    assert.equal(await notes.get('large'), undefined)
    assert.deepEqual((await readFile(journal)).subarray(0, before.length), before)
    assert.ok((await stat(journal)).size < before.length + 200)
    await until(() => store.stats().fault === undefined)
    await notes.insert({ id: 'next', text: 'next' })
    await store.close()
    const again = await openStore(t, folder)
    assert.deepEqual(
      (await again.collection<Note>(spec).find()).map(({ id }) => id),
      ['next', 'small'],
    )
  })

  it(
    'undoes replacements and removals in reverse, and fails a transaction that had read them',
    { timeout: 60_000 },
    async (t) => {
      const disk = await smallDisk(t, 300_000)
      if ('reason' in disk) return t.skip(disk.reason)
      const store = await openStore(t, join(disk.folder, 'state'))
      const notes = store.collection<Note>(spec)
      await notes.insert({ id: 'a', text: 'first' })
      await notes.insert({ id: 'b', text: 'second' })
      const outcomes = await Promise.allSettled([
        notes.put({ id: 'a', text: 'x'.repeat(1_000_000) }),
        notes.delete('b'),
        notes.insert({ id: 'c', text: 'second' }),
        notes.put({ id: 'a', text: 'third' }),
        store.transaction(async (transaction) => {
          const here = transaction.in(notes)
          const seen = await here.get('a')
          await until(() => store.stats().fault !== undefined)
          await here.insert({ id: 'd', text: seen?.text === 'third' ? 'seen' : 'not seen' })
        }),
      ])
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        Array<string>(5).fill('rejected'),
      )
      assert.deepEqual(await notes.find(), [
        { id: 'a', text: 'first' },
        { id: 'b', text: 'second' },
      ])
      assert.deepEqual(await notes.find({ where: { text: 'second' } }), [{ id: 'b', text: 'second' }])
    },
  )

  it(
    'survives a snapshot that does not fit, and makes it when there is room',
    { timeout: 60_000 },
    async (t) => {
      const disk = await smallDisk(t, 400_000)
      if ('reason' in disk) return t.skip(disk.reason)
      const folder = join(disk.folder, 'state')
      const store = await openStore(t, folder)
      const notes = store.collection<Note>(spec)
      for (let index = 0; index < 50; index++) await notes.insert({ id: `n${index}`, text: text(index) })
      await writeFile(join(disk.folder, 'ballast'), Buffer.alloc(120_000))
      await assert.rejects(store.compact(), /ENOSPC|no space/)
      assert.ok(!(await readdir(folder)).includes('snapshot.jsonl.new'))
      assert.equal(await notes.count(), 50)
      await rm(join(disk.folder, 'ballast'))
      await notes.delete('n0')
      await store.compact()
      await store.close()
      assert.equal(await (await openStore(t, folder)).collection<Note>(spec).count(), 49)
    },
  )
})
