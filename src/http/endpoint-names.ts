/** A few names for endlessly many paths. */
import { promptMethodPrefix } from '../library/prompt-methods-endpoint.ts'
import { aliases, paths } from '../oauth/urls.ts'
import { healthPaths } from './health-endpoint.ts'

const endpoints: ReadonlyMap<string, string> = new Map([
  [paths.mcp, 'mcp'],
  [paths.token, 'token'],
  [aliases.token, 'token'],
  [paths.authorize, 'authorize'],
  [aliases.authorize, 'authorize'],
  [paths.register, 'register'],
  [aliases.register, 'register'],
  [paths.revoke, 'revoke'],
  [paths.introspect, 'introspect'],
  [paths.userinfo, 'userinfo'],
  [paths.jwks, 'jwks'],
])

/** What metrics and traces call a path: a label must not be the caller's to choose. */
export function endpointOf(path: string): string {
  const known = endpoints.get(path)
  if (known !== undefined) return known
  if (healthPaths.has(path)) return 'health'
  if (path.includes('/.well-known/')) return 'discovery'
  if (path.startsWith(promptMethodPrefix)) return 'prompt_methods'
  return isPage(path) ? 'pages' : 'other'
}

/** Whether a path is one that people open in their browser. */
export function isPage(path: string): boolean {
  const pages: readonly string[] = [paths.home, paths.signOut, paths.connectedApps, paths.stylesheet]
  return pages.includes(path) || path === paths.signIn || path.startsWith(`${paths.signIn}/`)
}

/** The method of a request, as far as there is one such. */
export function methodOf(method: string): string {
  return ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other'
}
