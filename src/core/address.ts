import { BlockList, isIP } from 'node:net'
import { AppError } from './errors.ts'

const mostRemembered = 1000

/** A set of networks. An address costs 10 µs to look up, so what was asked before is remembered. */
export class Networks {
  readonly #list = new BlockList()
  readonly #known = new Map<string, boolean>()
  #isEmpty = true

  /** Adds a network by its address, the bits that count, and its family. */
  add(address: string, bits: number, family: 'ipv4' | 'ipv6'): void {
    this.#list.addSubnet(address, bits, family)
    this.#isEmpty = false
    this.#known.clear()
  }

  /** Whether an address belongs to one of them. */
  contains(address: string): boolean {
    if (this.#isEmpty) return false
    const known = this.#known.get(address)
    if (known !== undefined) return known
    const family = isIP(address)
    const found = family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4')
    if (this.#known.size >= mostRemembered) this.#known.clear()
    this.#known.set(address, found)
    return found
  }
}

/** Reads a set of networks, such as the proxies that are trusted to say whom they speak for. */
export function networksOf(texts: readonly string[]): Networks {
  const networks = new Networks()
  for (const text of texts) {
    const [address = '', prefix] = text.split('/')
    const family = isIP(address)
    const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix)
    if (family === 0 || !Number.isInteger(bits) || bits < 0 || bits > (family === 6 ? 128 : 32)) {
      throw new AppError('invalid', `"${text}" is not an address or network such as 10.0.0.0/8`)
    }
    networks.add(address, bits, family === 6 ? 'ipv6' : 'ipv4')
  }
  return networks
}

/**
 * The address a request really comes from: the last one in `X-Forwarded-For` that is not a trusted
 * proxy, and the connection's own when the peer is not trusted. What an untrusted peer claims counts for nothing.
 */
export function clientAddress(
  connection: string,
  forwardedFor: string | undefined,
  trusted: Networks,
): string {
  let address = plain(connection)
  if (!forwardedFor) return address
  const hops = forwardedFor.split(',').map((hop) => plain(hop.trim()))
  while (trusted.contains(address)) {
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
  const network = groupsOf(address).slice(0, 4)
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** All groups of an IPv6 address, those included that `::` stands for; the last two may be an IPv4 address as one. */
export function groupsOf(address: string): string[] {
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const written = left.length + right.length + (address.includes('.') ? 1 : 0)
  const missing = tail === undefined ? 0 : 8 - written
  return [...left, ...Array.from({ length: missing }, () => '0'), ...right]
}

/** An IPv4 address that arrived over an IPv6 socket, as IPv4. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}

/** Whether a host name of a URL means this machine only. */
export function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}
