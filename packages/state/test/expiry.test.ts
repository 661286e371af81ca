import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import type { Stored } from '#state/store.ts'
import { openStore, temporaryFolder, testClock, until } from './state-folder.ts'

interface Code extends Stored {
  readonly until: number
}

const day = 86_400_000
const spec = { name: 'test.code', expires: 'until' } as const

describe('sweeping', () => {
  it('removes what has ended, from memory and disk, and nothing else', async (t) => {
    const folder = await temporaryFolder(t)
    const clock = testClock()
    const store = await openStore(t, folder, { clock })
    const codes = store.collection<Code>(spec)
    await store.transaction(async (transaction) => {
      for (let index = 0; index < 1200; index++) {
        const until = clock.now() + (index < 1100 ? 10 : 2 * day)
        await transaction.in(codes).put({ id: `c${index}`, until })
      }
    })
    assert.equal(await store.sweep(), 0)
    clock.advance(11)
    assert.equal(await codes.count(), 100)
    assert.equal(await store.sweep(), 0, 'what has just ended stays where it is')
    clock.advance(day)
    assert.equal(store.stats().documents['test.code'], 1200)
    assert.equal(await store.sweep(), 1100)
    assert.equal(store.stats().documents['test.code'], 100)
    await store.close()
    const again = await openStore(t, folder, { clock: testClock() })
    assert.equal(await again.collection<Code>(spec).count(), 100)
  })

  it('happens by itself', { timeout: 20_000 }, async (t) => {
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock, sweepMilliseconds: 5 })
    const codes = store.collection<Code>(spec)
    await codes.put({ id: 'a', until: clock.now() + 10 })
    await codes.put({ id: 'b', until: clock.now() + 1000 })
    clock.advance(day)
    assert.equal(store.stats().documents['test.code'], 2)
    clock.advance(11)
    await until(() => store.stats().documents['test.code'] === 1)
    clock.advance(-day)
    assert.deepEqual(
      (await codes.find()).map(({ id }) => id),
      ['b'],
    )
  })

  it('spares a document that was put anew', async (t) => {
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const codes = store.collection<Code>(spec)
    await codes.put({ id: 'a', until: clock.now() + 10 })
    clock.advance(day)
    assert.equal(await store.sweep(), 0)
    clock.advance(11)
    const [swept] = await Promise.all([store.sweep(), codes.put({ id: 'a', until: clock.now() + 10 })])
    assert.equal(swept, 1)
    assert.equal(await codes.count(), 1)
    await store.transaction(async (transaction) => {
      const sweeping = store.collection<Code>(spec)
      assert.equal(await transaction.in(sweeping).count(), 1)
    })
  })

  it('costs little when there is a lot that has not ended', async (t) => {
    const clock = testClock()
    const store = await openStore(t, await temporaryFolder(t), { clock })
    const codes = store.collection<Code>(spec)
    await store.transaction(async (transaction) => {
      for (let index = 0; index < 20_000; index++) {
        await transaction.in(codes).put({ id: `c${index}`, until: clock.now() + 1000 + index * 1000 })
      }
    })
    clock.advance(10_000_000)
    assert.equal(await codes.count(), 20_000 - 9_999)
    assert.equal(await store.sweep(), 0)
    clock.advance(day)
    assert.equal(await store.sweep(), 9_999)
    assert.equal(store.stats().documents['test.code'], 20_000 - 9_999)
  })
})
