/** The parts of the authorization server, of which each endpoint names those that it needs. */
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import type { Store } from '#state/store.ts'
import type { Audit } from '#audit/audit.ts'
import type { PowersOf } from '../core/powers.ts'
import type { Settings } from '../core/settings.ts'
import type { Accounts } from '#credentials/accounts.ts'
import type { ApiKeys } from '#credentials/api-keys.ts'
import type { Account } from '../users/accounts.ts'
import type { People } from '../users/people.ts'
import type { ClientLimits } from './acting.ts'
import type { Assertions } from './clients/assertions.ts'
import type { Clients } from './clients/clients.ts'
import type { IdentityProviders } from './identity-assertions.ts'
import type { PushedRequests } from './pushed-requests.ts'
import type { RateLimits } from './rate-limits.ts'
import type { Codes } from './tokens/codes.ts'
import type { Grants } from './tokens/grants.ts'
import type { Keys } from './tokens/keys.ts'
import type { Tokens } from './tokens/tokens.ts'
import type { TokenUsage } from './tokens/usage.ts'
import type { Trace } from './trace.ts'

interface OAuthParts {
  readonly accounts: Accounts<Account>
  readonly apiKeys: ApiKeys
  readonly assertions: Assertions
  readonly audit: Audit
  readonly clientDocuments: { readonly areWelcome: boolean }
  readonly clientLimits: ClientLimits
  readonly clients: Clients
  readonly clock: Clock
  readonly codes: Codes
  readonly grants: Grants
  readonly identityProviders: IdentityProviders
  readonly keys: Keys
  readonly limits: RateLimits
  readonly log: Log
  readonly people: () => People
  readonly powers: PowersOf
  readonly publicUrl: () => string
  readonly pushed: PushedRequests
  readonly settings: () => Settings
  readonly store: Store
  readonly tokens: Tokens
  readonly trace: Trace
  readonly usage: TokenUsage
}

/** Some of the parts. */
export type Parts<Name extends keyof OAuthParts> = Pick<OAuthParts, Name>
