/**
 * The one MCP endpoint (specification §4.5): POST of a JSON-RPC message, in whatever revision. Order of checks: method,
 * media type and size, JSON, envelope, method of the revision; then the method's own. Two guards ran before.
 */
import type { IncomingMessage } from 'node:http'
import type { Middleware } from 'koa'
import { AppError, peerMessageOf } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { Gone } from '../core/request-body.ts'
import type { Span } from '../core/trace-context.ts'
import type { Approvals } from './approvals.ts'
import { parseBody, readText } from './body.ts'
import { Channel } from './channel.ts'
import { codes } from './codes.ts'
import { serverInfoOf } from './discovery.ts'
import { type Envelope, readEnvelope, type RequestEnvelope } from './envelope.ts'
import { Pages } from './lists.ts'
import { methodOf } from './methods.ts'
import type { Nouns, Reply } from './nouns.ts'
import {
  type Call,
  type Json,
  JsonRpcError,
  type McpDeps,
  type McpSnapshot,
  type RequestId,
} from './protocol.ts'
import { Questions } from './questions.ts'
import { preferred, type Revision } from './revisions.ts'
import { Rounds } from './rounds.ts'
import { Cancelled, LogLevels, type Running } from './running.ts'
import { type Handshake, readSession, sessionIdOf, sessionRule } from './session.ts'
import { shapeResult } from './shape.ts'
import type { Subscriptions } from './subscriptions.ts'

/** What the daemon keeps a hand on besides: it tells `subscriptions` of reloads, ends `running` calls, and the pages decide `approvals`. */
export interface EndpointDeps extends McpDeps {
  readonly running: Running
  readonly subscriptions: Subscriptions
  readonly approvals: Approvals
}

const never = new AbortController().signal

/** Answers every request on the MCP path; it writes the response itself, which is worth a third of the speed. */
export function mcpEndpoint(deps: EndpointDeps): Middleware {
  const nouns: Nouns = {
    deps,
    pages: new Pages(deps.key),
    questions: new Questions(),
    rounds: new Rounds(deps.key, deps.clock),
    running: deps.running,
    logLevels: new LogLevels(),
    approvals: deps.approvals,
    subscriptions: deps.subscriptions,
  }
  deps.extras?.attach?.(() => deps.subscriptions.changed())

  return async (ctx) => {
    ctx.respond = false
    const channel = new Channel(ctx.req, ctx.res)
    const snapshot = deps.snapshot(ctx.state['principal'] as Principal)
    let revision = preferred
    try {
      const sessionId = sessionIdOf(ctx.req.headers['mcp-session-id'])
      const principal = withSession(ctx.state['principal'] as Principal, sessionId)
      if (ctx.method !== 'POST') return openStream(ctx.req, principal, channel, snapshot, nouns)

      const text = await readText(ctx.req, snapshot.settings.server.max_body_bytes)
      const handshake = (): Handshake | undefined =>
        principal.sessionId === undefined ? undefined : readSession(deps.key, principal, principal.sessionId)
      const message = readEnvelope(parseBody(text), ctx.req.headers, handshake)
      if (sessionId === null && !isModern(message)) throw transportError(400, sessionRule)
      if (message.kind !== 'request') return accept(message, principal, channel, nouns)
      revision = message.revision
      // What the message says is nearer to the work than what its transport says.
      if (message.trace) ctx.state['trace'] = message.trace
      await answer(message, principal, channel, snapshot, nouns, ctx.req, text)
    } catch (error) {
      fail(error, channel, revision, deps, ctx.state['requestId'])
    }
  }
}

/** A request: its method's answer, in the shape of its revision. */
async function answer(
  message: RequestEnvelope,
  principal: Principal,
  channel: Channel,
  snapshot: McpSnapshot,
  nouns: Nouns,
  req: IncomingMessage,
  text: string,
): Promise<void> {
  const { revision, id } = message
  const speaker = revision.modern ? withoutSession(principal) : principal
  if (speaker.sessionId !== undefined) channel.header('Mcp-Session-Id', speaker.sessionId)
  const method = methodOf(revision, message.method)
  if (!method) {
    const shown = JSON.stringify(message.method.slice(0, 128))
    throw new JsonRpcError(codes.methodNotFound, `method not found: ${shown}`, { id, revision })
  }

  if (method.audited) requireAudit(nouns.deps, channel, { id, revision })

  const span = spanOf(message, speaker, nouns.deps)
  const trace = span?.context ?? message.trace ?? speaker.trace
  const controller = method.long ? new AbortController() : undefined
  let fault: string | undefined
  const done = controller && watchForEnd(speaker, message, channel, controller, nouns)
  try {
    const call: Call = {
      revision,
      id,
      method: message.method,
      params: message.params,
      principal: trace ? { ...speaker, trace } : speaker,
      snapshot,
      headers: req.headers,
      capabilities: message.capabilities,
      progressToken: message.progressToken,
      logLevel: revision.modern ? message.logLevel : nouns.logLevels.get(speaker),
      signal: controller?.signal ?? never,
      channel,
      text,
    }
    const reply = await method.handle(call, nouns)
    if (reply === undefined) return
    channel.finish(200, serialise(call, reply, method.caching === true, nouns.deps.version))
  } catch (error) {
    fault = error instanceof JsonRpcError ? String(error.code) : 'exception'
    // The id is known here, and no longer further out.
    throw error instanceof JsonRpcError
      ? new JsonRpcError(error.code, error.message, {
          data: error.data,
          id,
          revision,
          ...(error.status !== undefined && { status: error.status }),
        })
      : new Failed(error, id, revision)
  } finally {
    done?.()
    span?.end(fault)
  }
}

