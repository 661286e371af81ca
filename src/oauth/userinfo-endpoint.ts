/** Userinfo (OpenID Connect Core §5.3): who the token's user is, as far as its scopes say. */
import type { Endpoint, Exchange } from '../core/exchange.ts'
import type { Settings } from '../core/settings.ts'
import type { People } from '../users/people.ts'
import { answerJson, isOfType, jsonEndpoint, originOf, readForm } from './http-middleware.ts'
import { claimsOf } from './id-tokens.ts'
import { descriptionText } from './protocol.ts'
import type { Tokens } from './tokens.ts'
import { usableToken } from './usable-token.ts'

/** What userinfo works with. */
export interface UserinfoDeps {
  readonly settings: () => Settings
  readonly people: () => People
  readonly publicUrl: () => string
  readonly tokens: Tokens
}

/** GET or POST with a bearer token. */
export function userinfoEndpoint(deps: UserinfoDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const text = await tokenOf(ctx)
    if (text === undefined) return challenge(ctx, deps, undefined)
    const usable = await usableToken(text, originOf(ctx).address, deps)
    if ('fault' in usable) return challenge(ctx, deps, usable.fault)
    answerJson(ctx, 200, claimsOf(usable.user, usable.token.scopes))
  })
}

/** RFC 6750 §2.1 and, for POST, §2.2; never from the query. */
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
