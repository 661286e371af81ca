/** Who calls the resource server: `Authorization: Bearer` or `token KEY:SECRET` (specification §5.1–5.6), made a Principal. */
import type { Exchange, Guard } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import {
  assistantUser,
  hasRole,
  roleKeyOf,
  sessionIdOf,
  type Principal,
  type WholePrincipal,
} from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import { type Soon, soon } from '../core/soon.ts'
import type { ApiKeys } from '../users/api-keys.ts'
import type { People, User } from '../users/people.ts'
import { answerJson, originOf, traceOf } from './http-middleware.ts'
import { descriptionText } from './protocol.ts'
import type { Budget, RateLimits } from './rate-limits.ts'
import type { Tokens } from './tokens.ts'
import { isAllowedFrom, usableToken } from './usable-token.ts'
import { paths } from './urls.ts'
import type { TokenUsage } from './usage.ts'

/** What the site allows a client, beyond what its user may: fewer roles, only some tools. */
export type ClientLimits = (
  clientId: string,
) => { readonly roles?: readonly string[]; readonly tools?: readonly string[] } | undefined

/** What the bearer check works with. */
export interface BearerDeps {
  readonly settings: () => Settings
  readonly people: () => People
  readonly publicUrl: () => string
  readonly clientLimits: ClientLimits
  readonly tokens: Tokens
  readonly apiKeys: ApiKeys
  readonly usage: TokenUsage
  readonly limits: RateLimits
  readonly log: Log
}

type Origin = ReturnType<typeof originOf>

/** What was presented, proven. */
interface Proof {
  readonly user: User
  readonly client?: { readonly id: string; readonly name: string }
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly expiresAt?: number
  /** What its use is counted under. */
  readonly usage: string
  /** The digest of a token, by which others know it again. */
  readonly digest?: string
}

/** Sets `ctx.state.principal`, or answers 401, 403 or 429 and goes no further. */
export function bearer(deps: BearerDeps): Guard {
  const baseFor = keptBases(deps.clientLimits)
  return (ctx, next) => {
    const origin = originOf(ctx)
    const proven = soon(prove(ctx, origin.address, deps), (proof) => {
      if ('fault' in proof) return refuse(ctx, deps, proof.fault)
      const whose = `${proof.user.id} ${proof.client?.id ?? ''}`
      return soon(withinBudget(ctx, deps.limits, 'mcp', whose), (isWithin) => (isWithin ? proof : undefined))
    })
    return soon(proven, (proof) => {
      if (!proof) return undefined
      const { user } = proof
      if (!user.assistantEnabled)
        return forbid(ctx, deps, user, 'assistant access is not enabled for this user')
      const base = baseFor(user, proof.client?.id)
      if (!hasRole(base, assistantUser))
        return forbid(ctx, deps, user, `the user lacks the role ${assistantUser}`)
      deps.usage.count(proof.usage)
      ctx.state['presented'] = proof.digest
      ctx.state['principal'] = principalOf(ctx, origin, proof, base)
      return next()
    })
  }
}

/** Written out, as spreading would cost ten times as much. */
function principalOf(ctx: Exchange, origin: Origin, proof: Proof, base: Base): WholePrincipal {
  return {
    user: base.user,
    fullName: base.fullName,
    roles: base.roles,
    roleKey: base.roleKey,
    toolLimit: base.toolLimit,
    client: proof.client,
    scopes: proof.scopes,
    readOnly: proof.readOnly,
    sessionId: sessionIdOf(ctx.req.headers['mcp-session-id']),
    requestId: origin.request_id,
    trace: traceOf(ctx),
    address: origin.address,
    expiresAt: proof.expiresAt,
    shown: undefined,
  }
}

/** Takes one request from a budget; false when it is used up, which is answered 429. */
export function withinBudget(ctx: Exchange, limits: RateLimits, budget: Budget, key: string): Soon<boolean> {
  return soon(limits.secondsToWait(budget, { address: originOf(ctx).address, key }), (wait) => {
    if (wait === 0) return true
    ctx.set('Retry-After', String(wait))
    answerJson(ctx, 429, {
      error: 'rate_limited',
      message: `too many requests; try again in ${wait} seconds`,
    })
    return false
  })
}

