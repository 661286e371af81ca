/** The token endpoint (RFC 6749 §3.2, specification §4.3). */
import type { Endpoint } from '#front/exchange.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import type { Exchanged, GrantDeps } from '../grant-types/grant-type.ts'
import { offeredGrants } from '../grant-types/index.ts'
import { jsonEndpoint, readClientForm } from '../http-middleware.ts'
import { answerJson, originOf } from '#ui/requests.ts'
import { idToken } from '../tokens/id-tokens.ts'
import { OAuthError, required } from '../protocol.ts'
import type { Parts } from '../parts.ts'

/** The dependencies of the token endpoint. */
export type TokenDeps = GrantDeps & Parts<'assertions' | 'keys' | 'limits' | 'log'>

/** Answers POST with tokens for a code or a refresh token. */
export function tokenEndpoint(deps: TokenDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const params = await readClientForm(ctx, deps)
    const name = required(params, 'grant_type')
    const client = await authenticateClient(ctx.get('Authorization'), params, deps)
    const offered = offeredGrants(deps.settings())
    const grant = offered.find((known) => known.name === name)
    if (!grant) {
      const names = offered.map((known) => known.name).join(' or ')
      throw new OAuthError('unsupported_grant_type', `grant_type must be ${names}`)
    }
    const issued = await grant.exchange({ params, client, origin: originOf(ctx) }, deps)
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
