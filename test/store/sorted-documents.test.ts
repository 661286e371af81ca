import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import * as fc from '../helpers/random.ts'
import { SortedDocuments } from '../../src/store/sorted-documents.ts'
import type { Stored } from '../../src/store/store.ts'

function allOf(documents: SortedDocuments): Stored[] {
  const all: Stored[] = []
  documents.each((document) => all.push(document) > 0)
  return all
}

describe('sorted documents', () => {
  it('are those that were put and not deleted, in order, however many there are', () => {
    const operation = fc.record({ number: fc.integer({ min: 0, max: 9_999 }), put: fc.boolean() })
    const check = fc.property(
      fc.array(operation, { maxLength: 3_000, size: 'max' }),
      fc.boolean(),
      (operations, filled) => {
        const documents = new SortedDocuments()
        const model = new Map<string, Stored>()
        const put = (number: number): void => {
          const document = { id: `d${number}` }
          documents.put(document)
          model.set(document.id, document)
        }
        if (filled) for (let number = 0; number < 10_000; number++) put(number)
        for (const { number, put: isPut } of operations) {
          if (isPut) put(number)
          else {
            documents.delete({ id: `d${number}` })
            model.delete(`d${number}`)
          }
        }
        const sorted = [...model.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
        const all = allOf(documents)
        assert.equal(all.length, sorted.length)
        assert.ok(all.every((document, index) => document === sorted[index]))
        for (const from of ['', 'd5', 'd5555', 'd99999']) {
          const expected = sorted.filter(({ id }) => id > from).slice(0, 2_500)
          assert.deepEqual(documents.after(from, 2_500), expected)
        }
      },
    )
    fc.assert(check, { numRuns: 20 })
  })
})
