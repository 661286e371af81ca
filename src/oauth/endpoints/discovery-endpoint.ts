/** The documents by which clients discover the server (specification §4.1, RFC 8414, RFC 9728). No member is ever null. */
import type { Endpoint } from '#front/exchange.ts'
import type { Settings } from '../../core/settings.ts'
import { assertionAlgorithms } from '../clients/assertions.ts'
import { offeredGrants } from '../grant-types/index.ts'
import { answerJson, answerJsonText } from '#ui/requests.ts'
import { keySetSeconds, type Keys } from '../tokens/keys.ts'
import { defaultScopes, supportedScopes } from '../scopes.ts'
import { paths, resourceOf } from '../urls.ts'
import type { Parts } from '../parts.ts'

/** The sources of the documents. */
export type DiscoveryDeps = Parts<'settings' | 'publicUrl' | 'clientDocuments'>

const cacheControl = 'public, max-age=300'

/** Answers GET `/.well-known/openid-configuration` (specification §4.1). */
export function openidConfigurationEndpoint(deps: DiscoveryDeps): Endpoint {
  return documentEndpoint(deps, () => ({
    ...serverMetadata(deps),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claims_supported: ['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'at_hash', 'name', 'email'],
    prompt_values_supported: ['none', 'login', 'consent'],
    mcp_endpoint: resourceOf(deps.publicUrl()),
    mcp_protocol_version: '2025-06-18',
    mcp_transport: 'StreamableHTTP',
  }))
}

/** Answers GET `/.well-known/oauth-authorization-server` (RFC 8414), unless the setting hides it. */
export function authorizationServerEndpoint(deps: DiscoveryDeps): Endpoint {
  const make = (): Record<string, unknown> => ({
    ...serverMetadata(deps),
    // The specification fixes the list of the other document; this one can name all methods.
    token_endpoint_auth_methods_supported: [
      'none',
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
    ],
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  })
  return documentEndpoint(deps, make, (oauth) => oauth.show_authorization_server_metadata)
}

/** Serves a document as text, written anew when one of its sources has changed. */
function documentEndpoint(
  deps: DiscoveryDeps,
  make: () => Record<string, unknown>,
  isShown: (oauth: Settings['oauth']) => boolean = () => true,
): Endpoint {
  let kept: { readonly of: readonly unknown[]; readonly text: string } | undefined
  return async (ctx) => {
    if (!isShown(deps.settings().oauth)) return answerJson(ctx, 404, notFound)
    const of = [deps.settings(), deps.publicUrl(), deps.clientDocuments.areWelcome]
    if (!kept?.of.every((part, at) => part === of[at])) kept = { of, text: JSON.stringify(make()) }
    ctx.set('Cache-Control', cacheControl)
    answerJsonText(ctx, 200, kept.text)
  }
}

function serverMetadata(deps: DiscoveryDeps): Record<string, unknown> {
  const settings = deps.settings()
  const publicUrl = deps.publicUrl()
  const { oauth } = settings
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + paths.authorize,
    pushed_authorization_request_endpoint: publicUrl + paths.pushed,
    token_endpoint: publicUrl + paths.token,
    userinfo_endpoint: publicUrl + paths.userinfo,
    jwks_uri: publicUrl + paths.jwks,
    ...(oauth.enable_dynamic_client_registration && { registration_endpoint: publicUrl + paths.register }),
    revocation_endpoint: publicUrl + paths.revoke,
    introspection_endpoint: publicUrl + paths.introspect,
    scopes_supported: supportedScopes(settings),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: offeredGrants(settings).map(({ name }) => name),
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: deps.clientDocuments.areWelcome,
    ...(oauth.documentation_url !== null && { service_documentation: oauth.documentation_url }),
    ...(oauth.policy_uri !== null && { op_policy_uri: oauth.policy_uri }),
    ...(oauth.terms_of_service_uri !== null && { op_tos_uri: oauth.terms_of_service_uri }),
  }
}

/** Answers GET `/.well-known/oauth-protected-resource` (RFC 9728), unless the setting hides it. */
export function protectedResourceEndpoint(deps: DiscoveryDeps): Endpoint {
  const make = (): Record<string, unknown> => {
    const settings = deps.settings()
    const { oauth, server } = settings
    return {
      resource: resourceOf(deps.publicUrl()),
      authorization_servers: [deps.publicUrl()],
      // Only scopes that clients should ask for: many ask for everything that stands here.
      scopes_supported: defaultScopes(settings),
      bearer_methods_supported: ['header'],
      resource_name: oauth.resource_name ?? server.display_name,
      ...(oauth.documentation_url !== null && { resource_documentation: oauth.documentation_url }),
      ...(oauth.policy_uri !== null && { resource_policy_uri: oauth.policy_uri }),
      ...(oauth.terms_of_service_uri !== null && { resource_tos_uri: oauth.terms_of_service_uri }),
    }
  }
  return documentEndpoint(deps, make, (oauth) => oauth.show_protected_resource_metadata)
}

/** Answers GET of any other `/.well-known/` path: clients probe several and read JSON. */
export function unknownWellKnownEndpoint(): Endpoint {
  return async (ctx) => answerJson(ctx, 404, notFound)
}

const notFound = { error: 'not_found', message: 'there is no such document here' }

/** Answers GET of the key set (RFC 7517). */
export function jwksEndpoint(deps: { keys: Keys }): Endpoint {
  return async (ctx) => {
    const keys = await deps.keys.publicKeys()
    ctx.set('Cache-Control', `public, max-age=${keySetSeconds}`)
    answerJson(ctx, 200, keys)
  }
}
