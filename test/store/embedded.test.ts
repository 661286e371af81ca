import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { isApp, storeContract } from './contract.ts'
import { openStore, temporaryFolder, testClock, until } from './state-folder.ts'

storeContract('embedded', async (t) => {
  const folder = await temporaryFolder(t)
  const clock = testClock()
  const store = await openStore(t, folder, { clock })
  return {
    store,
    advance: (milliseconds) => clock.advance(milliseconds),
    now: () => clock.now(),
    async reopen() {
      await store.close()
      return await openStore(t, folder, { clock })
    },
  }
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
