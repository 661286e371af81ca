/** Makes ID tokens, and the claims about a user that they and userinfo contain (OpenID Connect Core §2, §5). */
import { hash } from 'node:crypto'
import { epochSeconds, type Clock } from '#leaf/clock.ts'
import type { Principal } from '../../core/principal.ts'
import { randomId } from '#leaf/secrets.ts'
import type { User } from '../../users/people.ts'
import type { Keys } from './keys.ts'

const lifeSeconds = 3600
const assertionSeconds = 60

interface Signing {
  readonly keys: Keys
  readonly clock: Clock
  readonly publicUrl: () => string
}

/** Returns the claims that the granted scopes let a client see; `all` covers what the user's own data says anyway. */
export function claimsOf(user: User, scopes: readonly string[]): Record<string, string | boolean> {
  const granted = (scope: string): boolean => scopes.includes(scope) || scopes.includes('all')
  return {
    sub: user.id,
    ...(granted('profile') && { name: user.fullName, preferred_username: user.id }),
    ...(granted('email') && { email: user.id, email_verified: true }),
  }
}

/** What a client learns about a user; no scope says what it may do (`core/powers.ts`). */
export interface ToldIdentity {
  readonly name: boolean
  readonly email: boolean
}

/** Returns what the claims tell, under whatever name: `sub` is the address, so every scope tells it. */
export function identityTold(user: User, scopes: readonly string[]): ToldIdentity {
  const told = Object.values(claimsOf(user, scopes))
  return { name: told.includes(user.fullName), email: told.includes(user.id) }
}

/** Makes a signed ID token for a client. */
export async function idToken(
  about: {
    readonly user: User
    readonly client: string
    readonly scopes: readonly string[]
    readonly accessToken: string
    readonly authTime?: number
    readonly nonce?: string
  },
  deps: Signing,
): Promise<string> {
  const now = epochSeconds(deps.clock.now())
  return deps.keys.sign({
    ...claimsOf(about.user, about.scopes),
    iss: deps.publicUrl(),
    aud: about.client,
    iat: now,
    exp: now + lifeSeconds,
    at_hash: leftHalf(about.accessToken),
    ...(about.authTime !== undefined && { auth_time: epochSeconds(about.authTime) }),
    ...(about.nonce !== undefined && { nonce: about.nonce }),
  })
}

/** Signs who the caller is, for a service that a tool of the site calls; valid for a minute, once. */
export async function callerAssertion(
  { user, fullName, roles, client }: Principal,
  audience: string,
  { keys, clock, publicUrl }: Signing,
): Promise<string> {
  const now = epochSeconds(clock.now())
  return keys.sign({
    iss: publicUrl(),
    aud: audience,
    sub: user,
    name: fullName,
    roles: [...roles].sort(),
    // RFC 8693 §4.3 defines client_id.
    ...(client && { client_id: client.id, client_name: client.name }),
    iat: now,
    exp: now + assertionSeconds,
    jti: randomId(),
  })
}

/** Returns the left half of the hash (OpenID Connect Core §3.1.3.6). */
function leftHalf(accessToken: string): string {
  return hash('sha256', accessToken, 'buffer').subarray(0, 16).toString('base64url')
}
