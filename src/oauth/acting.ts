/** What a user may do through a client: the part of a principal that no token decides. */
import { assistantUser, hasRole, roleKeyOf, type Principal } from '../core/principal.ts'
import type { People, User } from '../users/people.ts'

/** The limits that the site sets a client, beyond what its user may: fewer roles, only some tools. */
export type ClientLimits = (
  clientId: string,
) => { readonly roles?: readonly string[]; readonly tools?: readonly string[] } | undefined

/** Makes a principal anew, for work that outlives its request; undefined once the user may not use the service. */
export function currentPrincipal(
  deps: { readonly people: () => People; readonly clientLimits: ClientLimits },
  principal: Principal,
): Principal | undefined {
  const user = deps.people().find(principal.user)
  if (!user?.enabled || !user.assistantEnabled) return undefined
  const base = baseOf(user, principal.client && deps.clientLimits(principal.client.id))
  if (!hasRole(base, assistantUser)) return undefined
  const { toolLimit: _before, ...rest } = principal
  return { ...rest, ...base }
}

/** What of a principal changes only with the site. */
export type Base = Pick<Principal, 'user' | 'fullName' | 'roles' | 'roleKey' | 'toolLimit'>

/** Caches the part of principals that changes only with the site, worked out once for each reading of it. */
export function keptBases(limitsOf: ClientLimits): (user: User, client?: string) => Base {
  const users = new WeakMap<User, Map<string, { limits: ReturnType<ClientLimits>; base: Base }>>()
  return (user, client = '') => {
    const limits = client === '' ? undefined : limitsOf(client)
    let clients = users.get(user)
    if (!clients) users.set(user, (clients = new Map()))
    const known = clients.get(client)
    if (known && known.limits === limits) return known.base
    if (clients.size > 1000) clients.clear()
    const base = baseOf(user, limits)
    clients.set(client, { limits, base })
    return base
  }
}

/** Returns what a user may do through a client: the client's limits take roles and tools away, and never add any. */
export function baseOf(user: User, limits: ReturnType<ClientLimits>): Base {
  const allowed = limits?.roles
  const roles = allowed ? new Set([...user.roles].filter((role) => allowed.includes(role))) : user.roles
  return {
    user: user.id,
    fullName: user.fullName,
    roles,
    roleKey: roleKeyOf(roles),
    ...(limits?.tools && { toolLimit: limits.tools }),
  }
}
