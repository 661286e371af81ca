/**
 * What the OAuth endpoints say: the one error class of the protocol, and the parameters of a request.
 *
 * How the files of this folder play together:
 * - Endpoints: `discovery-`, `registration-`, `authorization-`, `token-` (with `grant-types/`),
 *   `revocation-`, `introspection-`, `userinfo-endpoint.ts`; what they share on the wire is in
 *   `http-middleware.ts` and `browser-middleware.ts`, every path in `urls.ts`.
 * - Who asks: `client-authentication.ts` for clients, `bearer.ts` for callers of the MCP endpoint,
 *   which makes the `Principal`; `rate-limits.ts` and `cors.ts` stand before both.
 * - What is kept: `records.ts` has the shapes; `clients.ts` and `client-documents.ts`, `grants.ts`,
 *   `codes.ts`, `tokens.ts`, `usage.ts` and `keys.ts` keep them.
 * - What a stranger names is fetched by `guarded-fetch.ts` and nothing else; `known-documents.ts` has copies of what
 *   well-known clients would be fetched for.
 */

/** RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, RFC 7591 §3.2.2, RFC 8707 §2, OpenID Connect Core §3.1.2.6. */
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

/** The OAuth conversation failed. The message reaches the peer as `error_description`. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** For the log only: what the peer is not told. */
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

/** A text as `error_description` and `WWW-Authenticate` may carry it (RFC 6749 §5.2, RFC 6750 §3). */
export function descriptionText(text: string): string {
  return text
    .replaceAll('"', "'")
    .replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?')
    .slice(0, 500)
}

/** The parameters of one OAuth request: each at most once, empty ones left out. */
export interface Params {
  get(name: string): string | undefined
  /** RFC 8707 §2: the only parameter that may come several times. */
  readonly resources: readonly string[]
  /** Names that came more than once, which RFC 6749 §3.1 forbids. */
  readonly repeated: readonly string[]
}

/** Reads the parameters of a query or a form body. */
export function readParams(search: URLSearchParams): Params {
  const values = new Map<string, string>()
  const repeated = new Set<string>()
  const resources: string[] = []
  for (const [name, value] of search) {
    // RFC 6749 §3.1: a parameter without a value counts as omitted.
    if (value === '') continue
    if (name === 'resource') resources.push(value)
    else if (values.has(name)) repeated.add(name)
    else values.set(name, value)
  }
  return { get: (name) => values.get(name), resources, repeated: [...repeated] }
}

/** The value of a parameter that must be there. */
export function required(params: Params, name: string): string {
  const value = params.get(name)
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is required`)
  return value
}

/** RFC 6749 §3.1: a parameter must not come twice. */
export function refuseRepeated(params: Params): void {
  if (params.repeated.length > 0) {
    throw new OAuthError('invalid_request', `sent more than once: ${params.repeated.join(', ')}`)
  }
}
