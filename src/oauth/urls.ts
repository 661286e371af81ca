/** Every path of the authorization server and its pages, and the URLs that follow from `public_url` (D1). */

const platform = '/api/method/platform.integrations.oauth2'

/** Specification §4; jwks and the pages are our own choice. */
export const paths = {
  openidConfiguration: '/.well-known/openid-configuration',
  authorizationServer: '/.well-known/oauth-authorization-server',
  protectedResource: '/.well-known/oauth-protected-resource',
  mcp: '/api/method/assistant_core.api.mcp_endpoint.handle_mcp',
  register: '/api/method/assistant_core.api.oauth_registration.register_client',
  authorize: `${platform}.authorize`,
  token: `${platform}.get_token`,
  revoke: `${platform}.revoke_token`,
  introspect: `${platform}.introspect_token`,
  userinfo: `${platform}.openid_profile`,
  jwks: `${platform}.jwks`,
  home: '/',
  signIn: '/sign-in',
  signInUpstream: '/sign-in/oidc',
  signInUpstreamCallback: '/sign-in/oidc/callback',
  signInPasskey: '/sign-in/passkey',
  secondStep: '/sign-in/second',
  oneTimeLink: '/choose-password',
  account: '/account',
  connect: '/connect',
  documents: '/documents',
  prompts: '/prompts',
  newPrompt: '/new-prompt',
  skills: '/skills',
  signOut: '/sign-out',
  connectedApps: '/connected-apps',
  approvals: '/approvals',
  desk: '/desk',
  audit: '/audit',
  admin: '/admin',
  stylesheet: '/assets/pages.css',
} as const

/** Where clients of revision 2025-03-26 go when they find no metadata. */
export const aliases = { authorize: '/authorize', token: '/token', register: '/register' } as const

/** The MCP endpoint's URL: the resource that tokens are for (RFC 8707, RFC 9728). */
export function resourceOf(publicUrl: string): string {
  return publicUrl + paths.mcp
}

/** The audience of tokens that the operator issues: this server, at whatever address it will be reached. */
export const thisServer = 'urn:assistant-core:this-server'

/** The resource that a stored audience means now. */
export function audienceOf(resource: string, publicUrl: string): string {
  return resource === thisServer ? resourceOf(publicUrl) : resource
}

/**
 * Whether a `resource` parameter means the MCP endpoint. Clients spell it in several ways: another
 * case of scheme and host, the default port, a trailing slash, or only the origin.
 */
export function meansResource(value: string, resource: string): boolean {
  if (!URL.canParse(value)) return false
  const asked = new URL(value)
  const own = new URL(resource)
  // RFC 8707 §2: no fragment.
  if (value.includes('#') || asked.username !== '' || asked.password !== '' || asked.search !== '')
    return false
  const path = asked.pathname.replace(/\/$/, '')
  return asked.origin === own.origin && (path === '' || path === own.pathname)
}
