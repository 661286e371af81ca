import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { Bag } from '#state/embedded/bag.ts'
import * as fc from '../../../test/helpers/random.ts'

describe('a bag', () => {
  it('has what was put in and not taken out, each once, however often it comes and goes', () => {
    const numbers = fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 2_000, size: 'max' })
    const check = fc.property(numbers, (moved) => {
      const [bag, model] = [new Bag<number>([]), new Set<number>()]
      for (const number of moved) {
        if (model.delete(number)) bag.delete(number)
        else {
          model.add(number)
          bag.add(number)
        }
        assert.equal(bag.size, model.size)
      }
      assert.deepEqual(
        [...bag].sort((a, b) => a - b),
        [...model].sort((a, b) => a - b),
      )
    })
    fc.assert(check, { numRuns: 50 })
  })

  it('of very many members has what was put in and not taken out, too', () => {
    const [bag, model] = [new Bag<number>([0]), new Set<number>([0])]
    for (let number = 1; number < 100_000; number++) {
      bag.add(number)
      model.add(number)
    }
    // First here and there, then those added last, until few are left; some come back.
    const order = [...model].sort((a, b) => ((a * 7919) % 100_000) - ((b * 7919) % 100_000))
    for (const number of [...order.slice(0, 60_000), ...order.slice(60_000).sort((a, b) => b - a)]) {
      if (model.size > 5) {
        bag.delete(number)
        model.delete(number)
      }
      if (number % 3 > 0) continue
      if (!model.has(number)) bag.add(number)
      model.add(number)
      if (number % 9999 === 0) assert.equal(bag.size, model.size)
    }
    assert.ok(model.size > 20_000 && model.size < 50_000, `${model.size}`)
    assert.equal(bag.size, model.size)
    const sorted = (all: Iterable<number>): number[] => [...all].sort((a, b) => a - b)
    assert.deepEqual(sorted(bag), sorted(model))
  })
})
