import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Stop } from '#leaf/stop.ts'
import { Shares } from '#sources/shares.ts'

describe('the shares of users in a source', () => {
  it('lets those of a user wait in their order, and others pass; who gives up is skipped', async () => {
    const shares = new Shares(1)
    const said: string[] = []
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const stop = new Stop()
    const first = shares.run('ann', undefined, () => gate)
    const given = shares.run('ann', stop, () => Promise.resolve(said.push('given up')))
    const second = shares.run('ann', new Stop(), () => Promise.resolve(said.push('second')))
    const third = shares.run('ann', undefined, () => Promise.resolve(said.push('third')))
    await shares.run('bob', undefined, () => Promise.resolve(said.push('bob')))
    stop.end(new Error('she left'))
    await assert.rejects(given, /she left/)
    open()
    await Promise.all([first, second, third])
    assert.deepEqual(said, ['bob', 'second', 'third'])
    await shares.run('ann', stop, () => Promise.resolve(said.push('again')))
    assert.equal(said.at(-1), 'again')
  })
})
