import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientAddress, isLocal, networkKey, networksOf } from '#leaf/address.ts'

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
    // A slash without bits meant every address that there is.
    for (const text of ['localhost', '10.0.0.0/', '10.0.0.0/8/9', '10.0.0.0/ 8', '10.0.0.0/0x8', ''])
      assert.throws(() => networksOf([text]), { code: 'invalid' }, text)
  })
})

describe('this machine', () => {
  it('is meant by its own names and addresses, and by no name that begins like one', () => {
    for (const host of ['localhost', 'app.localhost', '127.0.0.1', '127.8.8.8', '::1', '[::1]'])
      assert.equal(isLocal(host), true, host)
    for (const host of ['127.evil.example', 'localhost.evil.example', '10.0.0.1', '[::2]', ''])
      assert.equal(isLocal(host), false, host)
  })
})

describe('what an address is counted under', () => {
  it('is itself for IPv4, and its /64 for IPv6, however it is written', () => {
    assert.equal(networkKey('192.0.2.7'), '192.0.2.7')
    for (const address of ['2001:db8:0:5::1', '2001:0DB8::5:a:b:c:d', '2001:db8:0:5:ffff:ffff:ffff:ffff'])
      assert.equal(networkKey(address), '2001:db8:0:5::/64')
    assert.equal(networkKey('2001:db8:0:6::1'), '2001:db8:0:6::/64')
    assert.equal(networkKey('::1'), '0:0:0:0::/64')
    assert.equal(networkKey('fe80::1%eth0'), 'fe80:0:0:0::/64')
    assert.equal(networkKey('64:ff9b::192.0.2.7'), '64:ff9b:0:0::/64')
    assert.equal(networkKey('1:2:3:4:5:6:192.0.2.7'), '1:2:3:4::/64')
    assert.equal(networkKey('2001:db8::'), '2001:db8:0:0::/64')
    assert.equal(networkKey('no address'), 'no address')
  })
})
