/** What goes into the tokens of `tokens.ts` and what comes out. */
import type { AccessToken, Family } from './records.ts'

/** What tokens are issued for. */
export interface TokenRequest {
  readonly user: string
  readonly client: string
  readonly clientName: string
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly resource: string
  readonly grant?: string
  /** When the user signed in, milliseconds. */
  readonly authTime?: number
  /** Instead of the setting. */
  readonly accessSeconds?: number
  readonly addresses?: readonly string[]
  readonly label?: string
  /** The identity provider on whose word they are issued, anew each time: nothing prolongs them. */
  readonly vouchedBy?: string
}

/** Tokens, shown this once. */
export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken?: string
  readonly expiresIn: number
  readonly scopes: readonly string[]
  readonly family: Family
}

/** What came of a refresh. `repeated`: within the grace period, the same successor again. */
export type RefreshOutcome =
  | { readonly kind: 'rotated'; readonly issued: IssuedTokens }
  | { readonly kind: 'repeated'; readonly issued: IssuedTokens }
  | { readonly kind: 'refused'; readonly why: string; readonly family?: Family }
  | { readonly kind: 'reused'; readonly why: string; readonly family: Family }

/** What stands behind a presented access token (specification §3.1). */
export type TokenFinding =
  | { readonly kind: 'active'; readonly token: AccessToken }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'inactive' | 'expired'; readonly token: AccessToken }

/** Specification §5.3: what a token that was found is worth at a moment. */
export function findingOf(token: AccessToken | undefined, now: number): TokenFinding {
  if (!token) return { kind: 'unknown' }
  if (token.status !== 'Active') return { kind: 'inactive', token }
  return { kind: token.expiresAt < now ? 'expired' : 'active', token }
}

/** Which tokens to revoke: one family, or all that meet every condition given. */
export interface Selection {
  /** Id of an access token: its family. */
  readonly token?: string
  readonly family?: string
  readonly grant?: string
  readonly user?: string
  readonly client?: string
  readonly all?: true
}
