import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hmac, randomId, randomSecret, sameText, sha256 } from '#leaf/secrets.ts'

describe('secrets', () => {
  it('have 256 bits behind their prefix and never repeat', () => {
    const secrets = new Set(Array.from({ length: 2000 }, () => randomSecret('ac_at_')))
    assert.equal(secrets.size, 2000)
    for (const secret of secrets) assert.match(secret, /^ac_at_[A-Za-z0-9_-]{43}$/)
  })

  it('use every bit alike, across the refills of the pool', () => {
    const ones = Array.from({ length: 256 }, () => 0)
    const rounds = 4000
    for (let round = 0; round < rounds; round++) {
      const bytes = Buffer.from(randomSecret(''), 'base64url')
      for (let bit = 0; bit < 256; bit++) ones[bit]! += (bytes[bit >> 3]! >> (bit & 7)) & 1
    }
    // Ten standard deviations: a stuck bit fails, chance does not.
    for (const count of ones) assert.ok(Math.abs(count - rounds / 2) < 10 * Math.sqrt(rounds / 4))
  })

  it('identifiers have 128 bits, and none looks like an option of a command', () => {
    for (let made = 0; made < 2000; made++) assert.match(randomId(), /^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/)
  })

  it('are stored as SHA-256 and signed with HMAC-SHA-256, as everybody computes them', () => {
    // FIPS 180-4 example, and RFC 4231 test case 2.
    assert.equal(
      Buffer.from(sha256('abc'), 'base64url').toString('hex'),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    assert.equal(
      Buffer.from(hmac('Jefe', 'what do ya want for nothing?'), 'base64url').toString('hex'),
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  it('are compared whole, whatever their lengths', () => {
    assert.equal(sameText('abc', 'abc'), true)
    assert.equal(sameText('abc', 'abd'), false)
    assert.equal(sameText('abc', 'abcd'), false)
    assert.equal(sameText('', 'a'), false)
    assert.equal(sameText('', ''), true)
  })
})
