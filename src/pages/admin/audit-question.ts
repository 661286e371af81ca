/** What auditors ask of the log on pages, and its events as pages show them. */
import type { Context } from 'koa'
import { AppError } from '#leaf/errors.ts'
import type { Ledger } from '#state/store.ts'
import type { AuditLine } from '#audit/audit.ts'
import {
  type AuditFilter,
  type AuditQuestion,
  endOf,
  filterOf,
  type LogPosition,
  questionFields,
  showEvent,
} from '#audit/reading.ts'
import { pictured } from '#leaf/pictured.ts'
import type { Needs } from '../../control/operation.ts'
import { auditor, hasRole, type Principal } from '../../core/principal.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import { instantOf, type Reader, minuteIn } from '#ui/forms.ts'
import { readerOf } from '../views.ts'
import { asked } from '#ui/requests.ts'

/** The dependencies of the log's pages. */
export type AuditPageDeps = UserPageDeps & Needs<'clients' | 'clock' | 'metrics'>

/** Returns what was asked of the log. */
export function questionOf(ctx: Context): AuditQuestion {
  const all = questionFields.map((name) => [name, asked(ctx, name)])
  return Object.fromEntries(all.filter(([, value]) => value !== '')) as AuditQuestion
}

/** Returns the filter for the log as it is by now. AppError `forbidden` for those who may not read the log. */
export async function filterFor(
  principal: Principal,
  question: AuditQuestion,
  ctx: Context,
  { audit, clock }: AuditPageDeps,
): Promise<AuditFilter> {
  if (!hasRole(principal, auditor))
    throw new AppError('forbidden', `the audit log is for the role ${auditor}`)
  const { since, until } = question
  const reader = readerOf(ctx)
  const local = {
    ...(since !== undefined && { since: momentFor(since, reader, clock.now()) }),
    ...(until !== undefined && { until: momentFor(until, reader, clock.now()) }),
  }
  const filter = filterOf({ ...question, ...local }, clock.now())
  await audit.settled()
  return filter
}

/** Returns a day or a time as its reader means it, by their own clock. */
function momentFor(text: string, reader: Reader, now: number): string {
  const days = ['today', 'yesterday'].indexOf(text)
  const day = days < 0 ? text : minuteIn(reader.timeZone, now - days * 86_400_000).slice(0, 10)
  const local = /^\d{4}-\d\d-\d\d$/.test(day) ? `${day}T00:00` : day.replace(' ', 'T')
  const instant = instantOf(local, reader)
  return instant === local ? text : instant
}

/** Returns where a log ends, as an address of a stream names it. */
export async function positionOf(ledger: Ledger): Promise<string> {
  return positionText(await endOf(ledger))
}

/** Returns a position as an address and the id of an event hold it. */
export function positionText(position: LogPosition): string {
  return JSON.stringify([...position])
}

/** Returns an event as a page shows it. */
export function rowOf(line: AuditLine, clients: ReadonlyMap<string, string>): Record<string, unknown> {
  const { seq, time, user = '–', type, target = '', client, status } = line
  return {
    seq,
    key: `${line.writer ?? ''} ${seq}`,
    time: pictured(time),
    user: pictured(user),
    type: pictured(type),
    target: pictured(target),
    client: client === undefined ? '' : pictured(clients.get(client) ?? client),
    status: pictured(status),
    whole: showEvent(line, { clients }),
  }
}
