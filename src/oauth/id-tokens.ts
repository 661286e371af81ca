/** ID tokens and what both they and userinfo say about a user (OpenID Connect Core §2, §5). */
import { createHash } from 'node:crypto'
import { epochSeconds, type Clock } from '../core/clock.ts'
import type { User } from '../users/people.ts'
import type { Keys } from './keys.ts'

const lifeSeconds = 3600

/** The claims that the granted scopes let a client see; `all` covers what the user's own data says anyway. */
export function claimsOf(user: User, scopes: readonly string[]): Record<string, string | boolean> {
  const granted = (scope: string): boolean => scopes.includes(scope) || scopes.includes('all')
  return {
    sub: user.id,
    ...(granted('profile') && { name: user.fullName, preferred_username: user.id }),
    ...(granted('email') && { email: user.id, email_verified: true }),
  }
}

/** A signed ID token for a client. */
export async function idToken(
  about: {
    readonly user: User
    readonly client: string
    readonly scopes: readonly string[]
    readonly accessToken: string
    readonly authTime?: number
    readonly nonce?: string
  },
  deps: { keys: Keys; clock: Clock; publicUrl: () => string },
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

/** OpenID Connect Core §3.1.3.6. */
function leftHalf(accessToken: string): string {
  return createHash('sha256').update(accessToken, 'ascii').digest().subarray(0, 16).toString('base64url')
}
