/** Wraps every request: its caller and id, whether there is room for it, and what is logged and counted of it. */
import type { Middleware } from 'koa'
import { clientAddress, isTrusted, networkKey, networksOf, type Networks } from '#leaf/address.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError, httpStatusOf } from '#leaf/errors.ts'
import type { Exchange, Guard } from '#front/exchange.ts'
import type { Log } from '#leaf/log.ts'
import type { Principal } from '../core/principal.ts'
import { Gone, guardBody, hasBody } from '#front/request-body.ts'
import { briefId } from '#leaf/secrets.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import type { Soon } from '#leaf/soon.ts'
import { readTraceContext, type Span, type TraceContext, type Tracer } from '#telemetry/trace-context.ts'
import { probeHeader, type DoctorProbe } from './doctor-probe.ts'
import { healthPaths } from './health-endpoint.ts'
import type { Leaving, LineEdges, TakenPlace, Places } from '#front/front.ts'
import type { Metrics } from './metrics.ts'
import { answerJson } from '#ui/requests.ts'
import { endpointOf, methodOf } from './endpoint-names.ts'

interface Needed {
  readonly log: Log
  readonly metrics: Metrics
  readonly clock: Clock
  /** The number of open streams. */
  readonly subscriptions: { readonly size: number }
  readonly places: Places
  readonly leaving: Leaving
  /** The proxies that are trusted. */
  readonly trusted: () => Networks
  readonly tracing: Tracer | undefined
}

/** The hooks that requests report through. */
export interface RequestsTold {
  /** Receives each request that is refused. */
  readonly tell: (fields: { request_id: string }) => void
  /** True when a path belongs to the pages, which metrics and traces call by one name. */
  readonly isOfPages: (path: string) => boolean
}

/** Tells the line in front which requests skip it, and counts and reports those that it refuses. */
export function linedBy({ metrics }: Pick<Needed, 'metrics'>, { tell, isOfPages }: RequestsTold): LineEdges {
  return {
    isUnlined: (path) => healthPaths.has(path),
    refused: ({ path, method, requestId }) => {
      metrics.shed(endpointOf(path, isOfPages), methodOf(method))
      tell({ request_id: requestId })
    },
  }
}

/** Gives the request its id, address and trace; refuses it when too many are in progress. Runs before all else. */
export function requests(needed: Needed, told: RequestsTold): Guard {
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
    const endpoint = endpointOf(ctx.path, told.isOfPages)
    const span = tracing && !always ? spanOf(ctx, endpoint, tracing, asked) : undefined
    const trace = span?.context ?? asked
    if (trace) ctx.state['trace'] = trace
    ctx.set('X-Request-Id', requestId)
    ctx.set('X-Content-Type-Options', 'nosniff')
    metrics.inFlight++
    leaving.add(ctx.res)
    ctx.res.on('close', () => {
      metrics.inFlight--
      leaving.remove(ctx.res)
      needed.places.arrived(ctx)
      ;(ctx.state['place'] as TakenPlace | undefined)?.leave()
      // Proxies write 499 for a peer that left before the answer.
      const status = ctx.res.writableFinished ? ctx.res.statusCode : 499
      const milliseconds = clock.now() - began
      metrics.answered(endpoint, methodOf(ctx.method), status, milliseconds / 1000)
      span?.set({ 'http.response.status_code': status })
      span?.end(status >= 500 || status === 499 ? String(status) : undefined)
      log.debug('request', () => ({ ...requestFields(ctx), status, milliseconds }))
    })
    if (leaving.refuses && !always) return refuse(ctx, 503, 'the service is stopping')
    return answered(ctx, needed, told, next, always)
  }
}

/** Answers the probes that `doctor` sends through the public address. */
export function doctorProbes(probe: DoctorProbe, trusted: () => Networks): Middleware {
  return async (ctx, next) => {
    if (ctx.get(probeHeader) !== '' && (await probe.answer(ctx, isTrusted(ctx.req.socket, trusted())))) return
    await next()
  }
}

