/** Around every request: who asks and under which id, whether there is room for it, and what is logged and counted of it. */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Middleware } from 'koa'
import { clientAddress, networkKey, networksOf, type Networks } from '../core/address.ts'
import type { Clock } from '../core/clock.ts'
import type { Exchange, Guard } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import { guardBody, hasBody } from '../core/request-body.ts'
import { briefId, sha256 } from '../core/secrets.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import { readTraceContext, type Span, type TraceContext, type Tracer } from '../core/trace-context.ts'
import type { HeldConnections } from './held-connections.ts'
import { probeHeader, type DoctorProbe } from './doctor-probe.ts'
import { healthPaths } from './health-endpoint.ts'
import type { Leaving } from './leaving.ts'
import type { WaitingLine } from './waiting-line.ts'
import type { Metrics } from './metrics.ts'
import type { TakenPlace, Places } from './places.ts'
import { promptMethodPrefix } from '../library/prompt-methods-endpoint.ts'
import { aliases, paths } from '../oauth/urls.ts'

interface Needed {
  readonly log: Log
  readonly metrics: Metrics
  readonly clock: Clock
  /** How many streams are open. */
  readonly subscriptions: { readonly size: number }
  readonly places: Places
  readonly leaving: Leaving
  /** The proxies that are believed. */
  readonly trusted: () => Networks
  readonly tracing: Tracer | undefined
  /** Hears of each request that is refused. */
  readonly tell: (fields: { request_id: string }) => void
}

/** Gives the request its id, address and trace; refuses it when too many are in progress. Comes first of all. */
export function requests(needed: Needed): Guard {
  const { log, metrics, clock, tracing, leaving, trusted } = needed
  return (ctx, next) => {
    const began = clock.now()
    const requestId = briefId()
    ctx.state['requestId'] = requestId
    ctx.state['address'] = clientAddress(
      ctx.req.socket.remoteAddress ?? '',
      ctx.get('X-Forwarded-For'),
      trusted(),
    )
    const asked = readTraceContext(ctx.req.headers['traceparent'], ctx.req.headers['tracestate'])
    const always = healthPaths.has(ctx.path)
    const span = tracing && !always ? spanOf(ctx, tracing, asked) : undefined
    const trace = span?.context ?? asked
    if (trace) ctx.state['trace'] = trace
    ctx.set('X-Request-Id', requestId)
    ctx.set('X-Content-Type-Options', 'nosniff')
    metrics.inFlight++
    leaving.add(ctx.res)
    ctx.res.once('close', () => {
      metrics.inFlight--
      leaving.remove(ctx.res)
      needed.places.arrived(ctx)
      ;(ctx.state['place'] as TakenPlace | undefined)?.leave()
      // 499 is what proxies write for a peer that left before the answer.
      const status = ctx.res.writableFinished ? ctx.res.statusCode : 499
      const milliseconds = clock.now() - began
      metrics.answered(endpointOf(ctx.path), methodOf(ctx.method), status, milliseconds / 1000)
      span?.set({ 'http.response.status_code': status })
      span?.end(status >= 500 || status === 499 ? String(status) : undefined)
      log.debug('request', () => ({ ...requestFields(ctx), status, milliseconds }))
    })
    if (always) return next()
    if (leaving.refuses) return Promise.resolve(refuse(ctx, 503, 'the service is stopping'))
    return withPlace(ctx, needed, next)
  }
}

/** Answers what `doctor` sends through the public address. */
export function doctorProbes(probe: DoctorProbe, trusted: () => Networks): Middleware {
  return async (ctx, next) => {
    if (ctx.get(probeHeader) !== '' && (await probe.answer(ctx, isTrusted(ctx, trusted())))) return
    await next()
  }
}

/** A request without a body takes its place at once, any other when its body is there and before it is worked on. */
async function withPlace(
  ctx: Exchange,
  { places, metrics, subscriptions, tell }: Needed,
  next: () => Promise<unknown>,
): Promise<void> {
  if (repeatsCredential(ctx.req.rawHeaders))
    return refuse(ctx, 400, 'a credential header came more than once')
  const network = networkKey(String(ctx.state['address']))
  const turnAway = (status: 408 | 503): void => {
    metrics.refused()
    tell({ request_id: String(ctx.state['requestId']) })
    refuse(
      ctx,
      status,
      status === 503 ? 'too many requests are in progress' : 'the body did not come in time',
    )
  }
  const take = (): boolean => {
    // Streams wait for hours and have a limit of their own.
    const place = places.take(network, ctx.state['principal'] !== undefined, subscriptions.size)
    if (!place) turnAway(503)
    ctx.state['place'] = place
    places.arrived(ctx)
    return place !== undefined
  }
  if (ctx.method !== 'POST' || !hasBody(ctx.req)) {
    if (take()) await next()
    return
  }
  const { socket } = ctx.req
  const before = socket.bytesRead
  places.arrive(ctx, { received: () => socket.bytesRead - before, turnAway })
  guardBody(ctx, take)
  await next()
  // Answered before its body was there: the rest of it is not waited for.
  if (!ctx.req.complete) ctx.set('Connection', 'close')
}

/** Whoever asks is known by a token or session that works: such work has places in reserve, and is its user's in the line. */
export function knownCaller(
  { state, req }: Pick<Exchange, 'state' | 'req'>,
  { line, connections }: { readonly line: WaitingLine; readonly connections: HeldConnections },
): void {
  ;(state['place'] as TakenPlace | undefined)?.isKnown()
  const { user } = state['principal'] as Principal
  line.know((state['presented'] as string | undefined) ?? presentedBy(req), user)
  connections.know(req.socket, user)
}

