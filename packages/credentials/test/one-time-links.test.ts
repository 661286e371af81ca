import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sha256 } from '#leaf/secrets.ts'
import { hr, opened, sales } from './opened.ts'

const request = { user: sales, purpose: 'reset', secondFactor: false, seconds: 60 } as const

describe('one-time links', () => {
  it('are spent by one of twenty at once, and kept as the hash of their secret', async (t) => {
    const { links } = await opened(t)
    const { secret } = await links.make(request)
    const found = await links.find(secret)
    assert.equal(found?.link.id, sha256(secret))
    assert.equal(found.user.id, sales)
    const spent = await Promise.all(Array.from({ length: 20 }, () => links.spend(found.link)))
    assert.equal(spent.filter(Boolean).length, 1)
    assert.equal(await links.find(secret), undefined)
  })

  it('end with their time, with a newer one of the same person, and while that person may not sign in', async (t) => {
    const { links, clock, disable } = await opened(t)
    const [older, other] = [await links.make(request), await links.make({ ...request, user: hr })]
    const { secret } = await links.make(request)
    assert.equal(await links.find(older.secret), undefined)
    disable(sales)
    assert.equal(await links.find(secret), undefined)
    await assert.rejects(links.make(request), { code: 'not_found' })
    disable()
    assert.equal((await links.find(secret))?.user.id, sales)
    clock.pass(60)
    assert.equal(await links.find(secret), undefined)
    assert.equal(await links.find(other.secret), undefined)
    assert.equal(await links.end(hr), 1)
  })
})
