/** What the audit log keeps of a call: the envelope of specification §4.5, rule 2, and the documents that were shown. */
import { eventOf, type AuditStatus } from '../audit/event.ts'
import type { Audit } from '../audit/audit.ts'
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Principal } from '../core/principal.ts'
import { redact } from '../core/redact.ts'
import { WrittenJson } from '../core/written-json.ts'
import type { Documents } from '../documents/documents.ts'
import type { ToolOutcome } from './catalogue.ts'
import { dataOf } from './output.ts'
import { settingOf, type ToolSettings } from './read-tools.ts'

/** What every call is told to, and with what care. */
export interface Telling {
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  readonly documents: Documents
  readonly settings: ToolSettings
  /** How much of an answer the audit log keeps; nothing without it. */
  readonly maxResultBytes?: number
}

/** How a call ended, for its answer and for the audit log. */
export interface Ending {
  readonly outcome: ToolOutcome
  readonly status: AuditStatus
  /** What the tool returned; absent where it did not. */
  readonly output?: unknown
  /** The same as JSON, where it is known. */
  readonly json?: string | undefined
  /** How long the answer is, where it is known. */
  readonly bytes?: number
  /** What the log says where the answer says less. */
  readonly error?: string
}

/** A call as it came. */
interface Told {
  readonly name: string
  readonly args: unknown
  /** Milliseconds since the epoch. */
  readonly started: number
  /** It was made before, and is answered as it was then. */
  readonly repeats?: boolean | undefined
}

/** Every call is told, also one that did not come to its tool; nothing waits for it. */
export function tellCall(
  { audit, clock, documents, log, maxResultBytes = 0, settings }: Telling,
  principal: Principal,
  { name, args, started, repeats = false }: Told,
  { outcome, status, output, json, bytes, error = outcome.text }: Ending,
): void {
  const target = name.slice(0, 128)
  const paths = settingOf(settings, name)?.redact
  const names = documents.platform.confidential
  audit
    .record(
      eventOf(principal, {
        type: 'tool.call',
        status,
        target,
        success: status === 'ok' && !outcome.isError,
        execution_time: (clock.now() - started) / 1000,
        error: status === 'ok' ? undefined : error.slice(0, 500),
        result:
          output === undefined || maxResultBytes === 0
            ? undefined
            : shownResult(dataOf(output), json, (data) =>
                redact(data, paths, { names, most: maxResultBytes }),
              ),
        documents: principal.shown?.told(),
        data: {
          arguments: redact(args, paths, { names }),
          cost: principal.shown?.cost,
          result_bytes:
            outcome.refused === undefined ? (bytes ?? Buffer.byteLength(outcome.text)) : undefined,
          is_error: outcome.refused === undefined ? outcome.isError : undefined,
          repeats: repeats || undefined,
        },
      }),
    )
    .catch((fault: unknown) => log.error('a tool call could not be audited', { tool: target, fault }))
}

/** What the log keeps of a result. Where nothing had to go, that is the answer's own JSON: writing it again costs as much as all else of a record. */
function shownResult(data: unknown, json: string | undefined, clean: (data: unknown) => unknown): unknown {
  const shown = clean(data)
  return json !== undefined && shown === data ? new WrittenJson(json, () => data) : shown
}
