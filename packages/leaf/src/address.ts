import { BlockList, isIP } from 'node:net'
import { AppError } from './errors.ts'

const mostRemembered = 1000

/** A set of networks. An address costs 10 µs to look up, so answers are cached. */
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

  /** True when an address belongs to one of them. */
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

/** Parses an address or a network; undefined for another text. */
function networkIn(text: string): Parameters<Networks['add']> | undefined {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const [family, most] = isIP(address) === 6 ? (['ipv6', 128] as const) : (['ipv4', 32] as const)
  const bits = Number(prefix ?? most)
  return isIP(address) === 0 || bits > most ? undefined : [address, bits, family]
}

/** True for an address, or a network such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  return networkIn(text) !== undefined
}

/** Parses a set of networks, such as the proxies that are trusted to say whom they speak for. */
export function networksOf(texts: readonly string[]): Networks {
  const networks = new Networks()
  for (const text of texts) {
    const network = networkIn(text)
    if (!network) throw new AppError('invalid', `"${text}" is not an address or network such as 10.0.0.0/8`)
    networks.add(...network)
  }
  return networks
}

/** True when the peer of a connection is a trusted proxy. */
export function isTrusted(
  { remoteAddress = '' }: { readonly remoteAddress?: string | undefined },
  trusted: Networks,
): boolean {
  return trusted.contains(remoteAddress.replace(/^::ffff:/, ''))
}

/**
 * Returns the address a request really comes from: the last one in `X-Forwarded-For` that is not a trusted
 * proxy, or the connection's own when the peer is not trusted. An untrusted peer's claims are ignored.
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
 * Returns the key of an address's budget: an IPv4 address itself, and of IPv6 the /64 that it lies in. A client with
 * one such address has all 2^64 of them, and would get a new budget with each.
 */
export function networkKey(address: string): string {
  if (isIP(address) !== 6) return address
  const network = groupsOf(address).slice(0, 4)
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/** Splits an IPv6 address into its groups, including those that `::` stands for; the last two may be one IPv4 address. */
export function groupsOf(address: string): string[] {
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const written = left.length + right.length + (address.includes('.') ? 1 : 0)
  const missing = tail === undefined ? 0 : 8 - written
  return [...left, ...Array.from({ length: missing }, () => '0'), ...right]
}

/** Converts an IPv4 address that arrived over an IPv6 socket to plain IPv4. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
}

const loopback = networksOf(['127.0.0.0/8', '::1'])

/** True when a host, as a URL or a setting writes it, means this machine only. */
export function isLocal(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? bare === 'localhost' || bare.endsWith('.localhost') : loopback.contains(bare)
}

/** True for scheme, host and port of a web address, as browsers write them. */
export function isOrigin(value: string): boolean {
  return /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value
}

/** What is wrong with another text. */
export const noOrigin = 'is not scheme, host and port of a web address in lower case'
