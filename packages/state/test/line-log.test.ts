import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { createLog } from '#leaf/log.ts'
import { LineLog } from '#state/lines/line-log.ts'

const patience = { milliseconds: 5_000, late: 'not in time' }

describe('a log of lines', () => {
  it('writes what comes alone at once, and what follows it together', async () => {
    const writes: (readonly string[])[] = []
    const lines = new LineLog<string>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      gatherMilliseconds: 500,
      write: (entries) => Promise.resolve(void writes.push(entries)),
    })
    await lines.add('alone')
    const waiting = [lines.add('second')]
    await setTimeout(5)
    waiting.push(lines.add('third'))
    await setTimeout(5)
    assert.deepEqual([writes, lines.waiting], [[['alone']], 2])
    await lines.close()
    await Promise.all(waiting)
    assert.deepEqual(writes, [['alone'], ['second', 'third']])
  })

  it('writes together what comes turn after turn, and does not wait for its end', async () => {
    const writes: (readonly number[])[] = []
    const lines = new LineLog<number>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      gatherMilliseconds: 0,
      write: (entries) => Promise.resolve(void writes.push(entries)),
    })
    const addEachTurn = async (from: number, to: number): Promise<void> => {
      const waiting: Promise<void>[] = []
      for (let n = from; n < to; n++) {
        const turn = setImmediate()
        waiting.push(lines.add(n))
        await turn
      }
      await Promise.all(waiting)
    }
    await addEachTurn(0, 3)
    assert.deepEqual(writes, [[0, 1, 2]])
    await addEachTurn(3, 20)
    assert.ok(writes.length > 2, 'what never ends is written all the same')
    await lines.close()
  })

  it('writes what somebody waits for as soon as as many wait as before, and each alone where one waits', async () => {
    const writes: string[] = []
    let finish = (): void => undefined
    let disk = Promise.resolve()
    const lines = new LineLog<string>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      // Nothing below is written because time passed.
      gatherMilliseconds: 100_000_000,
      write: async (entries) => {
        writes.push(entries.join())
        await disk
      },
    })
    await lines.add('a')
    await lines.add('b', patience)
    disk = new Promise((resolve) => (finish = resolve))
    const first = lines.add('c', patience)
    while (writes.length < 3) await setTimeout(1)
    const three = ['d', 'e', 'f'].map((one) => lines.add(one, patience))
    finish()
    await Promise.all([first, ...three])
    const quiet = lines.add('told')
    const again = [lines.add('g', patience), lines.add('h', patience)]
    await setTimeout(20)
    assert.deepEqual(writes.slice(3), ['d,e,f'], 'two of three wait for the third')
    await Promise.all([...again, lines.add('i', patience), quiet])
    assert.deepEqual(writes, ['a', 'b', 'c', 'd,e,f', 'told,g,h,i'])
  })

  it('says for how long the first of those has waited that are not written, and takes no more bytes than it can hold', async () => {
    let finish = (): void => undefined
    const disk = new Promise<void>((resolve) => (finish = resolve))
    const lines = new LineLog<string>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      gatherMilliseconds: 0,
      sizeOf: ({ length }) => length,
      write: () => disk,
    })
    assert.equal(lines.waitsFor, 0)
    const large = 'x'.repeat(1 << 20)
    const added = Array.from({ length: 63 }, () => lines.add(large))
    lines.requireWritable()
    added.push(lines.add(large))
    assert.throws(() => lines.requireWritable(), /the log cannot keep up/)
    await setTimeout(5)
    assert.ok(lines.waitsFor > 0)
    finish()
    await Promise.all(added)
    lines.requireWritable()
    assert.equal(lines.waitsFor, 0)
  })
})

describe('a log whose writes fail', () => {
  /** A log of which the first writes succeed, and one fails; the next succeed again. */
  function failingOnce(good: number, waits = Promise.resolve()) {
    let [begun, ended] = [0, 0]
    const written: number[] = []
    const lines = new LineLog<number>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      gatherMilliseconds: 0,
      write: async (entries) => {
        begun++
        await waits
        if (ended++ === good) throw new Error('no room')
        written.push(...entries)
      },
      undo: () => undefined,
    })
    return { lines, written, isWriting: () => begun > ended }
  }

  it('tells nobody whose entry is on disk that a later write failed', async () => {
    const { lines, written } = failingOnce(1)
    const told = await Promise.allSettled(Array.from({ length: 6000 }, (_, n) => lines.add(n)))
    assert.deepEqual(
      told.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : [])),
      written,
    )
    assert.ok(written.length > 0 && written.length < 6000)
    await lines.close()
  })

  it('takes no more at once for those who only wait between others, and answers all', async () => {
    const { lines, written } = failingOnce(Infinity)
    const waiting = Array.from({ length: 12_000 }, (_, n) => {
      const added = lines.add(n)
      return n % 997 === 0 ? Promise.all([added, lines.settled()]) : added
    })
    await Promise.all(waiting)
    assert.deepEqual(written, [...Array(12_000).keys()])
    await lines.close()
  })

  it('loses nothing of what waited when it is closed, where writing is possible again', async () => {
    let fails = true
    const written: number[] = []
    const lines = new LineLog<number>({
      name: 'the log',
      log: createLog('silent', process.stderr),
      gatherMilliseconds: 0,
      write: async (entries) => {
        if (fails) throw new Error('no room')
        written.push(...entries)
      },
    })
    const added = Array.from({ length: 12_000 }, (_, n) => lines.add(n))
    while (lines.fault === undefined) await setTimeout(1)
    fails = false
    assert.deepEqual(await lines.close(), [])
    await Promise.all(added)
    assert.equal(written.length, 12_000)
  })

  it('tells nobody who comes after a failure of that failure', async () => {
    let finish = (): void => undefined
    const { lines, written, isWriting } = failingOnce(0, new Promise((resolve) => (finish = resolve)))
    const lost = [lines.add(1)]
    while (!isWriting()) await setTimeout(1)
    lost.push(lines.add(2))
    finish()
    for (const one of lost) await assert.rejects(one, { code: 'unavailable' })
    await lines.add(3)
    assert.deepEqual(written, [3])
    await lines.close()
  })
})
