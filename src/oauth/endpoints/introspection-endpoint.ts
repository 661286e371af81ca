/** Introspection (RFC 7662): tells confidential clients the facts about their own tokens. */
import type { Endpoint } from '#front/exchange.ts'
import { epochSeconds } from '#leaf/clock.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import { jsonEndpoint, readForm } from '../http-middleware.ts'
import { answerJson, originOf } from '#ui/requests.ts'
import { OAuthError, refuseRepeated, required } from '../protocol.ts'
import type { Client } from '../records.ts'
import { audienceOf } from '../urls.ts'
import { usableToken } from '../tokens/usable-token.ts'
import type { Parts } from '../parts.ts'

/** The dependencies of introspection. */
export type IntrospectionDeps = Parts<'people' | 'publicUrl' | 'assertions' | 'clients' | 'tokens' | 'limits'>

/** Answers POST with facts about an active token, or only that it is not active. */
export function introspectionEndpoint(deps: IntrospectionDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const params = await readForm(ctx)
    await deps.limits.take('token', { ...originOf(ctx), times: 10 })
    refuseRepeated(params)
    const client = await authenticateClient(ctx.get('Authorization'), params, deps)
    // RFC 7662 §2.1 requires authorization, so that tokens cannot be tried out.
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
  // A token that a client may not know of is answered like an unknown one (RFC 7662 §2.2); operators' clients see all.
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