/** What says who asks, as a digest: nothing secret is kept to know it by. That of a bearer token is the one that it is found by. */
function presentedBy({ headers }: IncomingMessage): string {
  return sha256((headers.authorization ?? headers.cookie ?? '').replace(/^bearer +/i, ''))
}

/** Begins each request when it is its turn, or tells its sender to come again: before it is looked at, since that must cost little. */
export function lined(
  needed: Pick<Needed, 'leaving' | 'metrics' | 'trusted' | 'tell'> & { readonly line: WaitingLine },
  listener: RequestListener,
): RequestListener {
  const { line, leaving, metrics, trusted, tell } = needed
  return (request, response) => {
    if (line.isFree()) return listener(request, response)
    const path = (request.url ?? '').split('?', 1)[0]!
    if (healthPaths.has(path)) return listener(request, response)
    const { socket } = request
    const caller = callerOf(request, line, trusted)
    const isShared = isTrusted({ req: request }, trusted())
    // Whoever waits is waited for when the daemon stops.
    leaving.add(response)
    response.once('close', () => {
      leaving.remove(response)
      // A proxy's connection brings what others ask next.
      if (!isShared) line.answered(caller, socket)
    })
    const begin = (): void => listener(request, response)
    const refuse = (): void => {
      const requestId = briefId()
      metrics.shed(endpointOf(path), methodOf(request.method ?? ''))
      tell({ request_id: requestId })
      // What of it has not come by now is not waited for.
      const headers = request.complete ? comeAgain : goAway
      response.writeHead(503, { ...headers, 'X-Request-Id': requestId }).end(refusedInLine)
    }
    line.wait(caller, { begin, refuse, socket })
  }
}

/** Whose line a request belongs in: its user's where that is known, otherwise its network's. */
function callerOf(request: IncomingMessage, line: WaitingLine, trusted: () => Networks): string {
  const user = line.userOf(presentedBy(request))
  if (user !== undefined) return `user ${user}`
  const forwarded = request.headers['x-forwarded-for']
  return networkKey(
    clientAddress(request.socket.remoteAddress ?? '', forwarded && String(forwarded), trusted()),
  )
}

const refusedInLine = JSON.stringify({ error: 'unavailable', message: 'too many requests are in progress' })
const comeAgain = {
  'Content-Type': 'application/json',
  'Content-Length': refusedInLine.length,
  'Retry-After': '1',
  'X-Content-Type-Options': 'nosniff',
}
const goAway = { ...comeAgain, Connection: 'close' }

/** Which of two credentials counts is read differently by others on the way. */
function repeatsCredential(rawHeaders: readonly string[]): boolean {
  let [authorization, cookie] = [0, 0]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length === 13 && name.toLowerCase() === 'authorization') authorization++
    else if (name.length === 6 && name.toLowerCase() === 'cookie') cookie++
  }
  return authorization > 1 || cookie > 1
}

const refusals = { 400: 'invalid_request', 408: 'timeout', 503: 'unavailable' } as const

/** Answers beside the middleware, which may still be waiting for the body. */
function refuse({ res, state }: Exchange, status: keyof typeof refusals, message: string): void {
  if (res.headersSent) return void res.destroy()
  const wait = status === 400 ? {} : { 'Retry-After': '1' }
  const headers = { 'Content-Type': 'application/json', 'X-Request-Id': String(state['requestId']) }
  res.writeHead(status, { ...headers, Connection: 'close', ...wait })
  res.end(JSON.stringify({ error: refusals[status], message }))
}

/** What every log line about a request says; never its query, body or credentials. */
export function requestFields(ctx: Pick<Exchange, 'state' | 'method' | 'path'>): Record<string, unknown> {
  const { requestId, address } = ctx.state as Record<string, string | undefined>
  const { trace } = ctx.state as { trace?: TraceContext }
  const principal = ctx.state['principal'] as Principal | undefined
  return {
    request_id: requestId,
    ...(trace && { trace_id: trace.traceId }),
    method: ctx.method,
    path: ctx.path.slice(0, 500),
    address,
    ...(principal && { user: principal.user }),
    ...(principal?.client && { client: principal.client.id }),
    ...(principal?.sessionId !== undefined && { session_id: principal.sessionId }),
  }
}

/** OpenTelemetry's semantic conventions for HTTP servers; the path as its endpoint's name, because it may hold ids. */
function spanOf(ctx: Exchange, tracing: Tracer, parent: TraceContext | undefined): Span {
  const [method, endpoint] = [methodOf(ctx.method), endpointOf(ctx.path)]
  return tracing.start(`${method} ${endpoint}`, {
    kind: 'server',
    parent,
    attributes: {
      'http.request.method': method,
      'http.route': endpoint,
      'client.address': String(ctx.state['address']),
      'assistant_core.request_id': String(ctx.state['requestId']),
    },
  })
}

/** Whether the peer of the connection is a trusted proxy. */
function isTrusted(ctx: Pick<Exchange, 'req'>, networks: Networks): boolean {
  return networks.contains((ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
}

/** The networks of the trusted proxies, worked out once for each reading of the settings. */
export function trustedProxies(current: () => Settings): () => Networks {
  const read = (settings: Settings): { settings: Settings; networks: Networks } => ({
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
