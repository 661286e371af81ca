import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { opened, password } from './opened.ts'

describe('passwords', () => {
  it('are kept as argon2id and match whatever a keyboard composes', async (t) => {
    const server = await opened(t)
    await server.passwords.set('Sales@example.com', 'Caf\u00e9 au lait')
    assert.equal(await server.passwords.matches('sales@example.com', 'Cafe\u0301 au lait'), true)
    assert.equal(await server.passwords.matches('sales@example.com', 'Cafe au lait'), false)
    assert.equal(await server.passwords.matches('sales@example.com', password), false)
  })

  it('must keep the rules, all of which are named at once', async (t) => {
    const server = await opened(t)
    const cases: [string, RegExp][] = [
      ['short', /at least 12 characters/],
      ['        ', /tried first/],
      ['123456123456', /tried first/],
      ['QWERTY123456', /tried first/],
      ['sales@example.com', /is the user name/],
      ['x'.repeat(1025), /at most 1024/],
    ]
    for (const [text, why] of cases) {
      await assert.rejects(server.passwords.set('sales@example.com', text), { code: 'invalid', message: why })
    }
    await assert.rejects(server.passwords.set('nobody@example.com', 'a good password'), { code: 'not_found' })
    assert.equal(await server.passwords.matches('sales@example.com', password), true, 'nothing changed')
  })

  it('exist or not', async (t) => {
    const server = await opened(t)
    assert.equal(await server.passwords.has('hr@example.com'), true)
    assert.equal(await server.passwords.has('nobody@example.com'), false)
  })

  it('are made for the administrator only when nobody has one', async (t) => {
    const server = await opened(t)
    assert.equal(await server.passwords.makeFirst('admin@example.com'), undefined)
    const records = server.store.collection<{ id: string }>({ name: 'users.password' })
    for (const { id } of await records.find()) await records.delete(id)
    assert.equal(await server.passwords.makeFirst('nobody@example.com'), undefined)
    const made = await server.passwords.makeFirst('admin@example.com')
    assert.match(made ?? '', /^[\w-]{22}$/)
    assert.equal(await server.passwords.matches('admin@example.com', made!), true)
    assert.equal(await server.passwords.makeFirst('admin@example.com'), undefined)
  })
})
