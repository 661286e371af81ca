import type { Context } from 'koa'
import type { Needs } from '../../control/operation.ts'
import { type Audit, type AuditStatus, eventOf, refusalOf } from '#audit/audit.ts'
import { recordable, recordableText, type Secrecy } from '#audit/recording.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { Shown } from '../../core/shown.ts'
import { askedBy, type Documents } from '../../documents/documents.ts'
import { Stop } from '#leaf/stop.ts'

/** A look at a page of ours, for the audit log. */
export interface View {
  /** The event type, such as `chart.view`. */
  readonly type: string
  readonly target?: string
  /** The data of the event, such as what they asked for. */
  readonly data?: Readonly<Record<string, unknown>>
  /** What no event keeps of what they asked for, and of why they were refused. */
  readonly secrecy?: Secrecy
  /** Aborted when nobody looks any more. */
  readonly signal?: AbortSignal
}

/** Returns a signal that is aborted when nobody looks at the page any more. */
export function lookedAt({ res }: Pick<Context, 'res'>): AbortSignal {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  return gone.signal
}

/** The documents as one person asks for them on a page: whoever has many pages open waits in a line of their own. */
export function documentsFor(asker: Principal, { site }: Needs<'site'>): Documents {
  return { ...askedBy(site.current().documents, asker), stop: new Stop({ user: asker.user }) }
}

/** Returns what a page shows, and audits it with the documents that it shows. What cannot be audited is not shown. */
export async function viewed<Seen>(
  audit: Audit,
  principal: Principal,
  { signal, secrecy = { names: new Set() }, data: asked = {}, ...event }: View,
  look: (principal: Principal) => Promise<Seen>,
): Promise<Seen> {
  audit.requireWritable(true)
  const shown = new Shown()
  const removed = new Set<string>()
  const data = recordable(asked, secrecy, { removed }) as Readonly<Record<string, unknown>>
  const tell = ({
    status,
    error,
  }: {
    readonly status: AuditStatus
    readonly error?: string
  }): Promise<void> => {
    const why = error === undefined ? {} : { error: recordableText(error, secrecy, { most: 500, removed }) }
    return audit.record(eventOf(principal, { ...event, data, status, ...why, documents: shown.told() }))
  }
  let seen: Seen
  try {
    seen = await look({ ...principal, shown })
  } catch (error) {
    if (signal?.aborted) await tell({ status: 'cancelled' })
    else if (error instanceof AppError) await tell(refusalOf(error))
    throw error
  }
  await tell({ status: 'ok' })
  return seen
}
