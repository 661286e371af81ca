/** Which network addresses are on the public internet, and lists of networks (CIDR). */
import { BlockList, isIP } from 'node:net'

// RFC 6890 and the IANA special-purpose registries, plus every IPv6 form that carries an IPv4 address
// (mapped, compatible, NAT64, 6to4, Teredo, ISATAP): those reach private IPv4 networks through a translator.
const special = networks([
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
const publicV6 = networks(['2000::/3'])
const specialV6 = networks(['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'])

/** Whether an address is one that a document on the internet may be fetched from. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4')
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (!publicV6.check(address, 'ipv6') || specialV6.check(address, 'ipv6')) return false
  // ISATAP: an interface identifier of [0|2]00:5efe and an IPv4 address, under any prefix.
  return !/^[0-9a-f:]*:0?[02]?0?0?:5efe:/i.test(expand(address))
}

/** Whether an address is in one of the networks; IPv4 in IPv6 clothes counts as IPv4. */
export function isInNetworks(address: string, cidrs: readonly string[]): boolean {
  const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  const kind = isIP(plain)
  return kind !== 0 && networks(cidrs).check(plain, kind === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a text is an address or a network. */
export function isNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/')
  const kind = isIP(address)
  if (kind === 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (kind === 4 ? 32 : 128))
}

function networks(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs.filter(isNetwork)) {
    const [address = '', bits] = cidr.split('/')
    const kind = isIP(address) === 4 ? 'ipv4' : 'ipv6'
    list.addSubnet(address, bits === undefined ? (kind === 'ipv4' ? 32 : 128) : Number(bits), kind)
  }
  return list
}

function expand(address: string): string {
  const [head = '', tail] = address.toLowerCase().split('::')
  if (tail === undefined) return head
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right].join(':')
}
