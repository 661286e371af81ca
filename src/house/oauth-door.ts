import type { Principal } from '../core/principal.ts'
import { clientLimitOf } from '../documents/platform/client-limits.ts'
import { Assertions } from '../oauth/clients/assertions.ts'
import { guardedFetch } from '#outside/guarded-fetch.ts'
import { IdentityProviders } from '../oauth/identity-assertions.ts'
import { callerAssertion } from '../oauth/tokens/id-tokens.ts'
import type { Keys } from '../oauth/tokens/keys.ts'
import { isAmong, revokedAmong } from '../oauth/tokens/revocation-news.ts'
import { OpenIdProvider } from '../oauth/upstream.ts'
import { pages } from '../pages/pages.ts'
import { ApiKeys } from '#credentials/api-keys.ts'
import type { Foundation } from './foundation.ts'
import type { House } from './house.ts'
import type { PublicAddress } from './public-address.ts'
import type { StreamDoor } from './stream-door.ts'
import type { TokenDoor } from './token-door.ts'

/** How clients and other servers prove who they are. */
export type OAuthDoor = ReturnType<typeof openOAuth>

/** Opens OAuth's door; what is revoked ends at MCP's. */
export function openOAuth(
  taken: Foundation & House & PublicAddress & TokenDoor & StreamDoor & { readonly keys: Keys },
) {
  const { clock, log, store, secretPath, site, settings, people, ownTools, publicUrl, tokens, keys } = taken
  const apiKeys = new ApiKeys({ store, clock, people, tellIn: (tx, ended) => tokens.tellIn(tx, [ended]) })
  endWithTokens(taken, apiKeys)
  const proxy = (): string | null => settings().oauth.egress_proxy
  const assertions = new Assertions({ store, clock, publicUrl, fetch: guardedFetch({ proxy }), log })
  ownTools.vouchBy((principal, audience) => callerAssertion(principal, audience, { keys, clock, publicUrl }))
  const callback = pages.signInUpstreamCallback.path
  return {
    apiKeys,
    assertions,
    identityProviders: new IdentityProviders({
      clock,
      settings,
      publicUrl,
      assertions,
      // The operator named these hosts: they may be in the company's own network.
      fetch: guardedFetch({ proxy, isAllowed: () => true, maxBytes: 262_144 }),
    }),
    upstream: new OpenIdProvider({ store, clock, settings, publicUrl, callback, log, secretPath }),
    /** Returns the most that a client may use, whoever it acts for. */
    clientLimits: (id: string) => clientLimitOf(site.current().platform, id),
  }
}

/** Ends streams and calls at MCP's door when the right to them ended. */
function endWithTokens(
  { subscriptions, running, tokens, onRevoked }: StreamDoor & TokenDoor,
  apiKeys: ApiKeys,
): void {
  const known = {
    tokensOf: (user: string) => tokens.list({ user }),
    keysOf: (user: string) => apiKeys.list(user),
  }
  const end = (isOver: (principal: Principal) => boolean): void => {
    subscriptions.closeWhere(isOver)
    running.endWhere(isOver)
  }
  /** Where it is not known whose ended, the tables tell. If those fail, streams close and reopen at once. */
  const endRevoked = async (): Promise<void> => {
    const over = await revokedAmong([...subscriptions.principals(), ...running.principals()], known)
    end((principal) => over.has(principal))
  }
  onRevoked((ended) => {
    if (ended) end((principal) => isAmong(ended, principal))
    else void endRevoked().catch(() => subscriptions.close())
  })
}
