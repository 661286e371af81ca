/** Dynamic client registration (RFC 7591, specification §4.4). */
import type { Endpoint } from '#front/exchange.ts'
import { networkKey } from '#leaf/address.ts'
import { epochSeconds } from '#leaf/clock.ts'
import { readClientMetadata, registrationMethods, rulesOf } from '../clients/client-metadata.ts'
import { grantTypeNames } from '../grant-types/index.ts'
import { jsonEndpoint, readJson } from '../http-middleware.ts'
import { answerJson, isOfType, originOf } from '#ui/requests.ts'
import { OAuthError } from '../protocol.ts'
import type { Client } from '../records.ts'
import type { Parts } from '../parts.ts'

const bodyLimit = 8192

/** The dependencies of registration. */
export type RegistrationDeps = Parts<'settings' | 'audit' | 'clients' | 'limits'>

/** Answers POST, by which a client registers itself. */
export function registrationEndpoint(deps: RegistrationDeps): Endpoint {
  return jsonEndpoint(async (ctx) => {
    const settings = deps.settings()
    const origin = originOf(ctx)
    if (!settings.oauth.enable_dynamic_client_registration) {
      throw new OAuthError('access_denied', 'dynamic client registration is not enabled')
    }
    await deps.limits.take('register', origin)
    // A browser would send any other type for any page, without asking us first.
    if (!isOfType(ctx, 'application/json'))
      throw new OAuthError('invalid_client_metadata', 'the body must be application/json', { status: 415 })
    const rules = rulesOf(settings, registrationMethods, 'client_secret_basic')
    const description = readClientMetadata(await readJson(ctx, bodyLimit), rules)
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

/** Returns a client in the words of RFC 7591 §3.2.1. */
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
