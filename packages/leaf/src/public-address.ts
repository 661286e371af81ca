/** Tells which network addresses and names are on the public internet. */
import { isIP } from 'node:net'
import { groupsOf, networksOf } from './address.ts'

// RFC 6890 and the IANA special-purpose registries, plus every IPv6 form that carries an IPv4 address
// (mapped, compatible, NAT64, 6to4, Teredo, ISATAP): those reach private IPv4 networks through a translator.
const special = networksOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // The host agent of a cloud, on an address that looks public.
  '168.63.129.16/32',
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
const publicV6 = networksOf(['2000::/3'])
const specialV6 = networksOf(['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'])

// Names that differ in meaning by network or machine: RFC 6761, 6762 and 8375, and ICANN's private-use name.
const innerNames = /(^|\.)(localhost|local|internal|home\.arpa)$/

/** True when a host is on the internet as far as its address or name tells; for a name that another machine looks up. */
export function isPublicHost(host: string): boolean {
  if (isIP(host) !== 0) return isPublicAddress(host)
  return host.includes('.') && !host.endsWith('.') && !innerNames.test(host)
}

/** True when a document on the internet may be fetched from an address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !special.contains(address)
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (!publicV6.contains(address) || specialV6.contains(address)) return false
  // ISATAP: an interface identifier of [0|2]00:5efe and an IPv4 address, under any prefix.
  return !/^[0-9a-f:]*:0?[02]?0?0?:5efe:/i.test(groupsOf(address).join(':'))
}
