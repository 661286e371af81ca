/**
 * Turns a parsed body and its headers into one message of a known revision. The body decides and the
 * headers must agree; no earlier request is needed. Order of checks: batch, shape, era, then
 * for modern requests `_meta`, headers, version, capabilities.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { readTraceContext, type TraceContext } from '#telemetry/trace-context.ts'
import {
  assumed,
  claimsModern,
  legacyRevision,
  legacyRevisions,
  modernRevision,
  modernRevisions,
  preferred,
  type Revision,
} from './revisions.ts'
import type { Handshake } from './session.ts'
import { type ClientCapabilities, type McpLogLevel, logLevels } from './call.ts'
import { isObject } from '#leaf/as-json.ts'
import { errorCodes, type Json, JsonRpcError, type RequestId } from './json-rpc.ts'

/** One JSON-RPC message after its checks. */
export type Envelope = RequestEnvelope | NotificationEnvelope | ResponseEnvelope

/** A request, which must be answered. */
export interface RequestEnvelope {
  readonly kind: 'request'
  readonly revision: Revision
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  /** Returns the client's capabilities; undefined when unknown: a legacy client without a session id of ours. */
  readonly capabilities: () => ClientCapabilities | undefined
  readonly progressToken: string | number | undefined
  readonly logLevel: McpLogLevel | undefined
  /** The client's place in a trace (W3C Trace Context in `_meta`). */
  readonly trace: TraceContext | undefined
}

/** A notification, which is never answered. */
interface NotificationEnvelope {
  readonly kind: 'notification'
  readonly revision: Revision
  readonly method: string
  readonly params: Json
}

/** The client's answer to a question of ours. */
interface ResponseEnvelope {
  readonly kind: 'response'
  readonly id: unknown
  readonly result: unknown
  readonly error: unknown
}

const metaKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const

// The parameter that the header `Mcp-Name` repeats (MCP 2026-07-28, streamable HTTP).
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** The receiver of a fault: the request id, and the revision that shapes the answer. */
export interface Addressee {
  readonly id: RequestId | null
  readonly revision: Revision
}

/** Returns the receiver of the fault of a malformed message, as far as it can be seen. */
export function addresseeOf(body: unknown, headers: IncomingHttpHeaders): Addressee {
  const id = isObject(body) && isRequestId(body['id']) ? body['id'] : null
  return { id, revision: supposed(body, versionHeader(headers)) }
}

/** Reads a message. */
export function readEnvelope(
  body: unknown,
  headers: IncomingHttpHeaders,
  handshake: () => Handshake | undefined,
): Envelope {
  // Specification §4.5: batches are not supported, in any revision.
  if (Array.isArray(body)) throw invalid('batches are not supported')
  if (!isObject(body)) throw invalid('the body must be an object')
  if ('id' in body && !isRequestId(body['id']) && 'method' in body) {
    throw invalid('id must be a string or a number of at most 2^53')
  }
  const id = isRequestId(body['id']) ? body['id'] : null
  if (body['jsonrpc'] !== '2.0') throw invalid('jsonrpc must be "2.0"')
  // A JSON-RPC response has no method: the client answers us.
  if (!('method' in body)) return responseOf(body)

  const method = body['method']
  if (typeof method !== 'string' || method === '') throw invalid('method must be a non-empty string')
  const params = body['params'] ?? {}
  if (!isObject(params)) throw invalid('params must be an object')

  const header = versionHeader(headers)
  const meta = isObject(params['_meta']) ? params['_meta'] : {}
  const isModern = metaKeys.version in meta || (claimsModern(header) && method !== 'initialize')
  const revision = isModern ? modernOf(meta, header, 'id' in body) : legacyOf(method, header, handshake)
  if (id === null) return notificationOf(revision, method, params)
  if (isModern) checkHeaders(headers, method, params)
  return {
    kind: 'request',
    revision,
    id,
    method,
    params,
    capabilities: () =>
      isModern ? (meta[metaKeys.capabilities] as ClientCapabilities) : handshake()?.capabilities,
    progressToken: isRequestId(meta['progressToken']) ? meta['progressToken'] : undefined,
    trace: readTraceContext(meta['traceparent'], meta['tracestate']),
    logLevel: isModern ? logLevelOf(meta[metaKeys.logLevel]) : undefined,
  }
}

/**
 * Reads a notification. A request without an id would never be answered in JSON-RPC, and the client would wait
 * for ever without a reason; so only a method named as a notification is one.
 */
function notificationOf(revision: Revision, method: string, params: Json): NotificationEnvelope {
  if (!method.startsWith('notifications/')) {
    throw invalid(`${method} needs an id`)
  }
  return { kind: 'notification', revision, method, params }
}

/** Reads an answer, which has a result or an error; without either, the method was forgotten. */
function responseOf(body: Record<string, unknown>): ResponseEnvelope {
  if (!('result' in body) && !('error' in body)) throw invalid('method is missing')
  return { kind: 'response', id: body['id'], result: body['result'], error: body['error'] }
}

