/** The identity assertion grant (RFC 7523 §2.1 with an ID-JAG): tokens on the word of the company's identity provider. */
import { OAuthError, required } from '../protocol.ts'
import { narrowScopes } from '../scopes.ts'
import { meansResource, resourceOf } from '../urls.ts'
import type { GrantType } from './grant-type.ts'

/** Exchanges an assertion, once. It gives no refresh token: the provider is asked again, and may say no by then. */
export const identityAssertion: GrantType = {
  name: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
  isOn: ({ oauth }) => oauth.identity_assertions.length > 0,
  async exchange({ params, client, origin }, deps) {
    const assertion = required(params, 'assertion')
    const resource = resourceOf(deps.publicUrl())
    if (!params.resources.every((asked) => meansResource(asked, resource)))
      throw new OAuthError('invalid_target', `resource must be ${resource}`)
    deps.audit.requireWritable()
    const identity = await deps.identityProviders.identify(assertion, client.id)
    const user = 'fault' in identity ? undefined : deps.people().find(identity.user)
    if ('fault' in identity || !user?.enabled) {
      const why = 'fault' in identity ? identity.fault : 'the assertion names nobody who may use this server'
      await deps.audit.record({
        type: 'token.refuse',
        status: 'denied',
        client: client.id,
        ...(user && { user: user.id }),
        ...origin,
        error: why,
      })
      throw new OAuthError('invalid_grant', why)
    }
    const scopes = narrowScopes(params.get('scope') ?? identity.scope, deps.settings())
    const issued = await deps.store.transaction(async (tx) => {
      for (const gone of await deps.clients.activateIn(tx, client, user.id))
        await deps.audit.recordIn(tx, {
          type: 'client.displace',
          status: 'ok',
          user: user.id,
          client: client.id,
          ...origin,
          target: gone.id,
          data: { name: gone.name },
        })
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
