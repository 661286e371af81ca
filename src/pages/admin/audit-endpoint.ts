/** The audit log for auditors: filters, one whole event, export, and events as they come where a script runs. */
import { Readable } from 'node:stream'
import { type AuditLine, auditStatuses } from '#audit/audit.ts'
import {
  type AuditQuestion,
  exportCsv,
  exportJsonl,
  questionFields,
  searchAudit,
  tailAudit,
} from '#audit/reading.ts'
import { isoTime } from '#leaf/clock.ts'
import { clientNames } from '../../core/principal.ts'
import { AppError } from '#leaf/errors.ts'
import { answerDownload } from '#ui/requests.ts'
import { allowScript } from '#ui/browser.ts'
import { type AuditPageDeps, filterFor, positionOf, questionOf, rowOf } from './audit-question.ts'
import type { Messages } from '#ui/pages.ts'
import { pages } from '../pages.ts'
import { type TypedField, shownForm, choiceOf, problemsAsked } from '#ui/forms.ts'
import type { Showing } from '../route-page.ts'
import { lookedAt, viewed } from '../documents/viewing.ts'
import { readerOf } from '../views.ts'

const mostEvents = 200
/** The most values that a field suggests. */
const mostSuggestions = 200
/** The most bytes of a page's events; the older ones are a page further. */
const mostBytes = 60_000
const exports = {
  csv: { write: exportCsv, type: 'text/csv; charset=utf-8' },
  jsonl: { write: exportJsonl, type: 'application/x-ndjson' },
} as const

/** Answers GET with the newest events that fit the filters; a filter that cannot be read is told at its field. */
export function auditEndpoint(deps: AuditPageDeps): Showing<'auditors'> {
  const { audit } = deps
  return async (ctx, principal) => {
    const question = questionOf(ctx)
    const signal = lookedAt(ctx)
    allowScript(ctx)
    const query = new URLSearchParams(question).toString()
    const clients = clientNames(await deps.clients.list())
    const fields = fieldsFor(suggestionsOf(deps, clients), readerOf(ctx).messages)
    const shown = (problems: readonly string[] = []) => ({
      ...shownForm(fields, { values: question, problems, reader: readerOf(ctx), prefix: '' }),
      filtered: Object.keys(question).length,
      query,
      events: [],
      older: '',
      live: '',
    })
    try {
      const view = { type: 'audit.view', data: { question }, signal }
      const { events, after } = await viewed(audit, principal, view, async () => {
        const filter = await filterFor(principal, question, ctx, deps)
        // Read first: what is written meanwhile is told twice rather than never.
        const end = await positionOf(audit.place)
        return {
          events: (await tailAudit(audit.place, mostEvents, filter, signal)).reverse(),
          after: end,
        }
      })
      const rows = fitting(events, (line) => rowOf(line, clients))
      const next = events[rows.length]
      const live = `${pages.auditStream.path}?${new URLSearchParams({ ...question, after }).toString()}`
      return { ...shown(), events: rows, older: next ? olderThan(question, next) : '', live }
    } catch (error) {
      return { ...shown(problemsAsked(error)), isFaulty: true }
    }
  }
}

/** Answers GET with every event that fits, as a file. */
export function auditExportEndpoint(deps: AuditPageDeps): Showing<'auditors'> {
  return async (ctx, principal) => {
    const format = ctx.path.slice(ctx.path.lastIndexOf('.') + 1)
    if (format !== 'csv' && format !== 'jsonl') throw new AppError('not_found', 'nothing is at this address')
    const question = questionOf(ctx)
    const view = { type: 'audit.export', data: { question, format } }
    const lines = await viewed(deps.audit, principal, view, async () =>
      searchAudit(deps.audit.place, await filterFor(principal, question, ctx, deps)),
    )
    const { type, write } = exports[format]
    answerDownload(ctx, `audit.${format}`, type, Readable.from(write(lines)))
  }
}

interface Suggestion {
  readonly value: string
  readonly label: string
}

/** Returns what each field suggests. */
function suggestionsOf(
  { people, site, metrics }: AuditPageDeps,
  clients: ReadonlyMap<string, string>,
): Readonly<Record<string, readonly Suggestion[]>> {
  const { platform, tools } = site.current()
  const named = (names: Iterable<string>): Suggestion[] =>
    [...names].slice(0, mostSuggestions).map((value) => ({ value, label: '' }))
  return {
    user: [...people().users.values()]
      .slice(0, mostSuggestions)
      .map(({ id, fullName }) => ({ value: id, label: fullName })),
    client: [...clients].slice(0, mostSuggestions).map(([value, label]) => ({ value, label })),
    doctype: named(platform.doctypes.keys()),
    target: named(tools.map(({ name }) => name)),
    type: named([...metrics.eventTypes].sort()),
    since: named(['1h', '24h', '7d', 'today', 'yesterday']),
  }
}

/** Returns the fields by which the log is asked. */
function fieldsFor(suggested: ReturnType<typeof suggestionsOf>, { text }: Messages): TypedField[] {
  const examples: Readonly<Record<string, string>> = {
    document: 'Customer/ACME',
    type: 'tool.call',
    since: text('audit.since_example'),
  }
  return questionFields.map((name) => ({
    name,
    ...(name === 'status'
      ? {
          label: text('audit.ended'),
          ...choiceOf(auditStatuses.map((status) => [status, text('audit.status_' + status)])),
          blank: text('audit.any'),
        }
      : { label: text('audit.' + name), kind: 'line', placeholder: examples[name] }),
    suggested: suggested[name],
  }))
}

/** Returns as many rows as a page holds, and at least one. */
function fitting<Line, Row>(lines: readonly Line[], rowOf: (line: Line) => Row): readonly Row[] {
  const rows: Row[] = []
  let bytes = 0
  for (const line of lines) {
    const row = rowOf(line)
    // Escaped text is longer.
    bytes += Buffer.byteLength(JSON.stringify(row).replaceAll(/[&<>"']/g, '&quot;'))
    if (bytes >= mostBytes && rows.length > 0) break
    rows.push(row)
  }
  return rows
}

/** Returns the same question from this event on; others may have the same millisecond. */
function olderThan(question: AuditQuestion, { time }: AuditLine): string {
  const until = isoTime(Date.parse(time) + 1)
  return new URLSearchParams({ ...question, until }).toString()
}
