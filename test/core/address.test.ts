import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientAddress, networksOf } from '../../src/core/address.ts'

describe('the address of a client', () => {
  const trusted = networksOf(['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])

  it('is the connection’s own when the peer is not a trusted proxy, whatever it claims', () => {
    assert.equal(clientAddress('203.0.113.9', '198.51.100.1', trusted), '203.0.113.9')
  })
  it('is the last untrusted hop behind trusted proxies', () => {
    assert.equal(clientAddress('127.0.0.1', '198.51.100.1, 203.0.113.9, 10.1.2.3', trusted), '203.0.113.9')
    assert.equal(clientAddress('fd00::1', '2001:db8::7', trusted), '2001:db8::7')
  })
  it('ignores hops that are not addresses', () => {
    assert.equal(clientAddress('127.0.0.1', 'evil, unknown', trusted), '127.0.0.1')
  })
  it('reads IPv4 that came over IPv6 as IPv4', () => {
    assert.equal(clientAddress('::ffff:127.0.0.1', '198.51.100.1', trusted), '198.51.100.1')
  })
  it('refuses networks that are none, naming them', () => {
    assert.throws(() => networksOf(['10.0.0.0/40']), /"10.0.0.0\/40" is not an address or network/)
    assert.throws(() => networksOf(['localhost']), /"localhost"/)
  })
})
