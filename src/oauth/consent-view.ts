/** What the consent page says of a request. */
import type { AuthorizationRequest } from './authorization-request.ts'
import { mixesScripts } from './client-metadata.ts'
import { isLoopback, redirectHost } from './redirect-uris.ts'
import { scopeInWords } from './scopes.ts'

/** What the consent page shows. */
export interface ConsentView {
  readonly action: string
  readonly request: string
  readonly time: string
  readonly csrf: string
  readonly clientName: string
  /** Where the client's document is; such a client is vouched for by that site. */
  readonly clientHost: string | undefined
  readonly redirectHost: string
  /** The code goes to a program on the user's own machine, which anything there could be. */
  readonly local: boolean
  readonly unverified: boolean
  /** A word of the name mixes alphabets, as a name does that wants to look like another. */
  readonly mixedScripts: boolean
  readonly scopes: readonly string[]
  readonly user: string
}

type Facts = Omit<ConsentView, 'action' | 'request' | 'time' | 'csrf' | 'user'>

/** What there is to know about who asks for what. */
export function consentFacts({ client, redirectUri, scopes }: AuthorizationRequest): Facts {
  return {
    clientName: client.name,
    clientHost: client.source === 'document' ? new URL(client.id).host : undefined,
    redirectHost: redirectHost(redirectUri),
    local: isLoopback(redirectUri) || !/^https?:/i.test(redirectUri),
    unverified: client.source === 'dynamic',
    mixedScripts: mixesScripts(client.name),
    scopes: scopes.map(scopeInWords),
  }
}
