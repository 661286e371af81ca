/** One MCP request, and what answers it: the words that every file of this folder shares. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import type { Settings } from '../core/settings.ts'
import type { Stop } from '../core/stop.ts'
import type { WaitingApproval } from '../core/suspended.ts'
import type { Tracer } from '../core/trace-context.ts'
import type { Library } from '../library/library.ts'
import type { Catalogue } from '../tools/catalogue.ts'
import type { Channel } from './channel.ts'
import type { Json, RequestId } from './json-rpc.ts'
import type { Revision } from './revisions.ts'

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

/** Where the pages that hosts show come from. */
export interface HostViews {
  html(view: string): string
  waitingFor(user: string): Promise<readonly WaitingApproval[]>
  /** A waiting call in words that a view can show, with the address of its page. */
  about(call: WaitingApproval): Json
}

/** What the whole folder is built from. */
export interface McpDeps {
  readonly snapshot: (principal: Principal) => McpSnapshot
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  /** Signs what clients carry for us: cursors and session ids. */
  readonly key: string | Uint8Array
  /** Without a trailing slash. */
  readonly publicUrl: () => string
  readonly version: string
  readonly views: HostViews
  /** The principal as it would be now; undefined once the user may not use the service any more. */
  readonly refreshed: (principal: Principal) => Principal | undefined
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
  /** The least log level that the request itself asks for; undefined for none. */
  readonly logLevel: McpLogLevel | undefined
  /** Ended when the client is gone (modern revisions) or cancels. */
  readonly stop: Stop
  readonly channel: Channel
  /** The text of the body, for what JSON.parse loses. */
  readonly text: string
}

/** A result as JSON, or already serialised in the shape of its revision. */
export type Reply = Json | Buffer

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
export type McpLogLevel = (typeof logLevels)[number]

/** What identifies a peer across its requests: two clients of one user are two peers. */
export function peerOf(principal: Principal): string {
  return `${principal.user}\n${principal.client?.id ?? ''}`
}
