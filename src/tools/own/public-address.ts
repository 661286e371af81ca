/** Which addresses a tool may reach that an operator did not open the inner network to (SSRF). */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { AppError } from '../../core/errors.ts'

const inner = new BlockList()
// RFC 6890 and its additions, and the IPv6 forms that carry an IPv4 address inside.
for (const network of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])
  inner.addSubnet(network.split('/')[0]!, Number(network.split('/')[1]), 'ipv4')

const global = new BlockList()
global.addSubnet('2000::', 3, 'ipv6')
for (const network of ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])
  inner.addSubnet(network.split('/')[0]!, Number(network.split('/')[1]), 'ipv6')

/** Whether an address is on the public internet. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !inner.check(address, 'ipv4')
  return family === 6 && global.check(address, 'ipv6') && !inner.check(address, 'ipv6')
}

/** The address to dial for a host: all of its addresses must be allowed, and the one that is checked is the one that is used. */
export async function addressFor(host: string, allowPrivate: boolean): Promise<string> {
  const bare = host.replace(/^\[|\]$/g, '')
  const addresses = isIP(bare) ? [bare] : await addressesOf(bare)
  if (!allowPrivate && !addresses.every(isPublic))
    throw new AppError(
      'unavailable',
      'the host of this tool is not on the public internet (allow_private opens it)',
    )
  return addresses[0]!
}

async function addressesOf(host: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map((entry) => entry.address)
  } catch (cause) {
    throw new AppError('unavailable', 'the host of this tool cannot be found', { cause })
  }
}
