/** Authenticates calls to the resource server by `Authorization: Bearer` or `token KEY:SECRET` (specification §5.1–5.6). */
import { isDeepStrictEqual } from 'node:util'
import { BareExchange, type Exchange, type Guard } from '#front/exchange.ts'
import { AppError } from '#leaf/errors.ts'
import { readNarrowing } from '../core/narrowing.ts'
import { assistantUser, hasRole, sessionIdOf, type WholePrincipal } from '../core/principal.ts'
import { type Soon, soon } from '#leaf/soon.ts'
import type { User } from '../users/people.ts'
import { answerJson, originOf, traceOf } from '#ui/requests.ts'
import { type Base, keptBases } from './acting.ts'
import { descriptionText } from './protocol.ts'
import type { Budget, RateLimits } from './rate-limits.ts'
import { isAllowedFrom, rememberedToken, type Usable, usableToken } from './tokens/usable-token.ts'
import { paths } from './urls.ts'
import type { Parts } from './parts.ts'

/** The dependencies of the bearer check. */
export type BearerDeps = Parts<
  'settings' | 'people' | 'publicUrl' | 'clientLimits' | 'tokens' | 'apiKeys' | 'usage' | 'limits' | 'log'
>

type Origin = ReturnType<typeof originOf>

/** The proven credentials of a request. */
interface Proof {
  readonly user: User
  readonly client?: { readonly id: string; readonly name: string }
  readonly apiKey?: string
  readonly scopes: readonly string[]
  readonly readOnly?: true
  readonly expiresAt?: number
  /** The key under which its use is counted. */
  readonly usage: string
  /** The digest of a token, by which others know it again. */
  readonly digest?: string
}

/** Ends a request that was let in early, and that the guard has answered by now. */
class Answered extends Error {}

/**
 * Sets `ctx.state.principal`, or answers 401, 403 or 429 and goes no further. A call whose token was valid when this daemon
 * last looked is let in at once, while the state is asked again: what it shows waits for `principal.proven`.
 */
export function bearer(deps: BearerDeps): Guard {
  const baseFor = keptBases(deps.clientLimits)
  return (ctx, next) => {
    const { address } = originOf(ctx)
    const checked = soon(prove(ctx, address, deps), (found) =>
      'fault' in found ? refuse(ctx, deps, found.fault) : found,
    )
    const early = checked instanceof Promise ? presume(ctx, address, deps) : undefined
    const presumed = early && baseFor(early.user, early.client?.id)
    if (early?.user.assistantEnabled === true && presumed && hasRole(presumed, assistantUser))
      return letIn(ctx, deps, early, presumed, { next, checked: checked as Promise<Proof | undefined> })
    return soon(withinBudgetOf(ctx, deps, checked), (proof) => {
      if (!proof) return undefined
      const { user } = proof
      if (!user.assistantEnabled)
        return forbid(ctx, deps, user, 'assistant access is not enabled for this user')
      const base = baseFor(user, proof.client?.id)
      if (!hasRole(base, assistantUser))
        return forbid(ctx, deps, user, `the user lacks the role ${assistantUser}`)
      if (!enter(ctx, deps, proof, base)) return undefined
      deps.usage.count(proof.usage, address)
      return next()
    })
  }
}

/** Lets a request in by what is remembered of its token, before that is checked. */
async function letIn(
  ctx: Exchange,
  deps: BearerDeps,
  early: Proof,
  base: Base,
  { next, checked }: { readonly next: () => Soon<unknown>; readonly checked: Promise<Proof | undefined> },
): Promise<void> {
  const confirmed = async (): Promise<void> => {
    const proof = await checked
    if (!proof) throw new Answered()
    if (!isDeepStrictEqual(proof, early))
      throw new AppError('unavailable', 'what the access token allows has changed meanwhile; try again')
    deps.usage.count(proof.usage, originOf(ctx).address)
  }
  const proven = confirmed()
  proven.catch(() => undefined)
  try {
    const isIn = (await withinBudgetOf(ctx, deps, early)) && enter(ctx, deps, early, base, proven)
    if (!isIn) return await proven
    await next()
  } catch (error) {
    if (!(error instanceof Answered)) throw error
  }
}

