/** Which network addresses are on the public internet. */
import { isIP } from 'node:net'
import { groupsOf, networksOf } from './address.ts'

// RFC 6890 and the IANA special-purpose registries, plus every IPv6 form that carries an IPv4 address
// (mapped, compatible, NAT64, 6to4, Teredo, ISATAP): those reach private IPv4 networks through a translator.
const special = networksOf([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // A cloud's host agent, on an address that looks public.
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

/** Whether an address is one that a document on the internet may be fetched from. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !special.contains(address)
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (!publicV6.contains(address) || specialV6.contains(address)) return false
  // ISATAP: an interface identifier of [0|2]00:5efe and an IPv4 address, under any prefix.
  return !/^[0-9a-f:]*:0?[02]?0?0?:5efe:/i.test(groupsOf(address).join(':'))
}
