/**
 * The one MCP endpoint (specification §4.5): POST of a JSON-RPC message, in any revision. Order of checks: method,
 * media type and size, JSON, envelope, method of the revision; then the method's own. Two guards ran before. Faults are
 * thrown where they are found, and turned into answers only here.
 */
import { AppError, Cancelled, peerMessageOf } from '#leaf/errors.ts'
import { BareExchange, type Exchange } from '#front/exchange.ts'
import type { Log } from '#leaf/log.ts'
import type { Principal } from '../core/principal.ts'
import { BodyTooLarge, Gone } from '#front/request-body.ts'
import { Stop } from '#leaf/stop.ts'
import type { Span, Tracer } from '#telemetry/trace-context.ts'
import type { WholeAnswers } from '#front/whole-answer.ts'
import { bodyText, parseBody, readBytes } from './body.ts'
import type { Call, McpSnapshot, Reply } from './call.ts'
import { Channel } from './streams/channel.ts'
import { type Addressee, addresseeOf, type Envelope, readEnvelope, type RequestEnvelope } from './envelope.ts'
import { isObject } from '#leaf/as-json.ts'
import { errorCodes, JsonRpcError, transportError, written } from './json-rpc.ts'
import type { KeptStreams } from './streams/kept-streams.ts'
import { type Method, type MethodDeps, findMethod } from './methods.ts'
import { preferred } from './revisions.ts'
import { openStream } from './streams/open-stream.ts'
import type { RunningCalls } from './running.ts'
import { readSession } from './session.ts'
import { shapeResult } from './shape.ts'

/** The dependencies of the endpoint: methods use some of them, and the daemon ends `running` calls. */
export interface EndpointDeps extends MethodDeps {
  readonly running: RunningCalls
  readonly kept: KeptStreams
  readonly answers: WholeAnswers
}

const never = new Stop()

/** Answers every request on the MCP path; it writes the response itself, which is worth a third of the speed. */
export function mcpEndpoint(deps: EndpointDeps): (exchange: Exchange) => Promise<void> {
  return (exchange) => {
    const headers = exchange instanceof BareExchange ? exchange.headers : {}
    return serve(exchange, new Channel(exchange.req, exchange.res, headers, deps.answers), deps)
  }
}

/** Serves one request from its bytes to its answer. */
async function serve(ctx: Exchange, channel: Channel, deps: EndpointDeps): Promise<void> {
  const { headers } = ctx.req
  const principal = ctx.state['principal'] as Principal
  const snapshot = deps.snapshot(principal)
  let to: Addressee = { id: null, revision: preferred }
  let work: Work | undefined
  try {
    if (ctx.method !== 'POST') {
      await principal.proven
      return await openStream(ctx, principal, channel, deps)
    }
    const sent = readBytes(ctx, snapshot.settings.server.max_body_bytes)
    const bytes = await deps.running.arrival(principal, sent)
    if (!bytes) throw transportError(401, 'the access token was revoked')
    const text = bodyText(bytes)
    const body = parseBody(text)
    to = addresseeOf(body, headers)
    const { sessionId } = principal
    const message = readEnvelope(body, headers, () =>
      sessionId === undefined ? undefined : readSession(deps.signingKey, principal, sessionId),
    )
    if (principal.proven && !isEarly(message, principal, snapshot)) await principal.proven
    const modern = message.kind !== 'response' && message.revision.modern
    // Modern revisions have no sessions, so the header means nothing.
    if (!modern && sessionId === undefined && headers['mcp-session-id'] !== undefined) throw badSession()
    if (message.kind !== 'request') return await accept(message, principal, channel, deps)
    to = message
    // A trace named in the message is nearer to the work than one of its transport.
    if (message.trace) ctx.state['trace'] = message.trace
    if (!modern && sessionId !== undefined) channel.header('Mcp-Session-Id', sessionId)
    const { resumes, primes } = message.revision
    if (resumes && snapshot.settings.mcp.legacy_streams)
      channel.keep(() => deps.kept.begin(principal), primes)
    const method = methodFor(message, channel, deps)
    work = begin(message, method, modern ? withoutSession(principal) : principal, channel, deps)
    const call = callOf(message, work, { snapshot, headers, channel, text })
    const replied = method.handle(call, deps)
    const reply = replied instanceof Promise ? await replied : replied
    if (principal.proven) await principal.proven
    if (isCancelled(call.stop)) channel.end(202)
    else if (reply !== undefined)
      channel.finish(200, serialise(call, reply, method.caching === true, deps.version))
  } catch (error) {
    work?.failed(error)
    // The guard answers who proves to have no valid token.
    if (principal.proven) await principal.proven
    if (work && isCancelled(work.stop)) return channel.end(202)
    fail(error, to, channel, deps, ctx.state['requestId'])
  } finally {
    work?.done()
  }
}

