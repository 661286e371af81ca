/** Which addresses a tool may reach that an operator did not open the inner network to (SSRF). */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { AppError } from '../../core/errors.ts'
import { isPublicAddress } from '../../core/public-address.ts'

/** The address to dial for a host: all of its addresses must be allowed, and the one that is checked is the one that is used. */
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
