/** The identity assertion grant (RFC 7523 §2.1 with an ID-JAG): tokens on the word of the company's identity provider. */
import { OAuthError, required } from '../protocol.ts'
import type { Settings } from '../../core/settings.ts'
import { narrowScopes, supportedScopes } from '../scopes.ts'
import { meansResource, resourceOf } from '../urls.ts'
import { type GrantType, keepClientIn, refusal } from './grant-type.ts'

/** Exchanges an assertion, once. It gives no refresh token: the provider is asked again, and may say no by then. */
export const identityAssertion: GrantType = {
  name: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
  isOn: ({ oauth }) => oauth.identity_assertions.length > 0,
  async exchange(request, deps) {
    const { params, client, origin } = request
    const assertion = required(params, 'assertion')
    const resource = resourceOf(deps.publicUrl())
    if (!params.resources.every((asked) => meansResource(asked, resource)))
      throw new OAuthError('invalid_target', `resource must be ${resource}`)
    deps.audit.requireWritable()
    const identity = await deps.identityProviders.identify(assertion, client.id)
    const user = 'fault' in identity ? undefined : deps.people().users.get(identity.user)
    if ('fault' in identity || !user?.enabled) {
      const why = 'fault' in identity ? identity.fault : 'the assertion names nobody who may use this server'
      throw await refusal(why, request, deps, { user: user?.id })
    }
    if (!(await deps.accounts.isSubject(user.id, identity.issuer, identity.subject))) {
      const why =
        'the issuer means another account by this user than before ("users reset --everything" lets it in)'
      throw await refusal(why, request, deps, { user: user.id })
    }
    const scopes = scopesOf(params.get('scope'), identity.scope, deps.settings())
    if (scopes.length === 0) {
      const why = 'the assertion gives none of the scopes that are asked for and known here'
      throw await refusal(why, request, deps, { user: user.id, as: 'invalid_scope' })
    }
    const issued = await deps.store.transaction(async (tx) => {
      await keepClientIn(tx, user.id, request, deps)
      const { refreshToken: _none, ...tokens } = await deps.tokens.issueIn(tx, {
        user: user.id,
        client: client.id,
        clientName: client.name,
        scopes,
        resource,
        vouchedBy: identity.issuer,
        ...(identity.authTime !== undefined && { authTime: identity.authTime }),
      })
      await deps.audit.recordIn(tx, {
        type: 'token.issue',
        status: 'ok',
        user: user.id,
        client: client.id,
        ...origin,
        target: tokens.family.id,
        data: { grant_type: 'identity_assertion', scope: scopes.join(' ') },
      })
      return tokens
    })
    return issued
  },
}

/** Returns the scopes requested, but no more than the provider gave; `all` contains the others. */
function scopesOf(
  asked: string | undefined,
  given: string | undefined,
  settings: Settings,
): readonly string[] {
  if (given === undefined) return narrowScopes(asked, settings)
  const [wanted, allowed] = [(asked ?? given).split(' '), given.split(' ')]
  const both = wanted.includes('all')
    ? allowed
    : wanted.filter((scope) => allowed.includes(scope) || allowed.includes('all'))
  return supportedScopes(settings).filter((scope) => both.includes(scope))
}
