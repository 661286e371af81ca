import { describe, it } from 'node:test'
import assert from 'node:assert/strict'
import * as fc from '../../../test/helpers/random.ts'
import { SortedDocuments } from '#state/embedded/sorted-documents.ts'
import { order } from '#state/questions/expression-values.ts'
import { atOnce } from '#leaf/slices.ts'
import { fieldOf } from '#state/embedded/field-index.ts'
import { Table } from '#state/embedded/table.ts'
import type { Stored } from '#state/store.ts'

function allOf(documents: SortedDocuments): Stored[] {
  const all: Stored[] = []
  documents.each((document) => all.push(document) > 0)
  return all
}

describe('sorted documents', () => {
  it('are those that were put and not deleted, in order, however many there are', () => {
    const number = fc.integer({ min: 0, max: 9_999 })
    const operation = fc.record({ number, put: fc.boolean(), isRead: fc.boolean() })
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
        for (const { number, put: isPut, isRead } of operations) {
          if (isPut) put(number)
          else {
            documents.delete({ id: `d${number}` })
            model.delete(`d${number}`)
          }
          // What was put just now is there for whoever reads, and goes on being there.
          const next = isRead ? documents.after(`d${number}`.slice(0, -1), 1)[0] : undefined
          if (next) assert.equal(model.get(next.id), next)
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

  it('come by a field in the order of its kinds, checks among numbers, and by id where they are alike', () => {
    const values = [undefined, true, 'a', 1, [2], false, 0, null, 2, { a: 1 }]
    const stored = Array.from({ length: 100 }, (_, n): Stored & { value?: unknown } => {
      const value = values[n % values.length]
      return { id: `d${String(n).padStart(3, '0')}`, ...(value !== undefined && { value }) }
    })
    const kinds: unknown[][] = [[undefined, null], [false, 0], [true, 1], [2], ['a'], [values[4], values[9]]]
    const expected = kinds.flatMap((alike) => stored.filter(({ value }) => alike.includes(value)))
    assert.equal(expected.length, 100)
    const sorted = atOnce(atOnce(SortedDocuments.byId(stored)).by('value'))
    const put = new SortedDocuments('value')
    for (const document of stored.toReversed()) put.put(document)
    for (const documents of [sorted, put])
      assert.deepEqual(
        allOf(documents).map(({ id }) => id),
        expected.map(({ id }) => id),
      )
    const count = (operator: '=' | '<' | '>', value: number | string): number =>
      sorted.compared(operator, value).count
    assert.deepEqual([count('=', 1), count('<', 1), count('>', 1), count('=', 'a')], [20, 20, 10, 10])
    assert.equal(sorted.lists().count, 20)
  })
})

describe('the orders of many documents', () => {
  it('are taken down in slices as well, and not only sorted so', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => (now += 5))
    const all = Array.from({ length: 1000 }, (_, n) => ({ id: `t${n}` }))
    const slicesOf = (making: ReturnType<typeof SortedDocuments.byId>): [number, SortedDocuments] => {
      for (let slices = 0; ; slices++) {
        const { done, value } = making.next()
        if (done) return [slices, value]
      }
    }
    const [slices, byId] = slicesOf(SortedDocuments.byId(all))
    assert.ok(slices > all.length, String(slices))
    const [others, byTitle] = slicesOf(byId.by('title'))
    assert.ok(others > all.length, String(others))
    assert.deepEqual(allOf(byTitle), allOf(byId))
  })

  it('are made in slices, with all that is written between them', () => {
    const table = new Table('document.thing')
    const kinds = ['Won', 'Lost', null, 3]
    const thing = (n: number, value: number): Stored =>
      ({
        id: `t${n}`,
        rank: (value * 7919) % 50_000,
        kind: kinds[value % 4],
        title: `title ${value}`,
      }) as Stored
    for (let n = 0; n < 50_000; n++) table.set(`t${n}`, thing(n, n))
    const ordered = ['kind', 'rank', 'title']
    const spec = { name: 'document.thing', indexes: [], unique: [], ordered, texts: [], expires: undefined }
    table.declare(spec)
    assert.equal(table.ordered('rank'), undefined)
    let slices = 0
    for (const making = table.prepare(); !making.next().done; slices++)
      for (const n of [slices, 49_000 + slices, 50_000 + slices])
        table.set(`t${n}`, n % 3 === 0 ? undefined : thing(n, 60_000 - n))
    assert.ok(slices > 3, String(slices))
    const documents = [...table.entries()].map(([, document]) => document)
    for (const field of ['id', ...ordered]) {
      const compare = (a: Stored, b: Stored): number =>
        order(fieldOf(a, field), fieldOf(b, field)) || (a.id < b.id ? -1 : 1)
      const all = allOf(table.ordered(field)!)
      assert.equal(all.length, documents.length)
      assert.deepEqual(all, [...documents].sort(compare), field)
    }
  })
})
