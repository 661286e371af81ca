/** The inputs and results of `tokens.ts`. */
import type { AccessToken, Family } from '../records.ts'

/** A request for tokens. */
export interface TokenRequest {
  readonly user: string
  readonly client: string
  readonly clientName: string
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly resource: string
  readonly grant?: string
  /** The time of the user's sign-in, in milliseconds. */
  readonly authTime?: number
  /** The lifetime of the access token, instead of the setting. */
  readonly accessSeconds?: number
  readonly addresses?: readonly string[]
  readonly label?: string
  /** The identity provider on whose word they are issued, anew each time: nothing prolongs them. */
  readonly vouchedBy?: string
}

/** Issued tokens, shown this once. */
export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken?: string
  readonly expiresIn: number
  readonly scopes: readonly string[]
  readonly family: Family
}

/** The outcome of a refresh. `repeated`: within the grace period, the same successor again. */
export type RefreshOutcome =
  | { readonly kind: 'rotated'; readonly issued: IssuedTokens }
  | { readonly kind: 'repeated'; readonly issued: IssuedTokens }
  | { readonly kind: 'refused'; readonly why: string; readonly family?: Family }
  | { readonly kind: 'reused'; readonly why: string; readonly family: Family }

/** The finding about a presented access token (specification §3.1). */
export type TokenFinding =
  | { readonly kind: 'active'; readonly token: AccessToken }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'inactive' | 'expired'; readonly token: AccessToken }

/** Judges a token that was found, at a moment (specification §5.3). */
export function findingOf(token: AccessToken | undefined, now: number): TokenFinding {
  if (!token) return { kind: 'unknown' }
  if (token.status !== 'Active') return { kind: 'inactive', token }
  return { kind: token.expiresAt < now ? 'expired' : 'active', token }
}

/** Selects the tokens to revoke: one family, or all that meet every condition given. */
export interface Selection {
  /** The id of an access token; selects its family. */
  readonly token?: string
  readonly family?: string
  readonly grant?: string
  readonly user?: string
  readonly client?: string
  readonly all?: true
}

/** The access tokens of a family that work beside each other; a refresh ends what came so many refreshes before. */
export const livingTokens = 100

/** Returns the id of the access token that came with a generation's refresh token. */
export function tokenId(family: string, generation: number): string {
  return `${family}.${generation}`
}

/** Returns the ids of all tokens that came with refresh tokens of a family and may still work. */
export function idsOfLiving({ id, generation }: Family): readonly string[] {
  const most = Math.min(generation, livingTokens)
  return Array.from({ length: most }, (_, before) => tokenId(id, generation - before))
}

/** True of the other tokens of a family, such as all that older releases issued: they need not end with it. */
export function isBesides({ id, family }: AccessToken): boolean {
  return !id.startsWith(`${family}.`)
}
