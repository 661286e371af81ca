/** Revocation (RFC 7009): a refresh token ends its whole family, an access token only itself. */
import type { Endpoint } from '#front/exchange.ts'
import { authenticateClient } from '../clients/client-authentication.ts'
import { jsonEndpoint, readForm } from '../http-middleware.ts'
import { answerJson, originOf, type Params } from '#ui/requests.ts'
import { OAuthError, refuseRepeated, required } from '../protocol.ts'
import type { Client } from '../records.ts'
import type { Parts } from '../parts.ts'

/** The dependencies of revocation. */
export type RevocationDeps = Parts<'audit' | 'assertions' | 'clients' | 'tokens' | 'limits'>

/** Answers POST: ends a token. A token that is unknown, or another client's, is answered like one that was ended. */
export function revocationEndpoint(deps: RevocationDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const origin = originOf(ctx)
    const params = await readForm(ctx)
    await deps.limits.take('token', { ...origin, times: 10 })
    refuseRepeated(params)
    const client = isAnonymous(ctx.get('Authorization'), params)
      ? undefined
      : await authenticateClient(ctx.get('Authorization'), params, deps)
    const ended = await revoke(required(params, 'token'), client, deps)
    if (ended) {
      await deps.audit.record({
        type: 'token.revoke',
        status: 'ok',
        user: ended.user,
        client: ended.client,
        ...origin,
        target: ended.target,
        data: { what: ended.what },
      })
    }
    // RFC 7009 §2.2 wants no body, and some clients want JSON.
    answerJson(ctx, 200, {})
  })
}

// RFC 7009 §2.1: token_type_hint only speeds up a search; our tokens say what they are.
async function revoke(
  text: string,
  client: Client | undefined,
  deps: RevocationDeps,
): Promise<{ user: string; client: string; target: string; what: string } | undefined> {
  const family = await deps.tokens.familyOf(text)
  if (family) {
    await refuseForeign(family.client, client, deps)
    await deps.tokens.revoke({ family: family.id }, 'the client revoked it')
    return { user: family.user, client: family.client, target: family.id, what: 'refresh_token' }
  }
  const found = await deps.tokens.find(text)
  if (found.kind !== 'active') return undefined
  await refuseForeign(found.token.client, client, deps)
  await deps.tokens.revokeAccessToken(found.token)
  const { user, client: owner, id } = found.token
  return { user, client: owner, target: id, what: 'access_token' }
}

/** True when the request does not say which client it is from. */
function isAnonymous(authorization: string, params: Params): boolean {
  const said = ['client_id', 'client_assertion'].some((name) => params.get(name) !== undefined)
  return authorization === '' && !said
}

/**
 * Refuses to end a token of another client, which stays (RFC 7009 §2.1). Whoever has the token of a public client
 * needs to prove nothing else to end it.
 */
async function refuseForeign(owner: string, client: Client | undefined, deps: RevocationDeps): Promise<void> {
  if (client && owner !== client.id)
    throw new OAuthError('invalid_grant', 'the token was not issued to this client')
  if (!client && (await deps.clients.find(owner))?.authMethod !== 'none') {
    throw new OAuthError('invalid_client', 'the client that the token was issued to must authenticate')
  }
}
