import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { within } from '#leaf/deadline.ts'

describe('a deadline', () => {
  it('comes though memory is collected while somebody waits for it', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const end = within(200, new AbortController().signal)
    for (let time = 0; time < 500 && !end.aborted; time++) {
      await setTimeout(10)
      collect()
    }
    assert.equal(end.aborted, true)
    assert.match(String(end.reason), /TimeoutError/)
  })

  it('comes with the signal that it was given', () => {
    const stop = new AbortController()
    const end = within(60_000, stop.signal)
    assert.equal(end.aborted, false)
    stop.abort(new Error('enough'))
    assert.match(String(end.reason), /enough/)
    assert.match(String(within(60_000, stop.signal).reason), /enough/)
  })

  it('leaves nothing on the signal that it was given', async () => {
    const stop = new AbortController()
    const end = within(5, stop.signal)
    assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
    while (!end.aborted) await setTimeout(5)
    assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
  })
})