/** Answers a request once there is room for it, and the errors that nothing below answered. */
async function answered(
  ctx: Exchange,
  needed: Needed,
  told: RequestsTold,
  next: () => Soon<unknown>,
  always: boolean,
): Promise<void> {
  try {
    if (!always && !isLetIn(ctx, needed, told)) return
    await next()
    // Answered before its body arrived: the rest of it is not awaited.
    if (!ctx.req.complete && isSending(ctx)) ctx.set('Connection', 'close')
  } catch (error) {
    if (!(error instanceof Gone)) answerFault(ctx, error, needed.log)
  }
}

/** Gives a request its place: one without a body at once, any other when its body is there and before it is worked on. */
function isLetIn(ctx: Exchange, { places, metrics, subscriptions }: Needed, { tell }: RequestsTold): boolean {
  if (repeatsCredential(ctx.req.rawHeaders)) {
    refuse(ctx, 400, 'a credential header came more than once')
    return false
  }
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
    const place = places.take(network, userOf(ctx), subscriptions.size)
    if (!place) turnAway(503)
    ctx.state['place'] = place
    places.arrived(ctx)
    return place !== undefined
  }
  if (!isSending(ctx)) return take()
  const { socket } = ctx.req
  const before = socket.bytesRead
  // Timed from when the body is read, not while something else is awaited: that would be reported as the client's fault.
  const awaited = (): void =>
    places.arrive(ctx, {
      holder: userOf(ctx) ?? network,
      received: () => socket.bytesRead - before,
      turnAway,
    })
  const turn = (bytes: number): Promise<void> | undefined => {
    const caller = userOf(ctx) ?? network
    if (!places.largeBodies.isFull(caller, bytes)) return places.largeBodies.turn(caller, bytes)
    turnAway(503)
    return Promise.reject(new Gone())
  }
  guardBody(ctx, { awaited, enter: take, turn })
  return true
}

function userOf(ctx: Exchange): string | undefined {
  return (ctx.state['principal'] as Principal | undefined)?.user
}

/** True when the request has a body that is read before the request is worked on. */
function isSending({ method, req }: Exchange): boolean {
  return method === 'POST' && hasBody(req)
}

/** True when a credential header repeats: others on the way may read a different one of the two. */
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

/** Refuses a request past the middleware, which may still be waiting for the body. */
function refuse({ res, state }: Exchange, status: keyof typeof refusals, message: string): void {
  if (res.headersSent) return void res.destroy()
  const wait = status === 400 ? {} : { 'Retry-After': '1' }
  const headers = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' }
  const id = { 'X-Request-Id': String(state['requestId']) }
  res.writeHead(status, { ...headers, ...id, Connection: 'close', ...wait })
  res.end(JSON.stringify({ error: refusals[status], message }))
}

/** Answers an error that nothing below answered. */
function answerFault(ctx: Exchange, error: unknown, log: Log): void {
  const requestId = String(ctx.state['requestId'])
  // Headers prepared for the failed answer must not leave with this one.
  for (const name of Object.keys(ctx.response.headers))
    if (!/^(access-control-|vary$|x-content-type|x-request-id)/i.test(name)) ctx.remove(name)
  if (error instanceof AppError) {
    const status = httpStatusOf(error)
    if (error.code === 'unavailable') ctx.set('Retry-After', String(error.retryAfter ?? 5))
    return answerJson(ctx, status, { error: error.code, message: error.message })
  }
  log.error('request failed', { ...requestFields(ctx), error })
  return answerJson(ctx, 500, { error: 'server_error', message: 'internal error', request_id: requestId })
}

/** Returns the fields of every log line about a request; never its query, body or credentials. */
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

/** Starts a span by OpenTelemetry's conventions for HTTP servers; with the endpoint's name, since a path may hold ids. */
function spanOf(ctx: Exchange, endpoint: string, tracing: Tracer, parent: TraceContext | undefined): Span {
  const method = methodOf(ctx.method)
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

/** Returns the networks of the trusted proxies, computed once for each reading of the settings. */
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
