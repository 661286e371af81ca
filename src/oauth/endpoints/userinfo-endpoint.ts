/** Userinfo (OpenID Connect Core §5.3): describes the token's user, as far as its scopes allow. */
import type { Endpoint, Exchange } from '#front/exchange.ts'
import { jsonEndpoint, readForm } from '../http-middleware.ts'
import { answerJson, isOfType, originOf } from '#ui/requests.ts'
import { claimsOf } from '../tokens/id-tokens.ts'
import { descriptionText } from '../protocol.ts'
import { usableToken } from '../tokens/usable-token.ts'
import type { Parts } from '../parts.ts'

/** The dependencies of userinfo. */
export type UserinfoDeps = Parts<'settings' | 'people' | 'publicUrl' | 'tokens'>

/** Answers GET or POST with a bearer token. */
export function userinfoEndpoint(deps: UserinfoDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const text = await tokenOf(ctx)
    if (text === undefined) return challenge(ctx, deps, undefined)
    const usable = await usableToken(text, originOf(ctx).address, deps)
    if ('fault' in usable) return challenge(ctx, deps, usable.fault)
    answerJson(ctx, 200, claimsOf(usable.user, usable.token.scopes))
  })
}

/** Reads the token as in RFC 6750 §2.1 and, for POST, §2.2; never from the query. */
async function tokenOf(ctx: Exchange): Promise<string | undefined> {
  const header = /^Bearer +(\S+)$/i.exec(ctx.get('Authorization'))?.[1]
  if (header !== undefined || ctx.method !== 'POST' || !isOfType(ctx, 'application/x-www-form-urlencoded'))
    return header
  return (await readForm(ctx)).get('access_token')
}

function challenge(ctx: Exchange, deps: UserinfoDeps, why: string | undefined): void {
  const error =
    why === undefined ? '' : `, error="invalid_token", error_description="${descriptionText(why)}"`
  ctx.set('WWW-Authenticate', `Bearer realm="${deps.settings().server.name}"${error}`)
  answerJson(ctx, 401, { error: 'invalid_token', error_description: why ?? 'an access token is required' })
}