/** Returns the revision of a request without `_meta`: from the header, else the handshake, else the one that old clients mean. */
function legacyOf(
  method: string,
  header: string | undefined,
  handshake: () => Handshake | undefined,
): Revision {
  if (method === 'initialize' && claimsModern(header)) {
    throw new JsonRpcError(
      errorCodes.headerMismatch,
      `initialize is not a method of ${header}; a request of that revision names it in params._meta`,
      { status: 400 },
    )
  }
  if (header === undefined) return handshake()?.revision ?? assumed
  const revision = legacyRevision(header)
  if (revision) return revision
  const names = [...legacyRevisions, ...modernRevisions].map(({ name }) => name).join(', ')
  throw new JsonRpcError(
    errorCodes.invalidRequest,
    `unsupported MCP-Protocol-Version ${JSON.stringify(header)}; supported are ${names}`,
    { status: 400 },
  )
}

/** Returns the revision of a request that claims to be modern, after checking its `_meta` and version header. */
function modernOf(meta: Json, header: string | undefined, isRequest: boolean): Revision {
  const version = meta[metaKeys.version]
  const missing = [metaKeys.version, metaKeys.capabilities].filter((key) => !(key in meta))
  if (typeof version !== 'string') {
    throw invalidMeta(
      missing.length ? `${missing.join(' and ')} required` : `${metaKeys.version} must be a string`,
    )
  }
  if (header !== version) {
    throw mismatch(
      header === undefined
        ? 'the MCP-Protocol-Version header is required'
        : `the MCP-Protocol-Version header says ${JSON.stringify(header)}, params._meta ${JSON.stringify(version)}`,
    )
  }
  const revision = modernRevision(version)
  if (!revision) {
    throw new JsonRpcError(
      errorCodes.unsupportedVersion,
      `unsupported protocol version ${JSON.stringify(version)}`,
      {
        data: { supported: modernRevisions.map(({ name }) => name), requested: version },
      },
    )
  }
  if (isRequest && !isObject(meta[metaKeys.capabilities])) {
    throw invalidMeta(
      missing.length ? `${missing.join(' and ')} required` : `${metaKeys.capabilities} must be an object`,
    )
  }
  return revision
}

/** Requires that `Mcp-Method` and `Mcp-Name` agree with the body. */
function checkHeaders(headers: IncomingHttpHeaders, method: string, params: Json): void {
  const said = headers['mcp-method']
  if (said !== method) {
    throw mismatch(
      said === undefined
        ? 'the Mcp-Method header is required'
        : `the Mcp-Method header says ${JSON.stringify(said)}, the body ${JSON.stringify(method)}`,
    )
  }
  const key = namedBy[method]
  if (key === undefined) return
  const name = headers['mcp-name']
  if (name === undefined) throw mismatch('the Mcp-Name header is required')
  if (typeof name !== 'string' || decodeHeader(name) !== params[key]) {
    throw mismatch(`the Mcp-Name header does not match params.${key}`)
  }
}

/** Decodes a header value that is written `=?base64?…?=`; JsonRpcError -32020 when that is not strict base64. */
export function decodeHeader(value: string): string {
  const encoded = /^=\?base64\?(.*)\?=$/s.exec(value)?.[1]
  if (encoded === undefined) return value
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) throw mismatch('a header value is not valid base64')
  return bytes.toString('utf8')
}

function invalid(problem: string): JsonRpcError {
  return new JsonRpcError(errorCodes.invalidRequest, `invalid request: ${problem}`)
}

/** Returns the error of a header that contradicts the body (MCP 2026-07-28: HTTP 400, -32020). */
export function mismatch(message: string): JsonRpcError {
  return new JsonRpcError(errorCodes.headerMismatch, `header mismatch: ${message}`)
}

/** Returns the error of a missing or malformed `_meta` field (MCP 2026-07-28: -32602, but at HTTP 400). */
function invalidMeta(problem: string): JsonRpcError {
  return new JsonRpcError(errorCodes.invalidParams, `params._meta: ${problem}`, { status: 400 })
}

function logLevelOf(value: unknown): McpLogLevel | undefined {
  if (value === undefined) return undefined
  const level = logLevels.find((known) => known === value)
  if (level) return level
  throw new JsonRpcError(
    errorCodes.invalidParams,
    `params._meta: ${metaKeys.logLevel} must be one of ${logLevels.join(', ')}`,
  )
}

function versionHeader(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['mcp-protocol-version']
  return Array.isArray(value) ? value.join(', ') : value
}

/** Returns the revision that shapes the refusal of a message whose own revision is not known yet. */
function supposed(body: unknown, header: string | undefined): Revision {
  if (claimsModern(header) || claimOf(body) !== undefined) return modernRevisions[0]!
  return legacyRevision(header ?? '') ?? preferred
}

/** Returns the revision that the body claims, even when its shape is wrong. */
function claimOf(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(claimOf).find((claim) => claim !== undefined)
  if (!isObject(body) || !isObject(body['params']) || !isObject(body['params']['_meta'])) return undefined
  return body['params']['_meta'][metaKeys.version]
}

/** True for a request id: in MCP a string or a number, never null. */
function isRequestId(value: unknown): value is RequestId {
  return (
    typeof value === 'string' || (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER)
  )
}
