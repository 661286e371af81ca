/** Introspection (RFC 7662): what stands behind a token, told to confidential clients about their own. */
import type { Endpoint } from '../core/exchange.ts'
import { epochSeconds } from '../core/clock.ts'
import type { People } from '../users/people.ts'
import type { Assertions } from './assertions.ts'
import { authenticateClient } from './client-authentication.ts'
import type { Clients } from './clients.ts'
import { answerJson, jsonEndpoint, originOf, readForm } from './http-middleware.ts'
import { OAuthError, refuseRepeated, required } from './protocol.ts'
import type { RateLimits } from './rate-limits.ts'
import type { Client } from './records.ts'
import type { Tokens } from './tokens.ts'
import { audienceOf } from './urls.ts'
import { usableToken } from './usable-token.ts'

/** What introspection works with. */
export interface IntrospectionDeps {
  readonly people: () => People
  readonly publicUrl: () => string
  readonly assertions: Assertions
  readonly clients: Clients
  readonly tokens: Tokens
  readonly limits: RateLimits
}

/** POST: facts about an active token, or only that it is not. */
export function introspectionEndpoint(deps: IntrospectionDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const params = await readForm(ctx)
    await deps.limits.take('token', { ...originOf(ctx), times: 10 })
    refuseRepeated(params)
    const client = await authenticateClient(ctx.get('Authorization'), params, deps)
    // RFC 7662 §2.1: authorization is required, so that tokens cannot be tried out.
    if (client.authMethod === 'none') {
      throw new OAuthError('invalid_client', 'introspection needs a client that authenticates')
    }
    answerJson(ctx, 200, await describe(required(params, 'token'), client, originOf(ctx).address, deps))
  })
}

async function describe(
  text: string,
  client: Client,
  address: string,
  deps: IntrospectionDeps,
): Promise<Record<string, unknown>> {
  const usable = await usableToken(text, address, deps)
  const about = 'token' in usable ? usable.token : await deps.tokens.findRefresh(text)
  // What a client may not know of is answered like what does not exist (RFC 7662 §2.2); operators' clients see all.
  const own = about?.client === client.id || client.source === 'operator'
  const user = about && deps.people().find(about.user)
  if (!about || !own || !user?.enabled) return { active: false }
  const issuedAt = 'issuedAt' in about ? about.issuedAt : (about.rotatedAt ?? about.createdAt)
  return {
    active: true,
    scope: about.scopes.join(' '),
    client_id: about.client,
    username: about.user,
    token_type: 'issuedAt' in about ? 'Bearer' : 'refresh_token',
    exp: epochSeconds(about.expiresAt),
    iat: epochSeconds(issuedAt),
    sub: about.user,
    aud: audienceOf(about.resource, deps.publicUrl()),
    iss: deps.publicUrl(),
  }
}
