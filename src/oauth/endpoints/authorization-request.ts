/** Checks an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2.1, OpenID Connect Core §3.1.2.1). */
import type { Settings } from '../../core/settings.ts'
import type { Clients } from '../clients/clients.ts'
import { isChallenge } from '../tokens/pkce.ts'
import { OAuthError, refuseRepeated } from '../protocol.ts'
import type { Params } from '#ui/requests.ts'
import type { Client } from '../records.ts'
import type { Pushed } from '../pushed-requests.ts'
import { matchesRedirectUri, redirectHost, redirectUriFault } from '../clients/redirect-uris.ts'
import { narrowScopes } from '../scopes.ts'
import { meansResource, resourceOf } from '../urls.ts'

/** The place where the answer to a request may go, known before anything is sent there. */
export interface Target {
  readonly client: Client
  readonly redirectUri: string
  /** The part of the redirect URI that a person is shown. */
  readonly redirectHost: string
  readonly state: string | undefined
}

/** An authorization request that passed all checks. */
export interface AuthorizationRequest extends Target {
  readonly scopes: readonly string[]
  readonly resource: string
  readonly challenge: string | undefined
  readonly nonce: string | undefined
  readonly prompts: readonly string[]
  /** Seconds since the sign-in after which it must be repeated. */
  readonly maxAge: number | undefined
  /** Set when the client pushed it. */
  readonly pushed?: Pushed
}

/** Finds the client and its redirect URI. A fault here is shown to the user, never sent to the URI in question. */
export async function findTarget(params: Params, clients: Clients, network: string): Promise<Target> {
  const twice = params.repeated.filter((name) => name === 'client_id' || name === 'redirect_uri')
  if (twice.length > 0) throw new OAuthError('invalid_request', `sent more than once: ${twice.join(', ')}`)
  const id = params.get('client_id')
  if (id === undefined) throw new OAuthError('invalid_request', 'client_id is required')
  const client = await clients.find(id, network)
  if (!client) {
    const fault = clients.lastFetch(id)?.why
    if (fault === undefined) {
      const why = 'unknown client_id: the app is not registered here, or no longer; let it connect anew'
      throw new OAuthError('invalid_client', why, { status: 400 })
    }
    // Whatever the fault, a stranger learns nothing of what the service, or its proxy, can reach.
    const why = `this service could not use ${id.slice(0, 200)}, by which the app describes itself. An administrator sees why in "oauth trace", and can let the service reach that address (oauth.egress_proxy), describe the app in oauth.client_documents, or set oauth.client_id_metadata_documents to false; then the app registers itself when it connects anew`
    throw new OAuthError('invalid_client', why, { status: 400, detail: `${id.slice(0, 200)}: ${fault}` })
  }
  const redirectUri = params.get('redirect_uri')
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is required')
  if (!matchesRedirectUri(client.redirectUris, redirectUri)) {
    throw new OAuthError('invalid_request', 'redirect_uri is not one that the app has registered')
  }
  return { client, redirectUri, redirectHost: hostOf(redirectUri, client), state: params.get('state') }
}

/** The hosts of URIs already checked, for each list of redirect URIs; the store's lists stay the same objects. */
const hosts = new WeakMap<readonly string[], Map<string, string>>()

/** Returns the host of a redirect URI. It was checked at registration; this check guards the user's browser from a hole there. */
function hostOf(redirectUri: string, { redirectUris }: Client): string {
  const known = hosts.get(redirectUris)?.get(redirectUri)
  if (known !== undefined) return known
  const nativeSchemes = redirectUris.map((uri) => uri.split(':')[0] ?? '')
  if (redirectUriFault(redirectUri, { developerMode: true, nativeSchemes }) !== undefined)
    throw new OAuthError('invalid_request', 'redirect_uri is not acceptable')
  const host = redirectHost(redirectUri)
  // Loopback URIs of any port are endlessly many, so only registered ones are cached.
  if (redirectUris.includes(redirectUri))
    hosts.set(redirectUris, (hosts.get(redirectUris) ?? new Map<string, string>()).set(redirectUri, host))
  return host
}

/** Checks all other parameters. A fault here is sent back to the client. */
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
  // A parameter that is not supported must be refused, not ignored (OpenID Connect Core §6).
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

/** True when a user who signed in then must do it again. What a pushed request wants is done once, as its address cannot say that it was. */
export function mustSignInAgain(
  { prompts, maxAge, pushed }: AuthorizationRequest,
  authTime: number,
  now: number,
): boolean {
  if (pushed && authTime >= pushed.at) return false
  return prompts.includes('login') || (maxAge !== undefined && (now - authTime) / 1000 > maxAge)
}
