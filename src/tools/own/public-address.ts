/** Bounds the addresses that a tool may reach when the operator did not open the inner network to it (SSRF). */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { AppError } from '#leaf/errors.ts'
import { isPublicAddress } from '#leaf/public-address.ts'

/** Returns the address to dial for a host: all of its addresses must be allowed, and the one that was checked is dialled. */
export async function addressFor(host: string, allowPrivate: boolean): Promise<string> {
  const bare = host.replace(/^\[|\]$/g, '')
  const addresses = isIP(bare) ? [bare] : await addressesOf(bare)
  if (!allowPrivate && !addresses.every(isPublicAddress))
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
