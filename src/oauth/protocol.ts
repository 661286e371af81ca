/**
 * The terms of the OAuth protocol: its one error class, and the parameters of a request.
 *
 * The files of this folder:
 * - Endpoints: `discovery-`, `registration-`, `pushed-request-`, `authorization-`, `token-` (with `grant-types/`),
 *   `revocation-`, `introspection-`, `userinfo-endpoint.ts`; `parts.ts` names what each needs, what they share on the
 *   wire is in `http-middleware.ts` and in `#ui`, every path in `urls.ts`.
 * - Authentication: `client-authentication.ts` for clients, `bearer.ts` for callers of the MCP endpoint,
 *   which makes the `Principal`; `rate-limits.ts` and `cors.ts` stand before both.
 * - Storage: `records.ts` has the shapes; `clients.ts` and `client-documents.ts`, `grants.ts`,
 *   `pushed-requests.ts`, `codes.ts`, `tokens.ts`, `usage.ts` and `keys.ts` keep them.
 * - Fetching: only `#outside/guarded-fetch.ts` fetches what a stranger names; `known-documents.ts` has copies of the
 *   documents of well-known clients.
 */
import type { Params } from '#ui/requests.ts'

/** Error codes of RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, RFC 7591 §3.2.2, RFC 8707 §2, OpenID Connect Core §3.1.2.6. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_token'
  | 'access_denied'
  | 'server_error'
  | 'temporarily_unavailable'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_token_type'
  | 'login_required'
  | 'consent_required'
  | 'request_not_supported'
  | 'request_uri_not_supported'

const statusOf: Partial<Record<OAuthErrorCode, number>> = {
  invalid_client: 401,
  invalid_token: 401,
  access_denied: 403,
  server_error: 500,
  temporarily_unavailable: 503,
}

/** An error of the OAuth conversation. The message reaches the peer as `error_description`. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The detail for the log only, which the peer is not told. */
  readonly detail: string | undefined

  constructor(
    code: OAuthErrorCode,
    description: string,
    options: { status?: number; headers?: Record<string, string>; detail?: string; cause?: unknown } = {},
  ) {
    super(description, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'OAuthError'
    this.code = code
    this.status = options.status ?? statusOf[code] ?? 400
    this.headers = options.headers ?? {}
    this.detail = options.detail
  }
}

/** Makes a text fit for `error_description` and `WWW-Authenticate` (RFC 6749 §5.2, RFC 6750 §3). */
export function descriptionText(text: string): string {
  return text
    .replaceAll('"', "'")
    .replaceAll('§', 'section ')
    .replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?')
    .slice(0, 500)
}

/** Returns the value of a required parameter; OAuthError `invalid_request` without it. */
export function required(params: Params, name: string): string {
  const value = params.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is required`)
  return value
}

/** Refuses a request with a parameter that comes twice (RFC 6749 §3.1). */
export function refuseRepeated(params: Params): void {
  if (params.repeated.length > 0) {
    throw new OAuthError('invalid_request', `sent more than once: ${params.repeated.join(', ')}`)
  }
}