/** Returns the proof while its budget lasts; answers 429 when that is used up. */
function withinBudgetOf(
  ctx: Exchange,
  { limits }: BearerDeps,
  proven: Soon<Proof | undefined>,
): Soon<Proof | undefined> {
  return soon(
    proven,
    (proof) =>
      proof &&
      soon(withinBudget(ctx, limits, 'mcp', whose(proof)), (isWithin) => (isWithin ? proof : undefined)),
  )
}

/** Sets the principal; answers 400, and returns false, for a request that asks for tools in no form of ours. */
function enter(
  ctx: Exchange,
  { limits }: BearerDeps,
  proof: Proof,
  base: Base,
  proven?: Promise<void>,
): boolean {
  const narrowing = readNarrowing(ctx.req)
  if (typeof narrowing === 'string') {
    answerJson(ctx, 400, { error: 'invalid_request', message: narrowing })
    return false
  }
  const origin = originOf(ctx)
  ctx.state['presented'] = proof.digest
  const pay = (milliseconds: number): void =>
    limits.pay('mcp', { address: origin.address, key: whose(proof) }, milliseconds)
  ctx.state['principal'] = principalOf(ctx, origin, proof, base, { narrowing, pay, proven })
  return true
}

function whose({ user, client }: Proof): string {
  return `${user.id} ${client?.id ?? ''}`
}

/** Makes the principal; each field is written out, as spreading would cost ten times as much. */
function principalOf(
  ctx: Exchange,
  origin: Origin,
  proof: Proof,
  base: Base,
  { narrowing, pay, proven }: Pick<WholePrincipal, 'narrowing' | 'pay' | 'proven'>,
): WholePrincipal {
  return {
    user: base.user,
    fullName: base.fullName,
    roles: base.roles,
    roleKey: base.roleKey,
    language: undefined,
    toolLimit: base.toolLimit,
    client: proof.client,
    apiKey: proof.apiKey,
    scopes: proof.scopes,
    readOnly: proof.readOnly,
    narrowing,
    sessionId: sessionIdOf(ctx.req.headers['mcp-session-id']),
    requestId: origin.request_id,
    trace: traceOf(ctx),
    address: origin.address,
    expiresAt: proof.expiresAt,
    shown: undefined,
    pay,
    proven,
  }
}

/** Takes one request from a budget; answers 429 and returns false when the budget is used up. */
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
  return soon(usableToken(text, address, deps), proofOf)
}

/** Returns what is remembered of a token that was valid, for a program's request. */
function presume(ctx: Exchange, address: string, deps: BearerDeps): Proof | undefined {
  const [, text] = /^bearer +(\S+)$/i.exec(ctx.get('Authorization')) ?? []
  if (text === undefined || !(ctx instanceof BareExchange)) return undefined
  const found = proofOf(rememberedToken(text, address, deps))
  return 'fault' in found ? undefined : found
}

function proofOf(found: Usable): Proof | { fault: string } {
  if ('fault' in found) return found
  const { token, user } = found
  return {
    user,
    client: { id: token.client, name: token.clientName },
    scopes: token.scopes,
    readOnly: token.readOnly,
    expiresAt: token.expiresAt,
    usage: token.family,
    digest: token.hash,
  }
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
    apiKey: key.id,
    scopes: ['all'],
    ...(key.expiresAt !== undefined && { expiresAt: key.expiresAt }),
    usage: `key:${key.id}`,
  }
}

/** Answers 401, which always has this one shape (specification §5.5). The reason is logged; the token never is. */
function refuse(ctx: Exchange, deps: BearerDeps, why: string): undefined {
  const { server, oauth } = deps.settings()
  const challenge = {
    realm: server.name,
    error: 'invalid_token',
    error_description: descriptionText(why),
    // A site that does not publish the metadata has nothing to point at.
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
