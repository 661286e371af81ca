/** What programs ask of the authorization server, a list: the router and the paths that leave Koa out read it. */
import type { Endpoint } from '../core/exchange.ts'
import {
  authorizationServerEndpoint,
  type DiscoveryDeps,
  jwksEndpoint,
  openidConfigurationEndpoint,
  protectedResourceEndpoint,
} from './discovery-endpoint.ts'
import { introspectionEndpoint, type IntrospectionDeps } from './introspection-endpoint.ts'
import { registrationEndpoint, type RegistrationDeps } from './registration-endpoint.ts'
import { revocationEndpoint, type RevocationDeps } from './revocation-endpoint.ts'
import { tokenEndpoint, type TokenDeps } from './token-endpoint.ts'
import { aliases, paths } from './urls.ts'
import { userinfoEndpoint, type UserinfoDeps } from './userinfo-endpoint.ts'

/** An endpoint with its method, and every path under which it is. */
export type ProgramEndpoint = readonly [method: 'GET' | 'POST', places: readonly string[], endpoint: Endpoint]

/** Their endpoints; what people open in a browser is not among them. */
export function programEndpoints(
  deps: DiscoveryDeps & RegistrationDeps & TokenDeps & RevocationDeps & IntrospectionDeps & UserinfoDeps,
): readonly ProgramEndpoint[] {
  const { openidConfiguration, authorizationServer, protectedResource, mcp } = paths
  const configurations = [openidConfiguration, `${openidConfiguration}${mcp}`, `${mcp}${openidConfiguration}`]
  const userinfo = userinfoEndpoint(deps)
  return [
    ['GET', configurations, openidConfigurationEndpoint(deps)],
    ['GET', [authorizationServer, `${authorizationServer}${mcp}`], authorizationServerEndpoint(deps)],
    ['GET', [protectedResource, `${protectedResource}${mcp}`], protectedResourceEndpoint(deps)],
    ['GET', [paths.jwks], jwksEndpoint(deps)],
    ['POST', [paths.register, aliases.register], registrationEndpoint(deps)],
    ['POST', [paths.token, aliases.token], tokenEndpoint(deps)],
    ['POST', [paths.revoke], revocationEndpoint(deps)],
    ['POST', [paths.introspect], introspectionEndpoint(deps)],
    ['GET', [paths.userinfo], userinfo],
    ['POST', [paths.userinfo], userinfo],
  ]
}