function prove(ctx: Exchange, address: string, deps: BearerDeps): Soon<Proof | { fault: string }> {
  const authorization = ctx.get('Authorization')
  if (authorization === '') return { fault: 'authentication is required' }
  const [, scheme, credentials] = /^(\S+) +(\S+)$/.exec(authorization) ?? []
  if (scheme?.toLowerCase() === 'bearer' && credentials !== undefined)
    return proveBearer(credentials, address, deps)
  if (scheme?.toLowerCase() === 'token' && credentials !== undefined)
    return proveApiKey(credentials, address, deps)
  return { fault: 'the Authorization header is not "Bearer ACCESS_TOKEN"' }
}

function proveBearer(text: string, address: string, deps: BearerDeps): Soon<Proof | { fault: string }> {
  return soon(usableToken(text, address, deps), (usable) => {
    if ('fault' in usable) return usable
    const { token, user } = usable
    return {
      user,
      client: { id: token.client, name: token.clientName },
      scopes: token.scopes,
      readOnly: token.readOnly,
      expiresAt: token.expiresAt,
      usage: token.family,
      digest: token.hash,
    }
  })
}

async function proveApiKey(
  text: string,
  address: string,
  deps: BearerDeps,
): Promise<Proof | { fault: string }> {
  const colon = text.indexOf(':')
  if (colon < 1) return { fault: 'the Authorization header is not "token API_KEY:API_SECRET"' }
  const checked = await deps.apiKeys.check(text.slice(0, colon), text.slice(colon + 1))
  if ('fault' in checked) return checked
  const { key } = checked
  if (!isAllowedFrom(key.addresses, address))
    return { fault: 'the access token may not be used from this address' }
  const user = deps.people().find(key.user)
  if (!user?.enabled) return { fault: 'the user of the access token is disabled' }
  return {
    user,
    scopes: ['all'],
    ...(key.expiresAt !== undefined && { expiresAt: key.expiresAt }),
    usage: `key:${key.id}`,
  }
}

/** Specification §5.5: the one shape of every 401. The reason is logged; the token never is. */
function refuse(ctx: Exchange, deps: BearerDeps, why: string): void {
  const { server, oauth } = deps.settings()
  const challenge = {
    realm: server.name,
    error: 'invalid_token',
    error_description: descriptionText(why),
    // Where the site does not publish it, there is nothing to point at.
    ...(oauth.show_protected_resource_metadata && {
      resource_metadata: deps.publicUrl() + paths.protectedResource,
    }),
  }
  const params = Object.entries(challenge).map(([name, value]) => `${name}="${value}"`)
  ctx.set('WWW-Authenticate', `Bearer ${params.join(', ')}`)
  ctx.set('Cache-Control', 'no-store')
  deps.log.info('bearer refused', { reason: why, ...originOf(ctx) })
  answerJson(ctx, 401, { error: 'invalid_token', message: why })
}

function forbid(ctx: Exchange, deps: BearerDeps, user: User, why: string): void {
  deps.log.info('bearer forbidden', { reason: why, user: user.id, ...originOf(ctx) })
  answerJson(ctx, 403, { error: 'forbidden', message: why })
}

/** A principal as it would be made now, for what outlives its request; undefined once the user may not use the service. */
export function currentPrincipal(
  deps: Pick<BearerDeps, 'people' | 'clientLimits'>,
  principal: Principal,
): Principal | undefined {
  const user = deps.people().find(principal.user)
  if (!user?.enabled || !user.assistantEnabled) return undefined
  const base = baseOf(user, principal.client && deps.clientLimits(principal.client.id))
  if (!hasRole(base, assistantUser)) return undefined
  const { toolLimit: _before, ...rest } = principal
  return { ...rest, ...base }
}

type Base = Pick<Principal, 'user' | 'fullName' | 'roles' | 'roleKey' | 'toolLimit'>

/** The part of principals that only changes with the site, worked out once for each reading of it. */
function keptBases(limitsOf: ClientLimits): (user: User, client?: string) => Base {
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

function baseOf(user: User, limits: ReturnType<ClientLimits>): Base {
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
