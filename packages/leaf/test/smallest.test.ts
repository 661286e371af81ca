import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LargeMap } from '#leaf/large-map.ts'
import { smallest } from '#leaf/smallest.ts'

describe('the first of many by an order', () => {
  it('are found in slices, none of which compares for long', (t) => {
    let compared = 0
    // A comparison takes a hundredth of a millisecond.
    t.mock.method(performance, 'now', () => compared / 100)
    const items = Array.from({ length: 50_000 }, (_, n) => (n * 7919) % 50_000)
    const compare = (a: number, b: number): number => {
      compared++
      return a - b
    }
    for (const count of [20, 30_000, 50_000]) {
      const work = smallest(items, compare, count)
      let longest = 0
      let step: ReturnType<typeof work.next>
      do {
        const before = compared
        step = work.next()
        longest = Math.max(longest, compared - before)
      } while (!step.done)
      assert.deepEqual(
        step.value,
        Array.from({ length: count }, (_, n) => n),
      )
      assert.ok(longest < 2000, `${longest} of ${compared} comparisons in one slice, for ${count}`)
    }
  })
})

describe('a map of very many', () => {
  it('keeps what a map keeps, whatever its keys are, before and after it is divided', () => {
    const [large, plain] = [new LargeMap<unknown, number>(), new Map<unknown, number>()]
    const keys = (n: number): unknown[] => [n, `text ${n}`, n / 3, `${'long '.repeat(50)}${n}`]
    for (let n = 0; n < 20_000; n++)
      for (const key of [...keys(n), n % 2 === 0, null, NaN, Infinity]) {
        large.set(key, n)
        plain.set(key, n)
      }
    for (let n = 0; n < 20_000; n += 7)
      for (const key of keys(n)) {
        large.delete(key)
        plain.delete(key)
      }
    for (const [key, value] of plain) assert.equal(large.get(key), value)
    assert.equal(large.get('text 7'), undefined)
    assert.equal([...large].length, plain.size)
  })
})
