/** The address of a host: which may be dialled (SSRF), and that no other is, whatever the name says by then (DNS rebinding). */
import { lookup } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
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

/** Makes a look-up that returns the checked address, whatever the name says by now. */
export function pinned(address: string): LookupFunction {
  const family = isIP(address)
  return (_host, wanted, done) => {
    if (wanted.all) done(null, [{ address, family }])
    else done(null, address, family)
  }
}
