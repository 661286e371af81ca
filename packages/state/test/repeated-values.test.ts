/** Documents that were read from disk share equal values in memory, and nobody can tell. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Stored } from '#state/store.ts'
import { openStore, temporaryFolder } from './state-folder.ts'

interface Pass extends Stored {
  readonly user: string
  readonly scopes: readonly unknown[] | string
}

const spec = { name: 'test.pass', indexes: ['user'] } as const

describe('values that many documents hold', () => {
  it('are the same after a start, each in its own document and each of its own kind', async (t) => {
    const folder = await temporaryFolder(t)
    const store = await openStore(t, folder)
    const passes = Array.from({ length: 3000 }, (_, index): Pass => {
      // A text that looks like a list, lists that look alike, and what is in no list of names.
      const scopes = ['["all"]', ['all'], ['all', 'email'], [], [1, null], [['all']]][index % 6]!
      return { id: `pass-${index}`, user: `user-${index % 7}`, scopes }
    })
    await store.transaction(async (tx) => {
      for (const pass of passes) await tx.in(store.collection<Pass>(spec)).insert(pass)
    })
    await store.close()
    const again = await openStore(t, folder)
    const collection = again.collection<Pass>(spec)
    const byId = (a: Stored, b: Stored) => (a.id < b.id ? -1 : 1)
    assert.deepEqual(await collection.find(), passes.toSorted(byId))
    const [one, other] = [await collection.get('pass-1'), await collection.get('pass-7')]
    assert.equal(one!.scopes, other!.scopes, 'one list for both')
    assert.throws(() => (one!.scopes as unknown[]).push('more'), TypeError)
    await collection.put({ ...one!, scopes: ['none'] })
    assert.deepEqual((await collection.get('pass-7'))!.scopes, ['all'])
    assert.equal(await collection.count({ where: { user: 'user-1' } }), 429)
  })
})
