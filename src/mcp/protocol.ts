/** The words of JSON-RPC 2.0 and MCP that every file of this folder shares. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import type { Tracer } from '../core/trace-context.ts'
import type { Library } from '../library/library.ts'
import type { Catalogue } from '../tools/catalogue.ts'
import type { Channel } from './channel.ts'
import { codes } from './codes.ts'
import type { Extras } from './extras.ts'
import type { Revision } from './revisions.ts'

/** A JSON object that is only read. */
export type Json = Readonly<Record<string, unknown>>
/** What ties an answer to its request; its type is kept as it came. */
export type RequestId = string | number

interface ErrorOptions {
  readonly data?: unknown
  /** The HTTP status, where it does not follow from the code and the revision. */
  readonly status?: number
  readonly id?: RequestId | null
  readonly revision?: Revision
}

/** The MCP conversation failed. The message reaches the peer. */
export class JsonRpcError extends Error {
  readonly code: number
  readonly data: unknown
  readonly status: number | undefined
  readonly id: RequestId | null | undefined
  readonly revision: Revision | undefined

  constructor(code: number, message: string, options: ErrorOptions = {}) {
    super(message)
    this.name = 'JsonRpcError'
    this.code = code
    this.data = options.data
    this.status = options.status
    this.id = options.id
    this.revision = options.revision
  }
}

/** What an MCP client said that it can do. */
export type ClientCapabilities = Readonly<Record<string, unknown>>

/** What one request works with, from its beginning to its end: everything of one reload, all of it immutable. */
export interface McpSnapshot {
  readonly catalogue: Catalogue
  /** What the principal of the request sees. */
  readonly library: Pick<
    Library,
    | 'prompts'
    | 'prompt'
    | 'render'
    | 'complete'
    | 'skills'
    | 'skill'
    | 'countSkillRead'
    | 'promptsDigest'
    | 'skillsDigest'
  >
  readonly settings: Settings
  /** Equal for equal snapshots. */
  readonly digest: string
}

/** What the whole folder is built from. */
export interface McpDeps {
  readonly snapshot: (principal: Principal) => McpSnapshot
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  /** Signs what clients carry for us: cursors, session ids, request states. */
  readonly key: string | Uint8Array
  /** Without a trailing slash. */
  readonly publicUrl: () => string
  readonly version: string
  /** The principal as it would be now; undefined once the user may not use the service any more. */
  readonly refreshed: (principal: Principal) => Principal | undefined
  readonly extras?: Extras
  /** Absent while nobody wants traces. */
  readonly tracing?: Tracer | undefined
}

/** One MCP request, its revision decided and its envelope checked. */
export interface Call {
  readonly revision: Revision
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly principal: Principal
  readonly snapshot: McpSnapshot
  readonly headers: IncomingHttpHeaders
  /** Undefined when unknown: a legacy client without a session id of ours. */
  readonly capabilities: () => ClientCapabilities | undefined
  readonly progressToken: string | number | undefined
  /** The least log level that the client asked for; undefined for none. */
  readonly logLevel: LogLevel | undefined
  /** Aborted when the client is gone (modern revisions) or cancels. */
  readonly signal: AbortSignal
  readonly channel: Channel
  /** The text of the body, for what JSON.parse loses. */
  readonly text: string
}

/** RFC 5424 severities, least first. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const
/** One of the severities. */
export type LogLevel = (typeof logLevels)[number]

/** What identifies a peer across its requests: two clients of one user are two peers. */
export function peerOf(principal: Principal): string {
  return `${principal.user}\n${principal.client?.id ?? ''}`
}

/** Whether a value is a JSON object: no array, no null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A required text among the params; JsonRpcError -32602 names it. */
export function textParam(params: Json, name: string): string {
  const value = params[name]
  if (typeof value !== 'string' || value === '') {
    throw new JsonRpcError(codes.invalidParams, `params.${name}: must be a non-empty string`)
  }
  return value
}

/** An object among the params, empty when it was left out; JsonRpcError -32602 names it. */
export function objectParam(params: Json, name: string): Record<string, unknown> {
  const value = params[name]
  if (value === undefined) return {}
  if (!isObject(value)) throw new JsonRpcError(codes.invalidParams, `params.${name}: must be an object`)
  return value
}