/** True for a call that only reads documents, and waits for nobody: it may begin before its token is proven. */
function isEarly(message: Envelope, principal: Principal, { catalogue }: McpSnapshot): boolean {
  if (message.kind !== 'request' || message.method !== 'tools/call') return false
  const { name, task, inputResponses, requestState } = message.params
  if (typeof name !== 'string' || (task ?? inputResponses ?? requestState) !== undefined) return false
  const found = catalogue.find(principal, name)
  return typeof found !== 'string' && found.tool.early === true && found.confirm === 'never'
}

/** Makes the call; the fields are written out, as spreading two objects costs more than the rest of a ping. */
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

/** True when the call was cancelled, and so is not answered (MCP): a stream just ends; without one, clients take 202. */
function isCancelled({ reason }: Stop): boolean {
  return reason instanceof Cancelled
}

/** Finds the method of a message; refuses audited ones while the log cannot be written: the service is then unavailable. */
function methodFor(
  { revision, method: name }: RequestEnvelope,
  channel: Channel,
  { audit }: EndpointDeps,
): Method {
  const method = findMethod(revision, name)
  if (!method) {
    const shown = JSON.stringify(name.slice(0, 128))
    throw new JsonRpcError(errorCodes.methodNotFound, `method not found: ${shown}`)
  }
  if (!method.audited) return method
  try {
    // The gate checks again for tools that change something.
    audit.requireWritable(true)
    return method
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    channel.header('Retry-After', '5')
    throw new JsonRpcError(errorCodes.internal, error.message, { status: 503 })
  }
}

/** The work on one request. */
interface Work {
  readonly principal: Principal
  /** Ends when the client is gone (modern) or cancels (legacy). */
  readonly stop: Stop
  failed(error: unknown): void
  done(): void
}

/** Begins a request: its span, and for a long one the events that can end it early. */
function begin(
  message: RequestEnvelope,
  method: Method,
  speaker: Principal,
  channel: Channel,
  { running, tracing }: EndpointDeps,
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

/** Starts a span by OpenTelemetry's conventions for MCP: under the client's span if named, linked to that of the HTTP request. */
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

/** Serialises the whole JSON-RPC answer; lists come as bytes that were made before. */
function serialise(call: Call, reply: Reply, caching: boolean, version: string): string | Buffer {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},"result":`
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(head), reply, Buffer.from('}')])
  const result = shapeResult(call, reply, version, caching && reply['resultType'] === undefined)
  return `${head}${written(result)}}`
}

/** Accepts notifications and answers to our own questions, which get no answer themselves. */
async function accept(
  message: Exclude<Envelope, RequestEnvelope>,
  principal: Principal,
  channel: Channel,
  { running, suspended }: EndpointDeps,
): Promise<void> {
  if (message.kind === 'notification') {
    if (message.method === 'notifications/cancelled')
      await running.cancel(principal, message.params['requestId'])
  } else if (isObject(message.result))
    await suspended.answer(principal, message.id, 'answered', message.result)
  else await suspended.answer(principal, message.id, 'denied', isObject(message.error) ? message.error : {})
  channel.end(202)
}

/** Sends an error: the one mapping from faults to what the peer sees. */
function fail(
  error: unknown,
  to: Addressee,
  channel: Channel,
  { log }: EndpointDeps,
  requestId: unknown,
): void {
  if (error instanceof Gone) return channel.end(400)
  const { code, message, data, status = to.revision.status(code) } = faultOf(error, log, requestId)
  if (status === 413) channel.header('Connection', 'close')
  const shown = { code, message, ...(data !== undefined && { data }) }
  channel.finish(status, JSON.stringify({ jsonrpc: '2.0', id: to.id, error: shown }))
}

/** Turns any error into a protocol error: an AppError keeps its message, a bug is only logged. */
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

function badSession(): JsonRpcError {
  return transportError(400, 'the Mcp-Session-Id header must be visible ASCII of at most 128 characters')
}

function withoutSession(principal: Principal): Principal {
  if (principal.sessionId === undefined) return principal
  const { sessionId: _, ...rest } = principal
  return rest
}
