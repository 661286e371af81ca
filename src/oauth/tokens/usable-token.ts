/** Decides whether an access token may be used here and now, for every endpoint that takes one. */
import { networksOf, type Networks } from '#leaf/address.ts'
import type { People, User } from '../../users/people.ts'
import { type Soon, soon } from '#leaf/soon.ts'
import type { TokenFinding } from './issued-tokens.ts'
import type { AccessToken } from '../records.ts'
import type { Tokens } from './tokens.ts'
import { resourceOf, thisServer } from '../urls.ts'

interface UsableTokenDeps {
  readonly tokens: Tokens
  readonly people: () => People
  readonly publicUrl: () => string
}

/** Checks by specification §5.3, in its order: found, active, not expired; meant for us (RFC 8707); from an allowed address. */
export function usableToken(text: string, address: string, deps: UsableTokenDeps): Soon<Usable> {
  return soon(deps.tokens.find(text), (found) => usable(found, address, deps))
}

/** Judges by the same checks what is remembered of a token, without asking the state. */
export function rememberedToken(text: string, address: string, deps: UsableTokenDeps): Usable {
  return usable(deps.tokens.remembered(text), address, deps)
}

export type Usable = { readonly token: AccessToken; readonly user: User } | { readonly fault: string }

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

/** True when the networks, if any, contain the address. Lists of cached tokens stay the same objects, so each is read once. */
export function isAllowedFrom(addresses: readonly string[] | undefined, address: string): boolean {
  if (!addresses) return true
  const networks = allowLists.get(addresses) ?? networksOf(addresses)
  allowLists.set(addresses, networks)
  return networks.contains(address)
}
