import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { inTurns, Slice, type Slices } from '#leaf/slices.ts'
import { Stop, unlessEnded } from '#leaf/stop.ts'

/** How many timers keep this process from its end. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

describe('work that is given a time', () => {
  it('keeps no process from its end when it never ends itself', async () => {
    const before = timers()
    const stop = new Stop()
    const answer = unlessEnded(new Promise(() => undefined), stop, 60_000, () => assert.fail('it has ended'))
    assert.equal(timers(), before)
    const reason = new Error('the caller left')
    stop.end(reason)
    await assert.rejects(answer, reason)
    assert.equal(timers(), before)
  })

  it('is not ended at once by a time that is longer than any timer', async () => {
    const stop = new Stop()
    const done = unlessEnded(setTimeout(30, 'done'), stop, 9_999_999_000, () => undefined)
    assert.equal(await done, 'done')
    assert.equal(stop.reason, undefined)
  })
})

describe('work in slices', () => {
  it('takes turns with that of others by whom it is for, however much of it one has', async () => {
    const done: string[] = []
    function* work(name: string): Slices<void> {
      for (let slice = 0; slice < 10; slice++) yield void done.push(name)
    }
    const greedy = Array.from({ length: 8 }, () => inTurns(work('greedy'), new Stop({ user: 'greedy' })))
    await inTurns(work('modest'), new Stop({ user: 'modest' }))
    const before = done.filter((name) => name === 'greedy').length
    // The eight began at once; from then on it was one of them and one of the other.
    assert.ok(before >= 8 && before <= 8 + 11, String(before))
    await Promise.all(greedy)
    assert.equal(done.length, 90)
  })

  it('is done one slice in a turn of the event loop, however many there are that rest', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    let turn = 0
    const count = (): void => {
      turn++
      counted = setImmediate(count)
    }
    let counted = setImmediate(count)
    t.after(() => clearImmediate(counted))
    const done: number[] = []
    const work = async (): Promise<void> => {
      const slice = new Slice()
      for (let step = 0; step < 5; step++) {
        now += 6
        await slice.rest()
        done.push(turn)
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
    assert.equal(done.length, 40)
    assert.equal(new Set(done).size, 40, done.join())
  })

  it('is paid by whom it is for with the milliseconds that it takes, and not with those that it waits', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    let paid = 0
    const stop = new Stop({ user: 'ann', pay: (milliseconds) => void (paid += milliseconds) })
    function* work(): Slices<number> {
      for (let slice = 0; slice < 10; slice++) {
        now += 6
        yield
      }
      return 42
    }
    const waiting = setInterval(() => (now += 100), 1)
    t.after(() => clearInterval(waiting))
    assert.equal(await inTurns(work(), stop), 42)
    assert.equal(paid, 60)
  })
})
