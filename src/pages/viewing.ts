import type { Audit } from '../audit/audit.ts'
import { eventOf, refusalOf, type AuditStatus } from '../audit/event.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { Shown } from '../core/shown.ts'

/** What somebody looks at on a page of ours. */
export interface View {
  /** Such as `chart.view`. */
  readonly type: string
  readonly target?: string
  /** What they asked for. */
  readonly data?: Readonly<Record<string, unknown>>
  /** Aborted when nobody looks any more. */
  readonly signal?: AbortSignal
}

/** Answers what a page shows, and tells it with the documents that it shows. What cannot be told is not shown. */
export async function viewed<Seen>(
  audit: Audit,
  principal: Principal,
  { signal, ...event }: View,
  look: (principal: Principal) => Promise<Seen>,
): Promise<Seen> {
  audit.requireWritable(true)
  const shown = new Shown()
  const tell = (end: { readonly status: AuditStatus; readonly error?: string }): Promise<void> =>
    audit.record(eventOf(principal, { ...event, ...end, documents: shown.told() }))
  try {
    const seen = await look({ ...principal, shown })
    await tell({ status: 'ok' })
    return seen
  } catch (error) {
    if (signal?.aborted) await tell({ status: 'cancelled' })
    else if (error instanceof AppError) await tell(refusalOf(error))
    throw error
  }
}
