/** Revocation (RFC 7009): a refresh token ends its whole family, an access token only itself. */
import type { Middleware } from 'koa'
import type { Audit } from '../audit/audit.ts'
import type { Assertions } from './assertions.ts'
import { authenticateClient } from './client-authentication.ts'
import type { Clients } from './clients.ts'
import { jsonEndpoint, originOf, readForm } from './http-middleware.ts'
import { OAuthError, refuseRepeated, required } from './protocol.ts'
import type { RateLimits } from './rate-limits.ts'
import type { Client } from './records.ts'
import type { Tokens } from './tokens.ts'

/** What revocation works with. */
export interface RevocationDeps {
  readonly audit: Audit
  readonly assertions: Assertions
  readonly clients: Clients
  readonly tokens: Tokens
  readonly limits: RateLimits
}

/** POST: ends a token. A token that is unknown, or another client's, is answered like one that was ended. */
export function revocationEndpoint(deps: RevocationDeps): Middleware {
  return jsonEndpoint(async (ctx) => {
    const origin = originOf(ctx)
    const params = await readForm(ctx)
    await deps.limits.take('token', { ...origin, times: 10 })
    refuseRepeated(params)
    const client = await authenticateClient(ctx.get('Authorization'), params, deps)
    const ended = await revoke(required(params, 'token'), client, deps)
    if (ended) {
      await deps.audit.record({
        type: 'token.revoke',
        status: 'ok',
        user: ended.user,
        client: client.id,
        ...origin,
        target: ended.target,
        data: { what: ended.what },
      })
    }
    ctx.status = 200
    ctx.body = ''
  })
}

// RFC 7009 §2.1: token_type_hint only speeds up a search; our tokens say what they are.
async function revoke(
  text: string,
  client: Client,
  deps: RevocationDeps,
): Promise<{ user: string; target: string; what: string } | undefined> {
  const family = await deps.tokens.familyOf(text)
  if (family) {
    refuseForeign(family.client, client)
    await deps.tokens.revoke({ family: family.id }, 'the client revoked it')
    return { user: family.user, target: family.id, what: 'refresh_token' }
  }
  const found = await deps.tokens.find(text)
  if (found.kind !== 'active') return undefined
  refuseForeign(found.token.client, client)
  await deps.tokens.revokeAccessToken(found.token)
  return { user: found.token.user, target: found.token.id, what: 'access_token' }
}

/** RFC 7009 §2.1: a token of another client is refused and stays. */
function refuseForeign(owner: string, client: Client): void {
  if (owner !== client.id) throw new OAuthError('invalid_grant', 'the token was not issued to this client')
}
