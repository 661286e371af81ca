import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LargeBodies } from '#front/large-bodies.ts'

const megabyte = 1_000_000

function busy(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

describe('large bodies', () => {
  it('are worked on one in a turn, and whoever sent one lets others go first for as long as that took', async () => {
    const bodies = new LargeBodies()
    // In each turn of the thread everybody else is looked at.
    let [turn, isOver] = [0, false]
    const count = (): void => {
      turn++
      if (!isOver) setImmediate(count)
    }
    count()
    const done: { name: string; turn: number }[] = []
    const send = async (caller: string, name: string): Promise<void> => {
      await bodies.turn(caller, megabyte)
      done.push({ name, turn })
      busy(30)
    }
    await Promise.all([send('ann', 'ann 1'), send('ann', 'ann 2'), send('bob', 'bob 1'), send('cy', 'cy 1')])
    isOver = true
    assert.deepEqual(
      done.map(({ name }) => name),
      ['ann 1', 'bob 1', 'cy 1', 'ann 2'],
    )
    assert.equal(new Set(done.map((one) => one.turn)).size, 4)
  })

  it('leave small ones alone, also those of who owes for a large one', async () => {
    const bodies = new LargeBodies()
    await bodies.turn('ann', megabyte)
    busy(30)
    assert.equal(bodies.turn('ann', 1000), undefined)
    await bodies.turn('ann', megabyte)
  })
})
