/** The list of endpoints that programs call at the authorization server; the router and the paths that bypass Koa read it. */
import type { Endpoint } from '#front/exchange.ts'
import {
  authorizationServerEndpoint,
  type DiscoveryDeps,
  jwksEndpoint,
  openidConfigurationEndpoint,
  protectedResourceEndpoint,
} from './discovery-endpoint.ts'
import { introspectionEndpoint, type IntrospectionDeps } from './introspection-endpoint.ts'
import { pushedRequestEndpoint, type PushedRequestDeps } from './pushed-request-endpoint.ts'
import { registrationEndpoint, type RegistrationDeps } from './registration-endpoint.ts'
import { revocationEndpoint, type RevocationDeps } from './revocation-endpoint.ts'
import { tokenEndpoint, type TokenDeps } from './token-endpoint.ts'
import { aliases, paths } from '../urls.ts'
import { userinfoEndpoint, type UserinfoDeps } from './userinfo-endpoint.ts'

/** An endpoint with its method and every path that leads to it. */
export type ProgramEndpoint = readonly [method: 'GET' | 'POST', places: readonly string[], endpoint: Endpoint]

/** Returns the endpoints for programs; those that people open in a browser are not among them. */
export function programEndpoints(
  deps: DiscoveryDeps &
    RegistrationDeps &
    PushedRequestDeps &
    TokenDeps &
    RevocationDeps &
    IntrospectionDeps &
    UserinfoDeps,
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
    ['POST', [paths.pushed], pushedRequestEndpoint(deps)],
    ['POST', [paths.token, aliases.token], tokenEndpoint(deps)],
    ['POST', [paths.revoke], revocationEndpoint(deps)],
    ['POST', [paths.introspect], introspectionEndpoint(deps)],
    ['GET', [paths.userinfo], userinfo],
    ['POST', [paths.userinfo], userinfo],
  ]
}
