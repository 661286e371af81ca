/** The refresh grant (RFC 6749 §6, RFC 9700 §4.14.2): rotates, repeats within a grace period, ends the family on theft. */
import type { Family } from '../records.ts'
import { OAuthError, required } from '../protocol.ts'
import { audienceOf, meansResource } from '../urls.ts'
import type { RefreshOutcome } from '../tokens/issued-tokens.ts'
import { type GrantType, refusal } from './grant-type.ts'

/** Exchanges a refresh token for its successor. */
export const refreshToken: GrantType = {
  name: 'refresh_token',
  async exchange(request, deps) {
    const { params, client, origin } = request
    const text = required(params, 'refresh_token')
    deps.audit.requireWritable()
    const outcome = await deps.store.transaction(async (tx): Promise<RefreshOutcome> => {
      const known = await deps.tokens.refreshIn(tx, text, client.id, (family) => {
        const user = deps.people().find(family.user)
        if (!user?.enabled) throw new OAuthError('invalid_grant', 'the user is disabled')
        const audience = audienceOf(family.resource, deps.publicUrl())
        const foreign = params.resources.find((resource) => !meansResource(resource, audience))
        if (foreign !== undefined)
          throw new OAuthError('invalid_target', 'resource is not the one that was authorized')
        return narrowed(params.get('scope'), family)
      })
      if (known.kind === 'rotated' || known.kind === 'reused') {
        const family = known.kind === 'rotated' ? known.issued.family : known.family
        await deps.audit.recordIn(tx, {
          type: known.kind === 'rotated' ? 'token.refresh' : 'token.reuse',
          status: known.kind === 'rotated' ? 'ok' : 'denied',
          user: family.user,
          client: client.id,
          ...origin,
          target: family.id,
          ...(known.kind === 'reused' && { error: known.why }),
        })
      }
      return known
    })
    if (outcome.kind === 'rotated' || outcome.kind === 'repeated') {
      await deps.clients.markUsed(client)
      return outcome.issued
    }
    if (outcome.kind === 'reused') {
      await deps.tokens.revoke({ family: outcome.family.id }, outcome.why)
      throw new OAuthError('invalid_grant', outcome.why)
    }
    throw await refusal(outcome.why, request, deps, { user: outcome.family?.user })
  },
}

/** Narrows the scopes: a client may ask for fewer than granted, never more (RFC 6749 §6). */
function narrowed(asked: string | undefined, family: Family): readonly string[] {
  if (asked === undefined) return family.scopes
  const wanted = asked.split(' ')
  const scopes = family.scopes.filter((scope) => wanted.includes(scope))
  if (scopes.length === 0) throw new OAuthError('invalid_scope', 'none of the scopes was granted')
  return scopes
}
