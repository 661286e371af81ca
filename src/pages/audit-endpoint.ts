/** The audit log for those who audit: filters, one event whole, export, and a page that renews itself. No script. */
import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { type AuditLine, auditStatuses } from '../audit/event.ts'
import { exportCsv, exportJsonl } from '../audit/export.ts'
import type { AuditFilter } from '../audit/filter.ts'
import type { AuditLog } from '../audit/open-audit.ts'
import { type AuditQuestion, filterOf, questionFields } from '../audit/question.ts'
import { clientNames, showEvent, pictured } from '../audit/render.ts'
import { searchAudit, tailAudit } from '../audit/search.ts'
import { type Clock, isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { auditor, hasRole, type Principal } from '../core/principal.ts'
import { answerPage } from '../oauth/browser-middleware.ts'
import type { Clients } from '../oauth/clients.ts'
import { forUsers, type UserPageDeps } from './desk-endpoint.ts'
import { viewed } from './viewing.ts'

/** What the pages of the log work with. */
export interface AuditPageDeps extends UserPageDeps {
  readonly audit: AuditLog
  readonly clients: Pick<Clients, 'list'>
  readonly clock: Clock
}

const refreshSeconds = 5
const mostEvents = 200
/** Somebody who watches looks every few seconds, and is told once in this time. */
const watchMilliseconds = 900_000
/** What the events of one page may weigh; the older ones are a page further. */
const mostBytes = 80_000
const exports = {
  csv: { write: exportCsv, type: 'text/csv; charset=utf-8' },
  jsonl: { write: exportJsonl, type: 'application/x-ndjson' },
} as const

/** GET: the newest events that fit the filters; `live=1` renews the page by itself. */
export function auditEndpoint(deps: AuditPageDeps): Middleware {
  const { audit, clock } = deps
  const isWatched = watchers(clock)
  return forUsers(deps, async (ctx, principal) => {
    const live = ctx.query['live'] === '1'
    const question = questionOf(ctx)
    const look = async (): Promise<AuditLine[]> => {
      const filter = await asked(principal, question, deps)
      return (await tailAudit(audit.place, mostEvents, filter)).reverse()
    }
    const watched = live && isWatched(`${principal.user}\n${JSON.stringify(question)}`)
    const view = { type: 'audit.view', data: { question, live } }
    const events = watched ? await look() : await viewed(audit, principal, view, look)
    const clients = clientNames(await deps.clients.list())
    if (live) ctx.set('Refresh', String(refreshSeconds))
    const query = new URLSearchParams(question).toString()
    const rows = fitting(events.map((line) => rowOf(line, clients)))
    const next = events[rows.length]
    const page = {
      asked: Object.fromEntries(questionFields.map((name) => [name, question[name] ?? ''])),
      statuses: auditStatuses,
      live,
      query,
      seconds: refreshSeconds,
      events: rows,
      older: next ? olderThan(question, next) : '',
    }
    answerPage(ctx, 200, deps.render(ctx, 'audit', page))
  })
}

/** GET: every event that fits, as a file. */
export function auditExportEndpoint(deps: AuditPageDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const format = ctx.path.slice(ctx.path.lastIndexOf('.') + 1)
    if (format !== 'csv' && format !== 'jsonl') throw new AppError('not_found', 'nothing is at this address')
    const question = questionOf(ctx)
    const view = { type: 'audit.export', data: { question, format } }
    const lines = await viewed(deps.audit, principal, view, async () =>
      searchAudit(deps.audit.place, await asked(principal, question, deps)),
    )
    ctx.status = 200
    ctx.type = exports[format].type
    ctx.attachment(`audit.${format}`)
    ctx.body = Readable.from(exports[format].write(lines))
  })
}

/** Whether the same was asked within the time; who asks first is remembered. */
function watchers(clock: Clock): (key: string) => boolean {
  const watching = new Map<string, number>()
  return (key) => {
    const now = clock.now()
    for (const [other, since] of watching) if (now - since > watchMilliseconds) watching.delete(other)
    if (watching.has(key)) return true
    watching.set(key, now)
    return false
  }
}

/** What is looked for in the log as it is by now. AppError `forbidden` for who may not read it. */
async function asked(
  principal: Principal,
  question: AuditQuestion,
  { audit, clock }: AuditPageDeps,
): Promise<AuditFilter> {
  if (!hasRole(principal, auditor))
    throw new AppError('forbidden', `the audit log is for the role ${auditor}`)
  const filter = filterOf(question, clock.now())
  await audit.settled()
  return filter
}

function questionOf(ctx: Context): AuditQuestion {
  const entries = questionFields.flatMap((name) => {
    const value = ctx.query[name]
    return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : []
  })
  return Object.fromEntries(entries) as AuditQuestion
}

/** As many rows as a page holds, and one always. */
function fitting<Row>(rows: readonly Row[]): readonly Row[] {
  let bytes = 0
  return rows.filter((row, index) => {
    // What is escaped is longer.
    bytes += Buffer.byteLength(JSON.stringify(row).replaceAll(/[&<>"']/g, '&quot;'))
    return bytes < mostBytes || index === 0
  })
}

/** The same question from this event on; others may be of its millisecond. */
function olderThan(question: AuditQuestion, { time }: AuditLine): string {
  const until = isoTime(Date.parse(time) + 1)
  return new URLSearchParams({ ...question, until }).toString()
}

function rowOf(line: AuditLine, clients: ReadonlyMap<string, string>): Record<string, unknown> {
  const { seq, time, user = '–', type, target = '', client, status } = line
  return {
    seq,
    time: pictured(time).slice(0, 19).replace('T', ' '),
    user: pictured(user),
    type: pictured(type),
    target: pictured(target),
    client: client === undefined ? '' : pictured(clients.get(client) ?? client),
    status: pictured(status),
    whole: showEvent(line, { clients }),
  }
}
