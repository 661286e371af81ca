/** Audits tool calls: the envelope of specification §4.5, rule 2, and the documents that were shown. */
import { type Audit, type AuditStatus, eventOf, recordAnswer } from '#audit/audit.ts'
import { type Recorded, recordable, recordableText, type Secrecy } from '#audit/recording.ts'
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import type { Principal } from '../../core/principal.ts'
import { WrittenJson } from '#leaf/written-json.ts'
import type { Documents } from '../../documents/documents.ts'
import { readsConfidential } from '../../documents/confidential.ts'
import { secrecyOf } from '../../documents/work.ts'
import type { ToolOutcome } from './catalogue.ts'
import { dataOf, failure } from './output.ts'
import { settingOf, type ToolSettings } from './read-tools.ts'

/** The dependencies of auditing calls. */
export interface Telling {
  readonly audit: Audit
  readonly clock: Clock
  readonly log: Log
  readonly documents: Documents
  readonly settings: ToolSettings
  /** The number of bytes of an answer that the audit log keeps; nothing without it. */
  readonly maxResultBytes?: number
}

/** The end of a call, for its answer and for the audit log. */
export interface Ending {
  readonly outcome: ToolOutcome
  readonly status: AuditStatus
  /** The tool's output; absent where it did not return. */
  readonly output?: unknown
  /** The output as JSON, where it is known. */
  readonly json?: string | undefined
  /** The length of the answer in bytes, where it is known. */
  readonly bytes?: number
  /** The error for the log, where the answer says less. */
  readonly error?: string
}

/** A call as it came. */
interface Told {
  readonly name: string
  readonly args: unknown
  /** The start, in milliseconds since the epoch. */
  readonly started: number
  /** True when it was made before, and is answered as it was then. */
  readonly repeats?: boolean | undefined
  /** True when its tool does more than read. */
  readonly changes?: boolean
  /** True when the names in its answer are its own. */
  readonly computes?: boolean | undefined
}

/** Returns what the log keeps nothing of in a call of a tool. */
export function secrecyOfCall(
  { documents, settings }: Pick<Telling, 'documents' | 'settings'>,
  tool: string,
): Secrecy {
  return { ...secrecyOf(documents), paths: settingOf(settings, tool)?.redact }
}

/** Audits every call, even one that reached no tool. Returns its outcome, and shows documents only once that is in the log. */
export async function tellCall(
  telling: Telling,
  principal: Principal,
  { name, args, started, repeats = false, changes = false, computes = false }: Told,
  { outcome, status, output, json, bytes, error = outcome.text }: Ending,
): Promise<ToolOutcome> {
  if (principal.proven) await principal.proven
  const { audit, clock, documents, log, maxResultBytes: most = 0 } = telling
  const target = name.slice(0, 128)
  const secrecy = secrecyOfCall(telling, name)
  const removed = new Set<string>()
  const given = recordable(args, secrecy, { removed })
  const clean = (data: unknown): Recorded => recordable(data, secrecy, { most })
  const isKept = output !== undefined && most > 0 && !(computes && readsConfidential(principal, documents))
  const event = eventOf(principal, {
    type: 'tool.call',
    status,
    target,
    success: status === 'ok' && !outcome.isError,
    execution_time: (clock.now() - started) / 1000,
    error: status === 'ok' ? undefined : recordableText(error, secrecy, { most: 500, removed }),
    result: !isKept
      ? undefined
      : output instanceof WrittenJson
        ? sameResult(telling, output, clean)
        : shownResult(dataOf(output), json, clean),
    documents: principal.shown?.told(),
    data: {
      arguments: given,
      cost: principal.shown?.cost,
      result_bytes: outcome.refused === undefined ? (bytes ?? Buffer.byteLength(outcome.text)) : undefined,
      is_error: outcome.refused === undefined ? outcome.isError : undefined,
      repeats: repeats || undefined,
      narrowing: principal.narrowing,
    },
  })
  try {
    await recordAnswer(audit, log, event)
    return outcome
  } catch (fault) {
    if (!(fault instanceof AppError)) throw fault
    const done = changes && !outcome.isError
    return failure(
      done
        ? `${name} is done, but ${fault.message}; look what became of it before you call it again`
        : `${fault.message} (try again later)`,
    )
  }
}

/** What the log keeps of answers that are the same each time, by the rules of one snapshot. */
const recorded = new WeakMap<Telling, WeakMap<WrittenJson, WrittenJson>>()

function sameResult(telling: Telling, data: WrittenJson, clean: (data: unknown) => Recorded): Recorded {
  const all = recorded.get(telling) ?? new WeakMap<WrittenJson, WrittenJson>()
  recorded.set(telling, all)
  let known = all.get(data)
  if (!known) {
    const shown = clean(data.toJSON())
    all.set(data, (known = new WrittenJson(JSON.stringify(shown), () => shown)))
  }
  return known
}

/** Returns the result for the log. With nothing redacted it is the answer's JSON: writing it anew costs as much as the rest. */
function shownResult(data: unknown, json: string | undefined, clean: (data: unknown) => Recorded): Recorded {
  const shown = clean(data)
  return json !== undefined && (shown as unknown) === data ? new WrittenJson(json, () => data) : shown
}
