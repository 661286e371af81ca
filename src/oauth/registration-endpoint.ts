/** Dynamic client registration (RFC 7591, specification §4.4). */
import type { Endpoint } from '../core/exchange.ts'
import type { Audit } from '../audit/audit.ts'
import { networkKey } from '../core/address.ts'
import { epochSeconds } from '../core/clock.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import { readClientMetadata, registrationMethods } from './client-metadata.ts'
import type { Clients } from './clients.ts'
import { grantTypeNames } from './grant-types/index.ts'
import { answerJson, isOfType, jsonEndpoint, originOf, readJson } from './http-middleware.ts'
import { OAuthError } from './protocol.ts'
import type { RateLimits } from './rate-limits.ts'
import type { Client } from './records.ts'

const bodyLimit = 8192

/** What registration works with. */
export interface RegistrationDeps {
  readonly settings: () => Settings
  readonly audit: Audit
  readonly clients: Clients
  readonly limits: RateLimits
}

/** POST: a client registers itself. */
export function registrationEndpoint(deps: RegistrationDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const { oauth } = deps.settings()
    const origin = originOf(ctx)
    if (!oauth.enable_dynamic_client_registration) {
      throw new OAuthError('access_denied', 'dynamic client registration is not enabled')
    }
    await deps.limits.take('register', origin)
    // Any other type a browser would send for any page, without asking us first.
    if (!isOfType(ctx, 'application/json'))
      throw new OAuthError('invalid_client_metadata', 'the body must be application/json', { status: 415 })
    const description = readClientMetadata(await readJson(ctx, bodyLimit), {
      developerMode: oauth.developer_mode,
      nativeSchemes: linesOf(oauth.native_redirect_schemes),
      authMethods: registrationMethods,
      defaultMethod: 'client_secret_basic',
    })
    deps.audit.requireWritable()
    const { client, secret } = await deps.clients.register(
      description,
      'dynamic',
      async (tx, made) =>
        deps.audit.recordIn(tx, {
          type: 'client.register',
          status: 'ok',
          client: made.id,
          ...origin,
          target: made.id,
          data: {
            name: made.name,
            redirect_uris: made.redirectUris,
            method: made.authMethod,
            source: 'dynamic',
          },
        }),
      networkKey(origin.address),
    )
    answerJson(ctx, 201, registrationOf(client, secret))
  })
}

/** A client in the words of RFC 7591 §3.2.1. */
export function registrationOf(client: Client, secret?: string): Record<string, unknown> {
  const { jwks: _keys, ...metadata } = client.metadata
  return {
    ...metadata,
    client_id: client.id,
    client_id_issued_at: epochSeconds(client.createdAt),
    client_name: client.name,
    redirect_uris: client.redirectUris,
    token_endpoint_auth_method: client.authMethod,
    // Many clients leave refresh_token out and want it all the same, so each has every grant type.
    grant_types: grantTypeNames,
    response_types: ['code'],
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
  }
}
