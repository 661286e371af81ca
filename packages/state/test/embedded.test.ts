import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { Stop } from '#leaf/stop.ts'
import { Capture, State } from '#state/embedded/state.ts'
import { inOrder } from '#state/embedded/state-file.ts'
import type { Stored } from '#state/store.ts'
import { isApp, storeContract } from './contract.ts'
import { openStore, temporaryFolder, until } from './state-folder.ts'

storeContract('embedded', async (t) => {
  const folder = await temporaryFolder(t)
  return (clock) => openStore(t, folder, { clock })
})

describe('the embedded store', () => {
  it('gives up a transaction that does not end, keeps nothing of it, and lets others write', async (t) => {
    const store = await openStore(t, await temporaryFolder(t), { transactionMilliseconds: 50 })
    const notes = store.collection({ name: 'test.note' })
    let late: Promise<unknown> | undefined
    const endless = store.transaction(async (transaction) => {
      await transaction.in(notes).put({ id: 'a' })
      await new Promise((resolve) => setTimeout(resolve, 200))
      late = transaction.in(notes).put({ id: 'b' })
      await late.catch(() => undefined)
    })
    const other = notes.put({ id: 'c' })
    await assert.rejects(endless, isApp('unavailable'))
    await other
    await until(() => late !== undefined)
    await assert.rejects(late!, /over/)
    assert.deepEqual(
      (await notes.find()).map(({ id }) => id),
      ['c'],
    )
  })

  it('refuses to write into a collection of another store', async (t) => {
    const [one, two] = [
      await openStore(t, await temporaryFolder(t)),
      await openStore(t, await temporaryFolder(t)),
    ]
    const foreign = two.collection({ name: 'test.note' })
    one.collection({ name: 'test.note' })
    await assert.rejects(
      one.transaction(async (transaction) => transaction.in(foreign)),
      /another store/,
    )
  })

  it('lets others have their turns while a transaction reads much', async (t) => {
    const store = await openStore(t, await temporaryFolder(t))
    const notes = store.collection<Stored & { text: string }>({ name: 'document.note', ordered: ['title'] })
    await store.transaction(async (transaction) => {
      for (let n = 0; n < 5000; n++)
        await transaction.in(notes).put({ id: `n${n}`, text: `${'b'.repeat(5000)}${n}` })
    })
    let turns = 0
    const holds = { call: 'like', of: [{ field: 'text' }, { value: '%bb%c' }] }
    await store.transaction(async (transaction) => {
      let isOver = false
      const look = (): void => {
        turns++
        if (!isOver) setImmediate(look)
      }
      setImmediate(look)
      assert.equal(await transaction.in(notes).count({ holds }), 0)
      assert.equal((await transaction.in(notes).find({ order: [{ field: 'text' }] })).length, 5000)
      isOver = true
    })
    assert.ok(turns > 3, String(turns))
  })

  it('ends a question that is under way with the work that it is asked for', async (t) => {
    const store = await openStore(t, await temporaryFolder(t))
    const notes = store.collection<Stored & { text: string }>({ name: 'document.note', ordered: ['title'] })
    const text = 'b'.repeat(5000)
    await store.transaction(async (transaction) => {
      for (let n = 0; n < 5000; n++) await transaction.in(notes).put({ id: `n${n}`, text: `${text}${n}` })
    })
    const words = [{ word: 'b'.repeat(40), instead: [] }]
    const fields = [{ path: 'text', weight: 1 }]
    const questions: readonly ((all: typeof notes) => Promise<unknown>)[] = [
      (all) => all.count({ holds: { call: 'contains', of: [{ field: 'text' }, { value: 'bbc' }] } }),
      (all) => all.find({ order: [{ field: 'text' }] }),
      (all) => all.aggregate({ keys: [{ field: 'text' }], measures: [{ of: 'count' }] }),
      (all) => all.search({ words, all: true, fields }),
    ]
    for (const ask of questions) {
      const stop = new Stop()
      const asked = ask(notes.until(stop))
      const gone = new Error('gone')
      process.nextTick(() => stop.end(gone))
      await assert.rejects(asked, gone, String(ask))
    }
  })

  it('sorts what nobody declared before it takes a picture of it, not while others wait', async () => {
    const state = new State(0)
    const table = state.table('test.note')
    for (let n = 0; n < 5000; n++) table.set(`${(n * 7919) % 5000}`, { id: `${(n * 7919) % 5000}` })
    assert.ok(!table.isPrepared)
    await inOrder(state)
    assert.ok(table.isPrepared)
    const ids = new Capture(state).next(5000).map(([, { id }]) => id)
    assert.equal(ids.length, 5000)
    assert.deepEqual(ids, ids.toSorted())
  })

  it('tells writers of one turn together, with one write to the disk', async (t) => {
    const folder = await temporaryFolder(t)
    const store = await openStore(t, folder)
    const notes = store.collection({ name: 'test.note' })
    await Promise.all(Array.from({ length: 200 }, (_, index) => notes.put({ id: `n${index}` })))
    await store.close()
    const lines = (await readFile(join(folder, 'journal-00000001.jsonl'), 'utf8')).trimEnd().split('\n')
    assert.equal(lines.length, 201)
    assert.ok(lines.filter((line) => line.startsWith('*')).length < 20)
  })
})
