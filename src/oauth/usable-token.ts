/** The one answer to whether an access token may be used here and now, for every endpoint that takes one. */
import { networksOf, type Networks } from '../core/address.ts'
import type { People, User } from '../users/people.ts'
import { type Soon, soon } from '../core/soon.ts'
import type { TokenFinding } from './issued-tokens.ts'
import type { AccessToken } from './records.ts'
import type { Tokens } from './tokens.ts'
import { resourceOf, thisServer } from './urls.ts'

interface UsableTokenDeps {
  readonly tokens: Tokens
  readonly people: () => People
  readonly publicUrl: () => string
}

/** Specification §5.3, in its order: found, active, not past its end; RFC 8707: meant for us; from where it may be used. */
export function usableToken(text: string, address: string, deps: UsableTokenDeps): Soon<Usable> {
  return soon(deps.tokens.find(text), (found) => usable(found, address, deps))
}

type Usable = { readonly token: AccessToken; readonly user: User } | { readonly fault: string }

function usable(found: TokenFinding, address: string, { people, publicUrl }: UsableTokenDeps): Usable {
  if (found.kind === 'unknown') return { fault: 'the access token is unknown' }
  if (found.kind === 'inactive') return { fault: 'the access token is not active' }
  if (found.kind === 'expired') return { fault: 'the access token has expired' }
  const { token } = found
  if (token.resource !== thisServer && token.resource !== resourceOf(publicUrl()))
    return { fault: 'the access token is for another resource' }
  if (!isAllowedFrom(token.addresses, address))
    return { fault: 'the access token may not be used from this address' }
  const user = people().find(token.user)
  return user?.enabled ? { token, user } : { fault: 'the user of the access token is disabled' }
}

const allowLists = new WeakMap<readonly string[], Networks>()

/** Whether an address is in the networks, if there are any. Lists of cached tokens stay the same objects, so each is read once. */
export function isAllowedFrom(addresses: readonly string[] | undefined, address: string): boolean {
  if (!addresses) return true
  const networks = allowLists.get(addresses) ?? networksOf(addresses)
  allowLists.set(addresses, networks)
  return networks.contains(address)
}
