/**
 * The one MCP endpoint (specification §4.5): POST of a JSON-RPC message, in whatever revision. Order of checks: method,
 * media type and size, JSON, envelope, method of the revision; then the method's own. Two guards ran before. A fault is
 * thrown where it is known and shaped here, where it leaves.
 */
import { AppError, Cancelled, peerMessageOf } from '../core/errors.ts'
import { BareExchange, type Exchange } from '../core/exchange.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import { BodyTooLarge, Gone } from '../core/request-body.ts'
import { Stop } from '../core/stop.ts'
import type { Span, Tracer } from '../core/trace-context.ts'
import { bodyText, parseBody, readBytes } from './body.ts'
import type { Call, McpDeps, Reply } from './call.ts'
import { Channel } from './channel.ts'
import { type Addressee, addresseeOf, type Envelope, readEnvelope, type RequestEnvelope } from './envelope.ts'
import { errorCodes, isObject, JsonRpcError, written } from './json-rpc.ts'
import { Pages } from './lists.ts'
import { type Method, type MethodDeps, findMethod } from './methods.ts'
import { preferred } from './revisions.ts'
import { LogLevels, type RunningCalls } from './running.ts'
import { readSession } from './session.ts'
import { shapeResult } from './shape.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { SuspendedCalls } from './suspended-calls.ts'
import type { Tasks } from './tasks.ts'

/** What the daemon keeps a hand on besides: it tells `subscriptions` of reloads, ends `running` calls, and the pages decide what is `suspended`. */
export interface EndpointDeps extends McpDeps {
  readonly running: RunningCalls
  readonly subscriptions: Subscriptions
  readonly suspended: SuspendedCalls
  readonly tasks: Tasks
}

type Kept = EndpointDeps & MethodDeps

const never = new Stop()

/** Answers every request on the MCP path; it writes the response itself, which is worth a third of the speed. */
export function mcpEndpoint(deps: EndpointDeps): (exchange: Exchange) => Promise<void> {
  const kept = { ...deps, pages: new Pages(deps.key, deps.version), logLevels: new LogLevels() }
  return (exchange) => {
    const headers = exchange instanceof BareExchange ? exchange.headers : {}
    return serve(exchange, new Channel(exchange.req, exchange.res, headers), kept)
  }
}

/** One request from its bytes to its answer. */
async function serve(ctx: Exchange, channel: Channel, deps: Kept): Promise<void> {
  const { headers } = ctx.req
  const principal = ctx.state['principal'] as Principal
  const snapshot = deps.snapshot(principal)
  let to: Addressee = { id: null, revision: preferred }
  let work: Work | undefined
  try {
    if (ctx.method !== 'POST') return openStream(ctx, principal, channel, deps)
    const text = bodyText(await readBytes(ctx, snapshot.settings.server.max_body_bytes))
    const body = parseBody(text)
    to = addresseeOf(body, headers)
    const { sessionId } = principal
    const message = readEnvelope(body, headers, () =>
      sessionId === undefined ? undefined : readSession(deps.key, principal, sessionId),
    )
    const modern = message.kind !== 'response' && message.revision.modern
    // Modern revisions have no sessions: the header means nothing.
    if (!modern && sessionId === undefined && headers['mcp-session-id'] !== undefined) throw badSession()
    if (message.kind !== 'request') return await accept(message, principal, channel, deps)
    to = message
    // What the message says is nearer to the work than what its transport says.
    if (message.trace) ctx.state['trace'] = message.trace
    if (!modern && sessionId !== undefined) channel.header('Mcp-Session-Id', sessionId)
    const method = methodFor(message, channel, deps)
    work = begin(message, method, modern ? withoutSession(principal) : principal, channel, deps)
    const call = callOf(message, work, { snapshot, headers, channel, text })
    const replied = method.handle(call, deps)
    const reply = replied instanceof Promise ? await replied : replied
    if (isCancelled(call.stop)) channel.end(202)
    else if (reply !== undefined)
      channel.finish(200, serialise(call, reply, method.caching === true, deps.version))
  } catch (error) {
    work?.failed(error)
    if (work && isCancelled(work.stop)) return channel.end(202)
    fail(error, to, channel, deps, ctx.state['requestId'])
  } finally {
    work?.done()
  }
}

/** Written out: two objects spread into a third cost more than the rest of a ping. */
function callOf(
  { revision, id, method, params, capabilities, progressToken, logLevel }: RequestEnvelope,
  { principal, stop }: Work,
  { snapshot, headers, channel, text }: Pick<Call, 'snapshot' | 'headers' | 'channel' | 'text'>,
): Call {
  return {
    revision,
    id,
    method,
    params,
    principal,
    snapshot,
    headers,
    capabilities,
    progressToken,
    logLevel,
    stop,
    channel,
    text,
  }
}

/** MCP, cancellation: what was cancelled is not answered. A stream just ends; where nothing was sent, 202 is what clients take. */
function isCancelled({ reason }: Stop): boolean {
  return reason instanceof Cancelled
}

/** The method that the message names; nothing is done that cannot be told: a full disk makes the service unavailable, not silent. */
function methodFor({ revision, method: name }: RequestEnvelope, channel: Channel, { audit }: Kept): Method {
  const method = findMethod(revision, name)
  if (!method) {
    const shown = JSON.stringify(name.slice(0, 128))
    throw new JsonRpcError(errorCodes.methodNotFound, `method not found: ${shown}`)
  }
  if (!method.audited) return method
  try {
    // The gate asks again for tools that change something.
    audit.requireWritable(true)
    return method
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    channel.header('Retry-After', '5')
    throw new JsonRpcError(errorCodes.internal, error.message, { status: 503 })
  }
}

