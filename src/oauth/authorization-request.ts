/** Checking an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2.1, OpenID Connect Core §3.1.2.1). */
import type { Settings } from '../core/settings.ts'
import type { Clients } from './clients.ts'
import { isChallenge } from './pkce.ts'
import { OAuthError, refuseRepeated, type Params } from './protocol.ts'
import type { Client } from './records.ts'
import { matchesRedirectUri, redirectHost, redirectUriFault } from './redirect-uris.ts'
import { narrowScopes } from './scopes.ts'
import { meansResource, resourceOf } from './urls.ts'

/** Where the answer to a request may go: known before anything is sent there. */
export interface Target {
  readonly client: Client
  readonly redirectUri: string
  /** What a person is shown of it. */
  readonly redirectHost: string
  readonly state: string | undefined
}

/** A request that is as it must be. */
export interface AuthorizationRequest extends Target {
  readonly scopes: readonly string[]
  readonly resource: string
  readonly challenge: string | undefined
  readonly nonce: string | undefined
  readonly prompts: readonly string[]
  /** Seconds since the sign-in after which it must be repeated. */
  readonly maxAge: number | undefined
}

/** The client and its redirect URI. A fault here is shown to the user, never sent to the URI in question. */
export async function findTarget(params: Params, clients: Clients, network: string): Promise<Target> {
  const twice = params.repeated.filter((name) => name === 'client_id' || name === 'redirect_uri')
  if (twice.length > 0) throw new OAuthError('invalid_request', `sent more than once: ${twice.join(', ')}`)
  const id = params.get('client_id')
  if (id === undefined) throw new OAuthError('invalid_request', 'client_id is required')
  const client = await clients.find(id, network)
  if (!client) {
    const fault = clients.lastFetch(id)?.why
    const why =
      fault === undefined
        ? 'unknown client_id: the app is not registered here, or no longer; let it connect anew'
        : `this service could not get ${id.slice(0, 200)}, by which the app describes itself: ${fault}. An administrator can let the service reach that address (oauth.egress_proxy), describe the app in oauth.client_documents, or set oauth.client_id_metadata_documents to false; then the app registers itself when it connects anew`
    throw new OAuthError('invalid_client', why, { status: 400 })
  }
  const redirectUri = params.get('redirect_uri')
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is required')
  if (!matchesRedirectUri(client.redirectUris, redirectUri)) {
    throw new OAuthError('invalid_request', 'redirect_uri is not one that the app has registered')
  }
  return { client, redirectUri, redirectHost: hostOf(redirectUri, client), state: params.get('state') }
}

/** Of each list of redirect URIs, those that were looked at; the store's lists stay the same objects. */
const hosts = new WeakMap<readonly string[], Map<string, string>>()

/** It was checked when it was registered; this check stands between a hole there and the user's browser. */
function hostOf(redirectUri: string, { redirectUris }: Client): string {
  const known = hosts.get(redirectUris)?.get(redirectUri)
  if (known !== undefined) return known
  const nativeSchemes = redirectUris.map((uri) => uri.split(':')[0] ?? '')
  if (redirectUriFault(redirectUri, { developerMode: true, nativeSchemes }) !== undefined)
    throw new OAuthError('invalid_request', 'redirect_uri is not acceptable')
  const host = redirectHost(redirectUri)
  // Those of any port are endlessly many.
  if (redirectUris.includes(redirectUri))
    hosts.set(redirectUris, (hosts.get(redirectUris) ?? new Map<string, string>()).set(redirectUri, host))
  return host
}

/** Everything else. A fault here is sent back to the client. */
export function checkRequest(
  params: Params,
  target: Target,
  settings: Settings,
  publicUrl: string,
): AuthorizationRequest {
  refuseRepeated(params)
  const responseType = params.get('response_type')
  if (responseType === undefined) throw new OAuthError('invalid_request', 'response_type is required')
  if (responseType !== 'code') throw new OAuthError('unsupported_response_type', 'response_type must be code')
  const mode = params.get('response_mode') ?? 'query'
  if (mode !== 'query') throw new OAuthError('invalid_request', 'response_mode must be query')
  // OpenID Connect Core §6: what is not supported must be refused, not ignored.
  if (params.get('request') !== undefined) {
    throw new OAuthError('request_not_supported', 'the request parameter is not supported')
  }
  if (params.get('request_uri') !== undefined) {
    throw new OAuthError('request_uri_not_supported', 'the request_uri parameter is not supported')
  }
  const resource = resourceOf(publicUrl)
  if (!params.resources.every((asked) => meansResource(asked, resource))) {
    throw new OAuthError('invalid_target', `resource must be ${resource}`)
  }
  return {
    ...target,
    scopes: narrowScopes(params.get('scope'), settings),
    resource,
    challenge: checkChallenge(params, target.client, settings),
    nonce: params.get('nonce'),
    ...checkPrompts(params),
  }
}

function checkChallenge(params: Params, client: Client, settings: Settings): string | undefined {
  const challenge = params.get('code_challenge')
  const method = params.get('code_challenge_method')
  if (challenge === undefined) {
    if (
      client.authMethod === 'none' ||
      settings.oauth.require_pkce_for_confidential_clients ||
      method !== undefined
    ) {
      throw new OAuthError('invalid_request', 'code_challenge is required')
    }
    return undefined
  }
  // An absent method means plain (RFC 7636 §4.3), which is not supported.
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method must be S256')
  if (!isChallenge(challenge)) {
    throw new OAuthError('invalid_request', 'code_challenge must be the base64url SHA-256 of the verifier')
  }
  return challenge
}

function checkPrompts(params: Params): Pick<AuthorizationRequest, 'prompts' | 'maxAge'> {
  const prompts = (params.get('prompt') ?? '').split(' ').filter((prompt) => prompt !== '')
  if (prompts.includes('none') && prompts.length > 1) {
    throw new OAuthError('invalid_request', 'prompt=none stands alone')
  }
  const age = params.get('max_age')
  if (age !== undefined && !/^\d{1,9}$/.test(age)) {
    throw new OAuthError('invalid_request', 'max_age must be a number of seconds')
  }
  return { prompts, maxAge: age === undefined ? undefined : Number(age) }
}
