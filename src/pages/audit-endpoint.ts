/** The audit log for those who audit: filters, one event whole, export, and a page that renews itself. No script. */
import { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { type AuditLine, auditStatuses } from '../audit/event.ts'
import { exportCsv, exportJsonl } from '../audit/export.ts'
import { type AuditQuestion, questionFields } from '../audit/question.ts'
import { showEvent, pictured } from '../audit/render.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { answerPage } from '../oauth/browser-middleware.ts'
import { forUsers, type UserPageDeps } from './desk-endpoint.ts'

/** Where the page gets its events; AppError `forbidden` for who may not read the log. */
export interface Auditor {
  /** The newest events that fit, newest first, and the names of clients. */
  search(
    principal: Principal,
    question: AuditQuestion,
    live: boolean,
  ): Promise<{ readonly events: readonly AuditLine[]; readonly clients: ReadonlyMap<string, string> }>
  /** Every event that fits, oldest first. */
  lines(principal: Principal, question: AuditQuestion, format: string): Promise<AsyncIterable<AuditLine>>
}

/** What the pages of the log work with. */
export interface AuditPageDeps extends UserPageDeps {
  readonly auditor: Auditor
}

const refreshSeconds = 5
/** What the events of one page may weigh; the older ones are a page further. */
const mostBytes = 80_000
const exports = {
  csv: { write: exportCsv, type: 'text/csv; charset=utf-8' },
  jsonl: { write: exportJsonl, type: 'application/x-ndjson' },
} as const

/** GET: the newest events that fit the filters; `live=1` renews the page by itself. */
export function auditEndpoint(deps: AuditPageDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const live = ctx.query['live'] === '1'
    const question = questionOf(ctx)
    const { events, clients } = await deps.auditor.search(principal, question, live)
    if (live) ctx.set('Refresh', String(refreshSeconds))
    const query = new URLSearchParams(question).toString()
    const rows = fitting(events.map((line) => rowOf(line, clients)))
    const next = events[rows.length]
    const view = {
      asked: Object.fromEntries(questionFields.map((name) => [name, question[name] ?? ''])),
      statuses: auditStatuses,
      live,
      query,
      seconds: refreshSeconds,
      events: rows,
      older: next ? olderThan(question, next) : '',
    }
    answerPage(ctx, 200, deps.render(ctx, 'audit', view))
  })
}

/** GET: every event that fits, as a file. */
export function auditExportEndpoint(deps: AuditPageDeps): Middleware {
  return forUsers(deps, async (ctx, principal) => {
    const format = ctx.path.slice(ctx.path.lastIndexOf('.') + 1)
    if (format !== 'csv' && format !== 'jsonl') throw new AppError('not_found', 'nothing is at this address')
    const lines = await deps.auditor.lines(principal, questionOf(ctx), format)
    ctx.status = 200
    ctx.type = exports[format].type
    ctx.attachment(`audit.${format}`)
    ctx.body = Readable.from(exports[format].write(lines))
  })
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
