import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { opened } from './opened.ts'

describe('browser sessions', () => {
  it('end after their hours, with the user, and when they are closed', async (t) => {
    const server = await opened(t)
    const secret = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    assert.equal((await server.sessions.find(secret))?.user.id, 'sales@example.com')
    server.disable('sales@example.com')
    assert.equal(await server.sessions.find(secret), undefined)
    server.disable()
    server.clock.pass(12 * 3600 + 1)
    assert.equal(await server.sessions.find(secret), undefined)
    const other = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    const third = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
    })
    await server.sessions.close(other)
    assert.equal(await server.sessions.find(other), undefined)
    assert.equal(await server.sessions.closeAll('sales@example.com'), 1)
    assert.equal(await server.sessions.find(third), undefined)
    assert.equal(await server.sessions.find(''), undefined)
    assert.equal(await server.sessions.find('ac_ss_made_up'), undefined)
  })

  it('that lack a step are none, and end after ten minutes', async (t) => {
    const server = await opened(t)
    const secret = await server.sessions.open({
      user: 'sales@example.com',
      method: 'password',
      address: '192.0.2.1',
      pending: 'prove',
    })
    assert.equal(await server.sessions.find(secret), undefined)
    assert.deepEqual(await server.sessions.list('sales@example.com'), [])
    assert.equal((await server.sessions.findPending(secret))?.user.id, 'sales@example.com')
    server.clock.pass(600)
    assert.equal(await server.sessions.findPending(secret), undefined)
  })
})
