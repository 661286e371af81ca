import { BlockList, isIP } from 'node:net'
import { AppError } from './errors.ts'

/** A set of networks, such as the proxies that are trusted to say whom they speak for. */
export function networksOf(texts: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    const family = isIP(address)
    const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix)
    if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 6 ? 128 : 32)) {
      throw new AppError('invalid', `"${text}" is not an address or network such as 10.0.0.0/8`)
    }
    list.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

/** Whether an address belongs to one of the networks. */
export function contains(networks: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && networks.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/**
 * The address a request really comes from: the last one in `X-Forwarded-For` that is not a trusted
 * proxy, and the connection's own when the peer is not trusted. What an untrusted peer claims counts for nothing.
 */
export function clientAddress(
  connection: string,
  forwardedFor: string | undefined,
  trusted: BlockList,
): string {
  let address = plain(connection)
  const hops = (forwardedFor ?? '').split(',').map((hop) => plain(hop.trim()))
  while (contains(trusted, address)) {
    const next = hops.pop()
    if (next === undefined || isIP(next) === 0) break
    address = next
  }
  return address
}

/**
 * Whose budget an address is counted in: an IPv4 address itself, and of IPv6 the /64 that it lies in. Whoever has
 * one such address has all 2^64 of them, and would begin anew with each.
 */
export function networkKey(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  // The last 32 bits may be written as an IPv4 address, and count as two groups then.
  const written = left.length + right.length + (address.includes('.') ? 1 : 0)
  const groups = [
    ...left,
    ...Array.from({ length: tail === undefined ? 0 : 8 - written }, () => '0'),
    ...right,
  ]
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

/** An IPv4 address that arrived over an IPv6 socket, as IPv4. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}
