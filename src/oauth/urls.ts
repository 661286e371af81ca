/** Every path that programs know, and the URLs that follow from `public_url` (D1). */
import { narrowingParameters } from '../core/narrowing.ts'

const platform = '/api/method/platform.integrations.oauth2'

/** The paths of specification §4; jwks is our own choice. */
export const paths = {
  openidConfiguration: '/.well-known/openid-configuration',
  authorizationServer: '/.well-known/oauth-authorization-server',
  protectedResource: '/.well-known/oauth-protected-resource',
  mcp: '/api/method/assistant_core.api.mcp_endpoint.handle_mcp',
  register: '/api/method/assistant_core.api.oauth_registration.register_client',
  authorize: `${platform}.authorize`,
  pushed: `${platform}.pushed_authorization_request`,
  token: `${platform}.get_token`,
  revoke: `${platform}.revoke_token`,
  introspect: `${platform}.introspect_token`,
  userinfo: `${platform}.openid_profile`,
  jwks: `${platform}.jwks`,
} as const

/** The paths that clients of revision 2025-03-26 use when they find no metadata. */
export const aliases = { authorize: '/authorize', token: '/token', register: '/register' } as const

/** Returns the MCP endpoint's URL: the resource that tokens are for (RFC 8707, RFC 9728). */
export function resourceOf(publicUrl: string): string {
  return publicUrl + paths.mcp
}

/** The audience of tokens that the operator issues: this server, at whatever address it will be reached. */
export const thisServer = 'urn:assistant-core:this-server'

/** Returns the resource that a stored audience means now. */
export function audienceOf(resource: string, publicUrl: string): string {
  return resource === thisServer ? resourceOf(publicUrl) : resource
}

/**
 * True when a `resource` parameter means the MCP endpoint. Clients spell it in several ways: another
 * case of scheme and host, the default port, a trailing slash, or only the origin.
 */
export function meansResource(value: string, resource: string): boolean {
  if (!URL.canParse(value)) return false
  const asked = new URL(value)
  const own = new URL(resource)
  // RFC 8707 §2 forbids a fragment.
  if (value.includes('#') || asked.username !== '' || asked.password !== '') return false
  const path = asked.pathname.replace(/\/$/, '')
  // A connection that wants fewer tools is one to the same resource.
  if (![...asked.searchParams.keys()].every((name) => path !== '' && narrowingParameters.has(name)))
    return false
  return asked.origin === own.origin && (path === '' || path === own.pathname)
}
