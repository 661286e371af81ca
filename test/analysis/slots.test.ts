import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Slots } from '../../src/analysis/sandbox/slots.ts'

const never = new AbortController().signal

describe('slots for costly work', () => {
  it('tell what runs and what waits, and are empty when all is done', async () => {
    const slots = new Slots(2, 4)
    const ends: (() => void)[] = []
    const work = (): Promise<void> => new Promise((end) => void ends.push(end))
    const all = [1, 2, 3].map(() => slots.use(never, work))
    await new Promise(setImmediate)
    assert.deepEqual(slots.load(), { running: 2, waiting: 1 })
    ends[0]!()
    await all[0]
    await new Promise(setImmediate)
    assert.deepEqual(slots.load(), { running: 2, waiting: 0 })
    for (const end of ends) end()
    await Promise.all(all)
    assert.deepEqual(slots.load(), { running: 0, waiting: 0 })
  })

  it('refuse when too many wait, and forget who left the queue', async () => {
    const slots = new Slots(1, 1)
    let end: (() => void) | undefined
    const first = slots.use(never, () => new Promise<void>((done) => (end = done)))
    await new Promise(setImmediate)
    const leaving = new AbortController()
    const second = slots.use(leaving.signal, () => Promise.resolve())
    await assert.rejects(
      slots.use(never, () => Promise.resolve()),
      /too many analyses/,
    )
    leaving.abort()
    await assert.rejects(second, /cancelled/)
    assert.deepEqual(slots.load(), { running: 1, waiting: 0 })
    end!()
    await first
  })

  it('let the next owner in while one holds its share', async () => {
    const slots = new Slots(2, 4, 1)
    const order: string[] = []
    const ends = new Map<string, () => void>()
    const work = (name: string) => (): Promise<void> => {
      order.push(name)
      return new Promise((end) => void ends.set(name, end))
    }
    const all = [
      slots.use(never, work('a1'), 'a'),
      slots.use(never, work('a2'), 'a'),
      slots.use(never, work('b1'), 'b'),
    ]
    await new Promise(setImmediate)
    assert.deepEqual(order, ['a1', 'b1'])
    for (const name of ['a1', 'b1']) ends.get(name)!()
    await all[0]
    await new Promise(setImmediate)
    assert.deepEqual(order, ['a1', 'b1', 'a2'])
    ends.get('a2')!()
    await Promise.all(all)
  })
})