/** Nothing is done that cannot be told: a full disk makes the service unavailable, not silent. */
function requireAudit(
  { audit }: McpDeps,
  channel: Channel,
  shape: { readonly id: RequestId; readonly revision: Revision },
): void {
  try {
    audit.requireWritable()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    channel.header('Retry-After', '5')
    throw new JsonRpcError(codes.internal, error.message, { ...shape, status: 503 })
  }
}

/** OpenTelemetry's semantic conventions for MCP: under the client's span if it named one, linked to that of the HTTP request. */
function spanOf(
  { revision, id, method, params, trace }: RequestEnvelope,
  principal: Principal,
  { tracing }: McpDeps,
): Span | undefined {
  if (!tracing) return undefined
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

/** Something other than a protocol error ended a request whose id is known. */
class Failed extends Error {
  readonly id: RequestId
  readonly revision: Revision

  constructor(cause: unknown, id: RequestId, revision: Revision) {
    super('request failed', { cause })
    this.id = id
    this.revision = revision
  }
}

/** How a long call can end early: its client leaves (modern) or says so (legacy). */
function watchForEnd(
  principal: Principal,
  { revision, id }: RequestEnvelope,
  channel: Channel,
  controller: AbortController,
  { running }: Nouns,
): () => void {
  if (revision.disconnectCancels)
    channel.onClose(() => {
      if (!channel.finished) controller.abort(new Cancelled())
    })
  return running.add(principal, id, controller)
}

/** The whole JSON-RPC answer; lists come as bytes that were made before. */
function serialise(
  { revision, id, snapshot }: Call,
  reply: Reply,
  caching: boolean,
  version: string,
): string | Buffer {
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(head), reply, Buffer.from('}')])
  const info = revision.envelope ? serverInfoOf(revision, snapshot.settings, version) : {}
  const result = shapeResult(revision, reply, info, caching && reply['resultType'] === undefined)
  return `${head}${JSON.stringify(result)}}`
}

/** Notifications and answers to our own questions get no answer, whatever they say. */
function accept(
  message: Exclude<Envelope, RequestEnvelope>,
  principal: Principal,
  channel: Channel,
  { questions, running }: Nouns,
): void {
  if (message.kind === 'response') questions.answer(principal, message.id, message.result, message.error)
  else if (message.method === 'notifications/cancelled')
    running.cancel(principal, message.params['requestId'])
  channel.end(202)
}

/** GET is a legacy event stream where the site allows it; everything else but POST is refused. */
function openStream(
  req: IncomingMessage,
  principal: Principal,
  channel: Channel,
  { settings }: McpSnapshot,
  { subscriptions }: Nouns,
): void {
  if (req.method !== 'GET' || !settings.mcp.legacy_streams || !channel.open) {
    channel.header('Allow', settings.mcp.legacy_streams ? 'GET, POST, OPTIONS' : 'POST, OPTIONS')
    throw transportError(405, `method ${req.method ?? ''} is not allowed here; use POST`)
  }
  if (!subscriptions.hasRoom(principal)) throw transportError(429, 'too many open streams for this user')
  channel.begin()
  subscriptions.openLegacy(principal, channel)
}

/** The one table from faults to what the peer sees. */
function fail(error: unknown, channel: Channel, revision: Revision, deps: McpDeps, requestId: unknown): void {
  const cause = error instanceof Failed ? error.cause : error
  const shape = error instanceof Failed ? error : { id: null, revision }
  if (cause instanceof Gone) return channel.end(400)
  const fault = cause instanceof JsonRpcError ? cause : faultOf(cause, shape, deps, requestId)
  const status = fault.status ?? (fault.revision ?? revision).status(fault.code)
  if (status === 413) channel.header('Connection', 'close')
  const body: Json = {
    jsonrpc: '2.0',
    id: fault.id ?? null,
    error: {
      code: fault.code,
      message: fault.message,
      ...(fault.data !== undefined && { data: fault.data }),
    },
  }
  channel.finish(status, JSON.stringify(body))
}

/** What is not a protocol error already: our own words for a fault of the work, silence about a bug. */
function faultOf(
  error: unknown,
  shape: { readonly id: RequestId | null; readonly revision: Revision },
  deps: McpDeps,
  requestId: unknown,
): JsonRpcError {
  if (error instanceof Cancelled) {
    return new JsonRpcError(shape.revision.applicationError, 'the request was cancelled', shape)
  }
  if (error instanceof AppError) {
    const code = error.code === 'unavailable' ? codes.internal : codes.invalidParams
    return new JsonRpcError(code, peerMessageOf(error), { ...shape, data: error.data })
  }
  deps.log.error('a request failed', { request_id: requestId, error })
  return new JsonRpcError(
    codes.internal,
    `Internal error: see the server log for request ${String(requestId)}`,
    shape,
  )
}

/** Refused before there is a message to answer. */
function transportError(status: number, message: string): JsonRpcError {
  return new JsonRpcError(codes.invalidRequest, message, { status, id: null })
}

/** The conversation that the client names; what `bearer` may have read is replaced by what this file has checked. */
function withSession(principal: Principal, sessionId: string | null | undefined): Principal {
  if (typeof sessionId !== 'string') return withoutSession(principal)
  return principal.sessionId === sessionId ? principal : { ...principal, sessionId }
}

function isModern(message: Envelope): boolean {
  return message.kind !== 'response' && message.revision.modern
}

/** Modern revisions have no sessions: the header means nothing. */
function withoutSession(principal: Principal): Principal {
  if (principal.sessionId === undefined) return principal
  const { sessionId: _, ...rest } = principal
  return rest
}