/** A request that is being answered. */
interface Work {
  readonly principal: Principal
  /** Ended when the client is gone (modern) or says so (legacy). */
  readonly stop: Stop
  failed(error: unknown): void
  done(): void
}

/** Begins a request: its span, and for a long one what can end it early. */
function begin(
  message: RequestEnvelope,
  method: Method,
  speaker: Principal,
  channel: Channel,
  { running, tracing }: Kept,
): Work {
  const span = tracing && spanOf(message, speaker, tracing)
  const trace = span?.context ?? message.trace ?? speaker.trace
  const principal = trace ? { ...speaker, trace } : speaker
  const stop = method.long ? new Stop() : undefined
  if (stop && message.revision.disconnectCancels)
    channel.onClose(() => {
      if (!channel.finished) stop.end(new Cancelled(false))
    })
  const leave = stop && running.add(principal, message.id, stop)
  let fault: string | undefined
  return {
    principal,
    stop: stop ?? never,
    failed: (error) => {
      fault = error instanceof JsonRpcError ? String(error.code) : 'exception'
    },
    done: () => {
      leave?.()
      span?.end(fault)
    },
  }
}

/** OpenTelemetry's semantic conventions for MCP: under the client's span if it named one, linked to that of the HTTP request. */
function spanOf(
  { revision, id, method, params, trace }: RequestEnvelope,
  principal: Principal,
  tracing: Tracer,
): Span {
  const named = params['name'] ?? params['uri']
  const target = typeof named === 'string' ? named.slice(0, 128) : undefined
  return tracing.start(target === undefined ? method : `${method} ${target}`, {
    kind: 'server',
    parent: trace ?? principal.trace,
    link: trace && principal.trace,
    attributes: {
      'mcp.method.name': method,
      'mcp.protocol.version': revision.name,
      'jsonrpc.request.id': String(id),
      'user.id': principal.user,
      ...(principal.client && { 'assistant_core.client_id': principal.client.id }),
      ...(principal.sessionId !== undefined && { 'mcp.session.id': principal.sessionId }),
    },
  })
}

/** The whole JSON-RPC answer; lists come as bytes that were made before. */
function serialise(call: Call, reply: Reply, caching: boolean, version: string): string | Buffer {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},"result":`
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(head), reply, Buffer.from('}')])
  const result = shapeResult(call, reply, version, caching && reply['resultType'] === undefined)
  return `${head}${written(result)}}`
}

/** Notifications and answers to our own questions get no answer, whatever they say. */
async function accept(
  message: Exclude<Envelope, RequestEnvelope>,
  principal: Principal,
  channel: Channel,
  { running, suspended }: Kept,
): Promise<void> {
  if (message.kind === 'notification') {
    if (message.method === 'notifications/cancelled')
      await running.cancel(principal, message.params['requestId'])
  } else if (isObject(message.result))
    await suspended.answer(principal, message.id, 'answered', message.result)
  else await suspended.answer(principal, message.id, 'denied', isObject(message.error) ? message.error : {})
  channel.end(202)
}

/** GET is a legacy event stream where the site allows it; everything else but POST is refused. */
function openStream(
  { method }: Exchange,
  principal: Principal,
  channel: Channel,
  { snapshot, subscriptions }: Kept,
): void {
  const { legacy_streams: streams } = snapshot(principal).settings.mcp
  if (method !== 'GET' || !streams || !channel.open) {
    channel.header('Allow', streams ? 'GET, POST, OPTIONS' : 'POST, OPTIONS')
    throw transportError(405, `method ${method} is not allowed here; use POST`)
  }
  if (!subscriptions.hasRoom(principal)) throw transportError(429, 'too many open streams for this user')
  channel.begin()
  subscriptions.openLegacy(principal, channel)
}

/** The one table from faults to what the peer sees. */
function fail(error: unknown, to: Addressee, channel: Channel, { log }: Kept, requestId: unknown): void {
  if (error instanceof Gone) return channel.end(400)
  const { code, message, data, status = to.revision.status(code) } = faultOf(error, log, requestId)
  if (status === 413) channel.header('Connection', 'close')
  const shown = { code, message, ...(data !== undefined && { data }) }
  channel.finish(status, JSON.stringify({ jsonrpc: '2.0', id: to.id, error: shown }))
}

/** What is not a protocol error already: our own words for a fault of the work, silence about a bug. */
function faultOf(error: unknown, log: Log, requestId: unknown): JsonRpcError {
  if (error instanceof JsonRpcError) return error
  if (error instanceof BodyTooLarge) return transportError(413, error.message)
  if (error instanceof AppError) {
    const code = error.code === 'unavailable' ? errorCodes.internal : errorCodes.invalidParams
    return new JsonRpcError(code, peerMessageOf(error), { data: error.data })
  }
  log.error('a request failed', { request_id: requestId, error })
  return new JsonRpcError(
    errorCodes.internal,
    `Internal error: see the server log for request ${String(requestId)}`,
  )
}

/** Refused before there is a message to answer. */
function transportError(status: number, message: string): JsonRpcError {
  return new JsonRpcError(errorCodes.invalidRequest, message, { status })
}

function badSession(): JsonRpcError {
  return transportError(400, 'the Mcp-Session-Id header must be visible ASCII of at most 128 characters')
}

function withoutSession(principal: Principal): Principal {
  if (principal.sessionId === undefined) return principal
  const { sessionId: _, ...rest } = principal
  return rest
}
