/** The token endpoint (RFC 6749 §3.2, specification §4.3). */
import type { Endpoint } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import type { Assertions } from './assertions.ts'
import { authenticateClient } from './client-authentication.ts'
import type { Exchanged, GrantDeps } from './grant-types/grant-type.ts'
import { offeredGrants } from './grant-types/index.ts'
import { answerJson, jsonEndpoint, originOf, readForm } from './http-middleware.ts'
import { idToken } from './id-tokens.ts'
import type { Keys } from './keys.ts'
import { OAuthError, refuseRepeated, required } from './protocol.ts'
import type { RateLimits } from './rate-limits.ts'

/** What the token endpoint works with. */
export interface TokenDeps extends GrantDeps {
  readonly assertions: Assertions
  readonly keys: Keys
  readonly limits: RateLimits
  readonly log: Log
}

/** POST: tokens for a code or a refresh token. */
export function tokenEndpoint(deps: TokenDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const origin = originOf(ctx)
    const params = await readForm(ctx)
    // Many users share one address behind a client's cloud: per client and address, and wider for the address.
    await deps.limits.take('token', { ...origin, times: 10 })
    await deps.limits.take('token', {
      ...origin,
      key: `${origin.address} ${(params.get('client_id') ?? '').slice(0, 500)}`,
    })
    refuseRepeated(params)
    const name = required(params, 'grant_type')
    const client = await authenticateClient(ctx.get('Authorization'), params, deps)
    const offered = offeredGrants(deps.settings())
    const grant = offered.find((known) => known.name === name)
    if (!grant) {
      const names = offered.map((known) => known.name).join(' or ')
      throw new OAuthError('unsupported_grant_type', `grant_type must be ${names}`)
    }
    const issued = await grant.exchange({ params, client, origin }, deps)
    answerJson(ctx, 200, {
      access_token: issued.accessToken,
      token_type: 'Bearer',
      expires_in: issued.expiresIn,
      refresh_token: issued.refreshToken,
      scope: issued.scopes.join(' '),
      id_token: issued.scopes.includes('openid') ? await idTokenOf(issued, deps) : undefined,
    })
  })
}

async function idTokenOf(issued: Exchanged, deps: TokenDeps): Promise<string | undefined> {
  const { family, scopes, accessToken, nonce } = issued
  const user = deps.people().find(family.user)
  if (!user) return undefined
  const { client, authTime } = family
  const about = { user, client, scopes, accessToken, ...(authTime !== undefined && { authTime }) }
  return idToken({ ...about, ...(nonce !== undefined && { nonce }) }, deps)
}
