/** What is recorded, and the recorder: all that a part of the program needs to know of the log. */
import type { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type { Soon } from '#leaf/soon.ts'
import type { Transaction } from '#state/store.ts'
import type { AuditedChange, Recorded } from './recording.ts'

/** The ways in which the action of an audit event may have ended. */
export const auditStatuses = ['ok', 'waiting', 'error', 'denied', 'timeout', 'cancelled'] as const

/** The way in which the action of an event ended; `denied` only when somebody was not allowed to do it. */
export type AuditStatus = (typeof auditStatuses)[number]

/** Returns the status and error of a refusal; `not_found` is denied: who may not see a thing is told that there is none. */
export function refusalOf({ code, message }: AppError): { status: AuditStatus; error: string } {
  return { status: code === 'not_found' || code === 'forbidden' ? 'denied' : 'error', error: message }
}

/** Documents of one doctype that somebody was shown: the first names, and the number of all. */
export interface ShownDocuments {
  readonly doctype: string
  readonly names: readonly string[]
  readonly count: number
}

/** Who did something, and in which request: a principal, as far as an event tells it. */
export interface Actor {
  readonly user: string
  readonly client?: { readonly id: string } | undefined
  readonly sessionId?: string | undefined
  readonly requestId: string
  readonly trace?: { readonly traceId: string } | undefined
  readonly address?: string | undefined
}

/**
 * An event, as the parts of the program report it. `type` is noun.verb: `tool.call`, `prompt.get`,
 * `skill.read`, `sign_in.ok`, `client.register`, `token.issue`, `token.revoke`, `document.create`,
 * `site.reload`, `cli.run`, …
 */
export interface AuditEvent {
  readonly type: string
  readonly status: AuditStatus
  /** The user who did it; `cli` for the command line, `system` for the daemon itself. */
  readonly user?: string
  readonly client?: string
  readonly session_id?: string
  readonly request_id?: string
  /** The W3C trace that the request belongs to, 32 hexadecimal digits. */
  readonly trace_id?: string
  readonly address?: string
  /** The object of the action: a tool, prompt, document (`Customer/ACME`), client or token id. */
  readonly target?: string
  /** The duration in seconds. */
  readonly execution_time?: number
  /** True when it did what it was asked to (specification §4.5 rule 2). */
  readonly success?: boolean
  readonly error?: string
  /** The answer, as `recording.ts` cut and cleaned it. */
  readonly result?: Recorded | undefined
  /** The documents that were returned, one entry a doctype. */
  readonly documents?: readonly ShownDocuments[]
  /** The fields that a write changed in `target`, each through `recordableChange`. */
  readonly changes?: readonly AuditedChange[]
  /** The line, since removed, at which the event stood before. */
  readonly again?: { readonly seq: number; readonly writer?: string }
  /** Anything else worth keeping; secrets by their names and looks are redacted at depth before it is written. */
  readonly data?: EventData
}

/** The data of an event; what a caller passed as arguments comes through `recording.ts`. */
export interface EventData {
  readonly [name: string]: unknown
  readonly arguments?: Recorded | undefined
}

/** An event as it stands in the log, one JSON object a line. */
export interface AuditLine extends AuditEvent {
  /** The number of the line, from 1 without gaps over the whole log; where several daemons write, over its writer's lines. */
  readonly seq: number
  /** The daemon that wrote it, by the name of its key, where several write. */
  readonly writer?: string
  /** ISO 8601, UTC. */
  readonly time: string
  readonly id: string
  /** The hash of the line before; the first line has a fixed one. */
  readonly prev: string
}

/** The parts of an event besides who did it and from where. */
type Done = Omit<AuditEvent, 'user' | 'client' | 'session_id' | 'request_id' | 'trace_id' | 'address'>

/** Returns the event of somebody's action. Written out: spreading parts into one costs as much as writing the line. */
export function eventOf(principal: Actor, done: Done): AuditEvent {
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

/** The recorder of everything that matters (D12). */
export interface Audit {
  /**
   * Records an event. It is written within 20 ms together with others; the returned promise settles
   * when it is on disk, and need not be awaited. AppError `unavailable` at once when the log cannot
   * be written (full disk): then nothing that must be audited may be done. For an event that names documents, also
   * after five seconds: then they must not be shown (`recordAnswer`).
   */
  record(event: AuditEvent): Promise<void>
  /** Records an event as part of a transaction: it is kept if and only if the transaction is. */
  recordIn(transaction: Transaction, event: AuditEvent): Promise<void>
  /** Throws AppError `unavailable` while the log cannot be written; on a full disk, reads go on being recorded for longer. */
  requireWritable(reading?: boolean): void
}

/** Records an answer. Waits when it shows documents; throws AppError `unavailable` when they must not be shown. */
export function recordAnswer(audit: Audit, log: Log, event: AuditEvent): Soon<void> {
  const kept = audit.record(event)
  // What is not awaited leaves nothing behind that waits: the recorder itself tells what it refused, or lost.
  return event.documents ? keptOrTold(kept, log, event) : undefined
}

async function keptOrTold(kept: Promise<void>, log: Log, event: AuditEvent): Promise<void> {
  try {
    await kept
  } catch (fault) {
    const { type, target, request_id } = event
    log.error('what was answered could not be audited', { type, target, request_id, fault })
    throw fault
  }
}
