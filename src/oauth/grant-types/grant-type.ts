/** What a grant type is to the token endpoint: a name and an exchange. */
import type { Clock } from '../../core/clock.ts'
import type { Settings } from '../../core/settings.ts'
import type { Audit } from '../../audit/audit.ts'
import type { Store, Transaction } from '../../store/store.ts'
import type { People } from '../../users/people.ts'
import type { Clients } from '../clients.ts'
import type { Codes } from '../codes.ts'
import type { Grants } from '../grants.ts'
import type { IdentityProviders } from '../identity-assertions.ts'
import { OAuthError, type OAuthErrorCode, type Params } from '../protocol.ts'
import type { Client } from '../records.ts'
import type { IssuedTokens } from '../issued-tokens.ts'
import type { Tokens } from '../tokens.ts'
import type { Trace } from '../trace.ts'

/** The nouns that a grant works with. */
export interface GrantDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: () => Settings
  readonly people: () => People
  readonly publicUrl: () => string
  readonly audit: Audit
  readonly clients: Clients
  readonly codes: Codes
  readonly grants: Grants
  readonly tokens: Tokens
  readonly identityProviders: IdentityProviders
  readonly trace: Trace
}

/** One request of an authenticated client. */
export interface GrantRequest {
  readonly params: Params
  readonly client: Client
  readonly origin: { readonly request_id: string; readonly address: string }
}

/** Tokens, with what an ID token needs besides. */
export interface Exchanged extends IssuedTokens {
  readonly nonce?: string
}

/** One way to get tokens. Throws OAuthError. */
export interface GrantType {
  readonly name: string
  /** Whether the site offers it; absent for what the specification offers always. */
  readonly isOn?: (settings: Settings) => boolean
  exchange(request: GrantRequest, deps: GrantDeps): Promise<Exchanged>
}

/** The client got tokens of this user: it stays, and those that had to go for it are told. */
export async function keepClientIn(
  tx: Transaction,
  user: string,
  { client, origin }: GrantRequest,
  deps: GrantDeps,
): Promise<void> {
  for (const gone of await deps.clients.activateIn(tx, client, user))
    await deps.audit.recordIn(tx, {
      type: 'client.displace',
      status: 'ok',
      user,
      client: client.id,
      ...origin,
      target: gone.id,
      data: { name: gone.name },
    })
}

/** Audits that there are no tokens, and answers what tells the client so. */
export async function refusal(
  error: string,
  { client, origin }: GrantRequest,
  { audit }: GrantDeps,
  {
    user,
    type = 'token.refuse',
    as = 'invalid_grant',
  }: { user?: string | undefined; type?: string; as?: OAuthErrorCode | undefined },
): Promise<OAuthError> {
  await audit.record({ type, status: 'denied', client: client.id, user, ...origin, error })
  return new OAuthError(as, error)
}
