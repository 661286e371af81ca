import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import { Bag } from '../../src/store/bag.ts'
import * as fc from '../helpers/random.ts'

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
})
