import type { Ledger } from '#state/store.ts'
import type { AuditFilter } from './filter.ts'
import { searchAudit } from './search.ts'

/** Counts of events. */
export interface AuditSummary {
  readonly events: number
  /** The time of the first event, ISO 8601; absent when nothing happened. */
  readonly first?: string
  readonly last?: string
  readonly by_type: Readonly<Record<string, number>>
  readonly by_status: Readonly<Record<string, number>>
  readonly by_user: Readonly<Record<string, number>>
  readonly by_target: Readonly<Record<string, number>>
}

const shown = 50

/** Counts the events that match; of users and targets, only the most frequent. */
export async function summarizeAudit(ledger: Ledger, filter: AuditFilter = {}): Promise<AuditSummary> {
  const counts = { type: new Map<string, number>(), status: new Map<string, number>() }
  const users = new Map<string, number>()
  const targets = new Map<string, number>()
  let events = 0
  let first: string | undefined
  let last: string | undefined
  for await (const line of searchAudit(ledger, filter)) {
    events++
    first ??= line.time
    last = line.time
    count(counts.type, line.type)
    count(counts.status, line.status)
    if (line.user !== undefined) count(users, line.user)
    if (line.target !== undefined) count(targets, line.target)
  }
  return {
    events,
    ...(first !== undefined && { first, last }),
    by_type: most(counts.type, Infinity),
    by_status: most(counts.status, Infinity),
    by_user: most(users, shown),
    by_target: most(targets, shown),
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function most(counts: ReadonlyMap<string, number>, limit: number): Record<string, number> {
  const sorted = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return Object.fromEntries(sorted.slice(0, limit))
}
