import { searchAudit, tailAudit } from '../audit/search.ts'
import { clientNames } from '../audit/render.ts'
import { filterOf } from '../audit/question.ts'
import type { AuditLine } from '../audit/event.ts'
import type { AuditLog } from '../audit/open-audit.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { auditor, hasRole, type Principal } from '../core/principal.ts'
import type { Clients } from '../oauth/clients.ts'
import type { Auditor } from '../pages/audit-endpoint.ts'
import { viewed } from './viewing.ts'

const mostEvents = 200
/** Somebody who watches looks every few seconds, and is told once in this time. */
const watchMilliseconds = 900_000

/** The audit log for those who hold its role; that they look is told as well. */
export function createAuditor({
  audit,
  clients,
  clock,
}: {
  readonly audit: AuditLog
  readonly clients: Pick<Clients, 'list'>
  readonly clock: Clock
}): Auditor {
  const watching = new Map<string, number>()
  const requireRole = (principal: Principal): void => {
    if (!hasRole(principal, auditor))
      throw new AppError('forbidden', `the audit log is for the role ${auditor}`)
  }
  const isWatched = (key: string): boolean => {
    const now = clock.now()
    for (const [other, since] of watching) if (now - since > watchMilliseconds) watching.delete(other)
    if (watching.has(key)) return true
    watching.set(key, now)
    return false
  }
  return {
    search: async (principal, question, live) => {
      const look = async (): Promise<{
        events: readonly AuditLine[]
        clients: ReadonlyMap<string, string>
      }> => {
        requireRole(principal)
        const filter = filterOf(question, clock.now())
        await audit.settled()
        const events = (await tailAudit(audit.place, mostEvents, filter)).reverse()
        return { events, clients: clientNames(await clients.list()) }
      }
      const watched = live && isWatched(`${principal.user}\n${JSON.stringify(question)}`)
      if (watched) return look()
      return viewed(audit, principal, { type: 'audit.view', data: { question, live } }, look)
    },
    lines: (principal, question, format) =>
      viewed(audit, principal, { type: 'audit.export', data: { question, format } }, async () => {
        requireRole(principal)
        const filter = filterOf(question, clock.now())
        await audit.settled()
        return searchAudit(audit.place, filter)
      }),
  }
}
