/** Lists of tokens come in pages, however many there are. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startServer } from './server.ts'

describe('a list of tokens', () => {
  it('goes on after the last of a page, also while others are issued and revoked', async (t) => {
    const server = await startServer(t)
    const request = (user: string) => ({
      user,
      client: 'app',
      clientName: 'App',
      scopes: ['all'],
      resource: server.url,
    })
    for (let index = 0; index < 12; index++) {
      server.clock.pass(1)
      await server.tokens.issue(request(index % 3 === 0 ? 'hr@example.com' : 'sales@example.com'))
    }
    const all = await server.tokens.list()
    assert.equal(all.length, 12)
    assert.deepEqual(
      all.map(({ issuedAt }) => issuedAt),
      all.map(({ issuedAt }) => issuedAt).toSorted((a, b) => b - a),
    )
    const seen = [...(await server.tokens.list({}, { limit: 5 }))]
    server.clock.pass(1)
    await server.tokens.issue(request('hr@example.com'))
    await server.tokens.revoke({ token: seen.at(-1)!.id }, 'test')
    for (;;) {
      const page = await server.tokens.list({}, { limit: 5, after: seen.at(-1)!.id })
      if (page.length === 0) break
      seen.push(...page)
    }
    assert.deepEqual(
      seen.map(({ id }) => id),
      all.map(({ id }) => id),
    )
    const ofOne = await server.tokens.list({ user: 'hr@example.com' }, { limit: 2, after: all[0]!.id })
    assert.deepEqual(
      ofOne.map(({ id }) => id),
      all
        .slice(1)
        .filter(({ user }) => user === 'hr@example.com')
        .slice(0, 2)
        .map(({ id }) => id),
    )
    await assert.rejects(server.tokens.list({}, { after: 'nobody' }), /no token nobody/)
  })
})
