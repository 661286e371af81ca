/** Around every request: who asks and under which id, whether there is room for it, and what is logged and counted of it. */
import type { BlockList } from 'node:net'
import type { Context, Middleware } from 'koa'
import { clientAddress, contains, networksOf } from './core/address.ts'
import type { Principal } from './core/principal.ts'
import { randomId } from './core/secrets.ts'
import { linesOf, type Settings } from './core/settings.ts'
import { probeHeader } from './doctor-probe.ts'
import { healthPaths } from './health-endpoint.ts'
import { promptMethodPrefix } from './library/prompt-methods-endpoint.ts'
import { aliases, paths } from './oauth/urls.ts'
import type { Services } from './services.ts'

type Needed = Pick<Services, 'site' | 'log' | 'metrics' | 'clock' | 'subscriptions' | 'probe'>

/** Gives the request its id, address and trace; refuses it when too many are in progress. Comes first of all. */
export function requests({ site, log, metrics, clock, subscriptions, probe }: Needed): Middleware {
  const trusted = trustedProxies(() => site.current().settings)
  return async (ctx, next) => {
    const began = clock.now()
    const requestId = randomId()
    ctx.state['requestId'] = requestId
    ctx.state['address'] = clientAddress(
      ctx.req.socket.remoteAddress ?? '',
      ctx.get('X-Forwarded-For'),
      trusted(),
    )
    const traceId = traceOf(ctx.get('traceparent'))
    if (traceId !== undefined) ctx.state['traceId'] = traceId
    ctx.set('X-Request-Id', requestId)
    ctx.set('X-Content-Type-Options', 'nosniff')
    metrics.inFlight++
    ctx.res.once('close', () => {
      metrics.inFlight--
      // 499 is what proxies write for a peer that left before the answer.
      const status = ctx.res.writableFinished ? ctx.res.statusCode : 499
      const milliseconds = clock.now() - began
      metrics.answered(endpointOf(ctx.path), methodOf(ctx.method), status, milliseconds / 1000)
      log.debug('request', { ...requestFields(ctx), status, milliseconds })
    })
    if (ctx.get(probeHeader) !== '' && (await probe.answer(ctx, isTrusted(ctx, trusted())))) return
    // Streams wait for hours and have a limit of their own.
    const busy =
      metrics.inFlight - subscriptions.size > site.current().settings.server.max_concurrent_requests
    if (!busy || healthPaths.has(ctx.path)) {
      await next()
      return
    }
    metrics.refused()
    ctx.set('Retry-After', '1')
    ctx.set('Connection', 'close')
    ctx.status = 503
    ctx.type = 'application/json'
    ctx.body = JSON.stringify({ error: 'unavailable', message: 'too many requests are in progress' })
  }
}

/** What every log line about a request says; never its query, body or credentials. */
export function requestFields(ctx: Context): Record<string, unknown> {
  const { requestId, traceId, address } = ctx.state as Record<string, string | undefined>
  const principal = ctx.state['principal'] as Principal | undefined
  return {
    request_id: requestId,
    ...(traceId !== undefined && { trace_id: traceId }),
    method: ctx.method,
    path: ctx.path.slice(0, 500),
    address,
    ...(principal && { user: principal.user }),
    ...(principal?.client && { client: principal.client.id }),
    ...(principal?.sessionId !== undefined && { session_id: principal.sessionId }),
  }
}

/** The trace id of a W3C `traceparent`; what is not one counts as absent (W3C Trace Context §3.2, §4.3). */
function traceOf(header: string): string | undefined {
  const match = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/.exec(header)
  const [, version, trace, parent, rest] = match ?? []
  if (trace === undefined || version === 'ff' || /^0+$/.test(trace) || /^0+$/.test(parent ?? ''))
    return undefined
  return version === '00' && rest !== undefined ? undefined : trace
}

/** Whether the peer of the connection is a trusted proxy. */
function isTrusted(ctx: Context, networks: BlockList): boolean {
  return contains(networks, (ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
}

/** The networks of the trusted proxies, worked out once for each reading of the settings. */
function trustedProxies(current: () => Settings): () => BlockList {
  const read = (settings: Settings): { settings: Settings; networks: BlockList } => ({
    settings,
    networks: networksOf(linesOf(settings.server.trusted_proxies)),
  })
  let known = read(current())
  return () => {
    const settings = current()
    if (known.settings !== settings) known = read(settings)
    return known.networks
  }
}

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

/** A few names for endlessly many paths: a label of metrics must not be the caller's to choose. */
function endpointOf(path: string): string {
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

function methodOf(method: string): string {
  return ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other'
}
