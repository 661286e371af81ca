/** A map of what soon passes: it is a Map, and V8 keeps nothing of what was in it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PassingMap } from '#leaf/passing-map.ts'
import { fullCollections } from '../../../test/helpers/full-collections.ts'
import * as fc from '../../../test/helpers/random.ts'

describe('a map of what soon passes', () => {
  it('holds what a Map holds, in its order, whatever is set and deleted', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(20), fc.boolean()), { minLength: 500, maxLength: 1000 }),
        (steps) => {
          const [own, map] = [new PassingMap<number, number>(), new Map<number, number>()]
          for (const [step, [key, isSet]] of steps.entries()) {
            if (isSet) {
              own.set(key, step)
              map.set(key, step)
            } else assert.equal(own.delete(key), map.delete(key))
            assert.deepEqual([own.size, own.get(key), own.has(key)], [map.size, map.get(key), map.has(key)])
          }
          assert.deepEqual([...own], [...map])
          assert.deepEqual([...own.keys()], [...map.keys()])
          assert.deepEqual([...own.values()], [...map.values()])
        },
      ),
    )
  })

  it('may be deleted from while it is looked through', () => {
    const own = new PassingMap<number, true>()
    for (let key = 0; key < 500; key++) own.set(key, true)
    const seen = []
    for (const key of own.keys()) {
      seen.push(key)
      own.delete(key)
    }
    assert.deepEqual([seen.length, own.size], [500, 0])
  })

  it('needs no full collection for what has passed, as a Map does', async () => {
    const collections = (
      map: Pick<Map<number, object>, 'set' | 'delete'> | PassingMap<number, object>,
    ): Promise<number> => {
      let next = 0
      return fullCollections((count) => {
        for (const end = next + count; next < end; next++) {
          map.set(next, { next, held: Array.from({ length: 20 }, () => next) })
          map.delete(next - 4)
        }
      })
    }
    const [own, plain] = [await collections(new PassingMap()), await collections(new Map<number, object>())]
    assert.ok(own * 2 < plain, `${own} full collections, and ${plain} of a Map`)
  })
})
