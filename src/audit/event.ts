import type { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { ShownDocuments } from '../core/shown.ts'

/** How what an audit event tells of may have ended. */
export const auditStatuses = ['ok', 'error', 'denied', 'timeout', 'cancelled'] as const

/** How what an audit event tells of ended; `denied` only when somebody was not allowed to. */
export type AuditStatus = (typeof auditStatuses)[number]

/** How an event ended that was refused; who may not see what there is hears that there is none. */
export function refusalOf({ code, message }: AppError): { status: AuditStatus; error: string } {
  return { status: code === 'not_found' || code === 'forbidden' ? 'denied' : 'error', error: message }
}

/** A field of the target that was changed; null where there is no value. */
export interface AuditedChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/**
 * What happened, as the parts of the program say it. `type` is noun.verb: `tool.call`, `prompt.get`,
 * `skill.read`, `sign_in.ok`, `client.register`, `token.issue`, `token.revoke`, `document.create`,
 * `site.reload`, `cli.run`, …
 */
export interface AuditEvent {
  readonly type: string
  readonly status: AuditStatus
  /** Who did it; for the command line and the daemon itself, `cli` and `system`. */
  readonly user?: string
  readonly client?: string
  readonly session_id?: string
  readonly request_id?: string
  /** The W3C trace that the request belongs to, 32 hexadecimal digits. */
  readonly trace_id?: string
  readonly address?: string
  /** What it was done to: a tool, prompt, document (`Customer/ACME`), client or token id. */
  readonly target?: string
  /** Seconds. */
  readonly execution_time?: number
  /** Whether it did what it was asked to (specification §4.5 rule 2). */
  readonly success?: boolean
  readonly error?: string
  /** What was answered, without secrets: whoever tells it cuts and cleans it in one go. */
  readonly result?: unknown
  /** The documents that came back, one entry a doctype. */
  readonly documents?: readonly ShownDocuments[]
  /** What a write changed in `target`; a value whose field's name tells a secret is redacted. */
  readonly changes?: readonly AuditedChange[]
  /** Anything else worth keeping; redacted at depth before it is written. */
  readonly data?: Readonly<Record<string, unknown>>
}

/** An event as it stands in the log, one JSON object a line. */
export interface AuditLine extends AuditEvent {
  /** Counts from 1 without gaps over all of the log; where several daemons write one, over what its writer wrote. */
  readonly seq: number
  /** Which daemon wrote it, by the name of its key, where several write. */
  readonly writer?: string
  /** ISO 8601, UTC. */
  readonly time: string
  readonly id: string
  /** The hash of the line before; the first line has a fixed one. */
  readonly prev: string
}

/** What an event says besides who did it and where. */
type Done = Omit<AuditEvent, 'user' | 'client' | 'session_id' | 'request_id' | 'trace_id' | 'address'>

/** The event of what a principal did. Written out: spreading parts into one costs as much as writing the line. */
export function eventOf(principal: Principal, done: Done): AuditEvent {
  return {
    type: done.type,
    status: done.status,
    user: principal.user,
    client: principal.client?.id,
    session_id: principal.sessionId,
    request_id: principal.requestId,
    trace_id: principal.trace?.traceId,
    address: principal.address,
    target: done.target,
    execution_time: done.execution_time,
    success: done.success,
    error: done.error,
    result: done.result,
    documents: done.documents,
    changes: done.changes,
    data: done.data,
  }
}
