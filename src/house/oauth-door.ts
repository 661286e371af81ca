import type { Principal } from '../core/principal.ts'
import { clientLimitOf } from '../documents/platform/client-limits.ts'
import { Assertions } from '../oauth/clients/assertions.ts'
import { ClientDocuments } from '../oauth/clients/client-documents.ts'
import { Clients } from '../oauth/clients/clients.ts'
import { PushedRequests } from '../oauth/pushed-requests.ts'
import { Codes } from '../oauth/tokens/codes.ts'
import { Grants } from '../oauth/tokens/grants.ts'
import { guardedFetch } from '../oauth/clients/guarded-fetch.ts'
import { IdentityProviders } from '../oauth/identity-assertions.ts'
import { callerAssertion } from '../oauth/tokens/id-tokens.ts'
import { Keys } from '../oauth/tokens/keys.ts'
import { type Ended, isAmong, revokedAmong } from '../oauth/tokens/revocation-news.ts'
import { Tokens } from '../oauth/tokens/tokens.ts'
import { Trace } from '../oauth/trace.ts'
import { OpenIdProvider } from '../oauth/upstream.ts'
import { TokenUsage } from '../oauth/tokens/usage.ts'
import { pages } from '../pages/pages.ts'
import { ApiKeys } from '../users/api-keys.ts'
import type { Foundation, Undo } from './foundation.ts'
import type { House } from './house.ts'
import type { McpDoor } from './mcp-door.ts'

/** OAuth's services: what it keeps of clients, and how it recognizes them. */
export type OAuthDoor = ReturnType<typeof openOAuth>

/** Opens OAuth's door; what it revokes ends at MCP's. */
export function openOAuth(
  { clock, log, store, secretPath }: Foundation,
  { site, settings, people, ownTools }: House,
  publicUrl: () => string,
  mcp: McpDoor,
  undo: Undo,
) {
  const tokens = new Tokens({
    store,
    clock,
    settings,
    onRevoked: endingAt(mcp, {
      tokensOf: (user) => tokens.list({ user }),
      keysOf: (user) => apiKeys.list(user),
    }),
  })
  const apiKeys = new ApiKeys({ store, clock, people, tellIn: (tx, ended) => tokens.tellIn(tx, [ended]) })
  const proxy = (): string | null => settings().oauth.egress_proxy
  const fetch = guardedFetch({ proxy })
  const assertions = new Assertions({ store, clock, publicUrl, fetch, log })
  const clientDocuments = new ClientDocuments({ store, clock, settings, fetch, log })
  const keys = new Keys({ store, clock })
  ownTools.vouchBy((principal, audience) => callerAssertion(principal, audience, { keys, clock, publicUrl }))
  const usage = new TokenUsage({ store, clock, log })
  const callback = pages.signInUpstreamCallback.path
  undo.push(() => usage.close())
  return {
    tokens,
    apiKeys,
    clients: new Clients({ store, clock, settings, tokens, documents: clientDocuments }),
    clientDocuments,
    codes: new Codes({ store, clock, settings }),
    pushed: new PushedRequests({ store, clock }),
    grants: new Grants({ store, clock }),
    keys,
    assertions,
    identityProviders: new IdentityProviders({
      clock,
      settings,
      publicUrl,
      assertions,
      // The operator named these hosts: they may be in the company's own network.
      fetch: guardedFetch({ proxy, isAllowed: () => true, maxBytes: 262_144 }),
    }),
    usage,
    trace: new Trace({ clock, store }),
    upstream: new OpenIdProvider({ store, clock, settings, publicUrl, callback, log, secretPath }),
    /** Returns the most that a client may use, whoever it acts for. */
    clientLimits: (id: string) => clientLimitOf(site.current().platform, id),
  }
}

/** Returns what ends streams and calls at MCP's door when the right to them ended. */
function endingAt(
  { subscriptions, running }: McpDoor,
  known: Parameters<typeof revokedAmong>[1],
): (ended: readonly Ended[] | undefined) => void {
  const end = (isOver: (principal: Principal) => boolean): void => {
    subscriptions.closeWhere(isOver)
    running.endWhere(isOver)
  }
  /** Where it is not known whose ended, the tables tell. If those fail, streams close and reopen at once. */
  const endRevoked = async (): Promise<void> => {
    const over = await revokedAmong([...subscriptions.principals(), ...running.principals()], known)
    end((principal) => over.has(principal))
  }
  return (ended) => {
    if (ended) end((principal) => isAmong(ended, principal))
    else void endRevoked().catch(() => subscriptions.close())
  }
}
