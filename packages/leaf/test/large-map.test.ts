import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LargeMap } from '#leaf/large-map.ts'

describe('a large map', () => {
  it('holds what a Map would, before and after it was split', () => {
    const [large, model] = [new LargeMap<string, number>(), new Map<string, number>()]
    for (let n = 0; n < 100_000; n++) {
      // Keys come again, and go again.
      const key = `key ${(n * 7919) % 60_000}`
      if (n % 5 === 4) {
        large.delete(key)
        model.delete(key)
      } else {
        large.set(key, n)
        model.set(key, n)
      }
      if (n % 20_000 === 0) assert.equal(large.size, model.size)
    }
    assert.equal(large.size, model.size)
    assert.ok(large.size > 1 << 15, 'it was split')
    const keyOf = ([key]: readonly [string, number]): number => Number(key.slice(4))
    const inOrder = (all: Iterable<readonly [string, number]>): unknown[] =>
      [...all].sort((a, b) => keyOf(a) - keyOf(b))
    assert.deepEqual(inOrder(large), inOrder(model))
    assert.equal([...large.values()].length, model.size)
    for (const [key, value] of model) assert.equal(large.get(key), value)
  })
})
