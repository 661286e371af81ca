/** The contract between a grant type and the token endpoint: a name and an exchange. */
import type { Settings } from '../../core/settings.ts'
import type { Transaction } from '#state/store.ts'
import { OAuthError, type OAuthErrorCode } from '../protocol.ts'
import type { Params } from '#ui/requests.ts'
import type { Client } from '../records.ts'
import type { IssuedTokens } from '../tokens/issued-tokens.ts'
import type { Parts } from '../parts.ts'

/** The dependencies of a grant. */
export type GrantDeps = Parts<
  | 'store'
  | 'clock'
  | 'settings'
  | 'people'
  | 'accounts'
  | 'publicUrl'
  | 'audit'
  | 'clients'
  | 'codes'
  | 'grants'
  | 'tokens'
  | 'identityProviders'
  | 'trace'
>

/** A request of an authenticated client. */
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
  /** True when the site offers it; absent for a type that the specification always offers. */
  readonly isOn?: (settings: Settings) => boolean
  exchange(request: GrantRequest, deps: GrantDeps): Promise<Exchanged>
}

/** Keeps a client that got tokens of this user, and audits the clients that had to go for it. */
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

/** Audits the refusal of tokens and returns the error that tells the client. */
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
