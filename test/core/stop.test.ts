import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { Stop, unlessEnded } from '../../src/core/stop.ts'

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
})
