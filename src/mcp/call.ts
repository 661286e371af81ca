/** One MCP request and its answer: the types that every file of this folder shares. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Audit } from '#audit/audit.ts'
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import type { Principal } from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import type { Stop } from '#leaf/stop.ts'
import type { WaitingApproval } from '../core/suspended.ts'
import type { Tracer } from '#telemetry/trace-context.ts'
import type { Library } from '../library/library.ts'
import type { Catalogue } from '../tools/gate/catalogue.ts'
import type { Channel } from './streams/channel.ts'
import type { Json, RequestId } from './json-rpc.ts'
import type { Revision } from './revisions.ts'

/** The capabilities that an MCP client declared. */
export type ClientCapabilities = Readonly<Record<string, unknown>>

/** The immutable state that one request works with, from beginning to end: everything of one reload. */
export interface McpSnapshot {
  readonly catalogue: Catalogue
  /** The part of the library that the principal of the request sees. */
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
  /** A digest, equal for equal snapshots. */
  readonly digest: string
}

/** The source of the pages that hosts show. */
export interface HostViews {
  html(view: string): string
  waitingFor(user: string): Promise<readonly WaitingApproval[]>
  /** Describes a waiting call for a view, with the address of its page. */
  about(call: WaitingApproval): Json
}

/** What a user has chosen on their account page: a language of the pages, and an IANA time zone. */
export interface Choices {
  readonly language?: string
  readonly timezone?: string
}

/** The dependencies of the whole folder. */
export interface McpDeps {
  readonly snapshot: (principal: Principal) => McpSnapshot
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  /** The key that signs what clients carry for us: cursors and session ids. */
  readonly signingKey: string | Uint8Array
  /** The public URL, without a trailing slash. */
  readonly publicUrl: () => string
  readonly version: string
  readonly views: HostViews
  /** Returns the principal as it would be now; undefined once the user may not use the service any more. */
  readonly refreshed: (principal: Principal) => Principal | undefined
  /** What users have chosen on their account page. */
  readonly accounts: { of(user: string): Promise<Choices> }
  /** The tracer; absent when tracing is off. */
  readonly tracing?: Tracer | undefined
}

/** One MCP request, with its revision decided and its envelope checked. */
export interface Call {
  readonly revision: Revision
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  readonly principal: Principal
  readonly snapshot: McpSnapshot
  readonly headers: IncomingHttpHeaders
  /** Returns the client's capabilities; undefined when unknown: a legacy client without a session id of ours. */
  readonly capabilities: () => ClientCapabilities | undefined
  readonly progressToken: string | number | undefined
  /** The least log level that the request itself asks for; undefined for none. */
  readonly logLevel: McpLogLevel | undefined
  /** Ends when the client is gone (modern revisions) or cancels. */
  readonly stop: Stop
  readonly channel: Channel
  /** The text of the body, which keeps what JSON.parse loses. */
  readonly text: string
}

/** A result as JSON, or already serialised in the shape of its revision. */
export type Reply = Json | Buffer

/** RFC 5424 severities, least severe first. */
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
export type McpLogLevel = (typeof logLevels)[number]

/** Identifies a peer across its requests: two clients of one user are two peers. */
export function peerOf(principal: Principal): string {
  return `${principal.user}\n${principal.client?.id ?? ''}`
}
