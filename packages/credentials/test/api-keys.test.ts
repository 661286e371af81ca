import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { opened } from './opened.ts'

describe('API keys', () => {
  it('are listed without their secret, newest first, by user', async (t) => {
    const server = await opened(t)
    const first = await server.apiKeys.create({ user: 'Sales@example.com', label: 'import job' })
    server.clock.pass(1)
    const second = await server.apiKeys.create({ user: 'sales@example.com' })
    await server.apiKeys.create({ user: 'hr@example.com' })
    const keys = await server.apiKeys.list('sales@example.com')
    assert.deepEqual(
      keys.map((key) => key.id),
      [second.key.id, first.key.id],
    )
    assert.equal(keys[1]?.label, 'import job')
    assert.equal(keys[1]?.secretHash, sha256(first.secret))
    assert.equal((await server.apiKeys.list()).length, 3)
  })

  it('prove nothing with another key secret, or when revoked, which happens once', async (t) => {
    const server = await opened(t)
    const a = await server.apiKeys.create({ user: 'sales@example.com' })
    const b = await server.apiKeys.create({ user: 'sales@example.com' })
    assert.deepEqual(await server.apiKeys.check(a.key.id, b.secret), { fault: 'the API key is unknown' })
    assert.deepEqual(await server.apiKeys.check('x'.repeat(200), a.secret), {
      fault: 'the API key is unknown',
    })
    assert.ok('key' in (await server.apiKeys.check(a.key.id, a.secret)))
    assert.equal(await server.apiKeys.revoke(a.key.id), true)
    assert.deepEqual(await server.apiKeys.check(a.key.id, a.secret), { fault: 'the API key is not active' })
    assert.equal(await server.apiKeys.revoke('nothing'), false)
    await assert.rejects(server.apiKeys.create({ user: 'nobody@example.com' }), { code: 'not_found' })
  })
})
