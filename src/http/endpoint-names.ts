/** Maps endlessly many paths to a few names. */
import { promptMethodPrefix } from '../library/prompt-methods-endpoint.ts'
import { aliases, paths } from '../oauth/urls.ts'
import { healthPaths } from './health-endpoint.ts'

const endpoints: ReadonlyMap<string, string> = new Map([
  [paths.mcp, 'mcp'],
  [paths.token, 'token'],
  [aliases.token, 'token'],
  [paths.authorize, 'authorize'],
  [aliases.authorize, 'authorize'],
  [paths.pushed, 'pushed'],
  [paths.register, 'register'],
  [aliases.register, 'register'],
  [paths.revoke, 'revoke'],
  [paths.introspect, 'introspect'],
  [paths.userinfo, 'userinfo'],
  [paths.jwks, 'jwks'],
])

/** Returns the name of a path in metrics and traces: the caller must not be able to choose a label. */
export function endpointOf(path: string, isOfPages: (path: string) => boolean): string {
  const known = endpoints.get(path)
  if (known !== undefined) return known
  if (healthPaths.has(path)) return 'health'
  if (path.includes('/.well-known/')) return 'discovery'
  if (path.startsWith(promptMethodPrefix)) return 'prompt_methods'
  return isOfPages(path) ? 'pages' : 'other'
}

/** Returns the method of a request, or `other` for an unusual one. */
export function methodOf(method: string): string {
  return ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other'
}
