/** The identity assertion grant (RFC 7523 §2.1 with an ID-JAG): tokens on the word of the company's identity provider. */
import { OAuthError, required } from '../protocol.ts'
import { narrowScopes } from '../scopes.ts'
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
    const user = 'fault' in identity ? undefined : deps.people().find(identity.user)
    if ('fault' in identity || !user?.enabled) {
      const why = 'fault' in identity ? identity.fault : 'the assertion names nobody who may use this server'
      throw await refusal(why, request, deps, { user: user?.id })
    }
    const scopes = narrowScopes(params.get('scope') ?? identity.scope, deps.settings())
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
