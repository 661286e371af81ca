/** Running the site's reports over the rows that the principal may read. */
import { didYouMean } from '../core/names.ts'
import { AppError } from '../core/errors.ts'
import { hasRole, type Principal } from '../core/principal.ts'
import { Shown } from '../core/shown.ts'
import type { Documents } from './documents.ts'
import { accessTo } from './permission.ts'
import type { Report } from './platform.ts'
import { readReportFilters } from './report-filters.ts'
import { rowsOfDocuments, rowsOfSql, totalsOf } from './report-rows.ts'
import type { ReportRun } from './report-runs.ts'
import { readableTables } from './tables.ts'

/** How long a report may take. */
export interface RunOptions {
  readonly signal: AbortSignal
  /** How long to wait for a run in the background, in milliseconds. */
  readonly wait: number
}

/** What a report gave, and the filters that were in force, defaults included. */
export interface ReportResult {
  readonly columns: readonly { readonly name: string; readonly label: string }[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly totals?: Readonly<Record<string, unknown>>
  /** More rows than the report's cap. */
  readonly capped: boolean
  readonly filters: Readonly<Record<string, unknown>>
  /** Milliseconds since the epoch; older than now when a kept result is shown. */
  readonly at: number
}

/** A report that is still being made. */
export interface ReportPending {
  readonly pending: true
  readonly started: number
}

/** The reports that the principal may run. */
export function listReports(documents: Documents, principal: Principal): readonly Report[] {
  return [...documents.platform.reports.values()].filter((report) => mayRun(documents, principal, report))
}

/** A report that the principal may run; AppError `not_found` for others and for none. */
export function findReport(documents: Documents, principal: Principal, name: string): Report {
  const report = documents.platform.reports.get(name)
  if (report && mayRun(documents, principal, report)) return report
  throw new AppError(
    'not_found',
    `there is no report "${name}" that you may run${didYouMean(
      name,
      listReports(documents, principal).map((other) => other.name),
    )} (report_list names them)`,
  )
}

/** Runs a report, or shows what a run in the background has left; `wait` is how long to wait for one, in milliseconds. */
export async function runReport(
  documents: Documents,
  principal: Principal,
  name: string,
  given: Readonly<Record<string, unknown>>,
  options: RunOptions,
): Promise<ReportResult | ReportPending> {
  const report = findReport(documents, principal, name)
  const filters = await readReportFilters(documents, principal, report, given)
  const run = async (reader: Principal, signal: AbortSignal): Promise<ReportResult> => {
    const made =
      report.type === 'sql'
        ? await rowsOfSql(report, filters, readableTables(documents, reader), documents.runSql, signal)
        : await rowsOfDocuments(documents, reader, report, filters)
    const rows = made.rows.slice(0, report.maxRows)
    return {
      columns: made.columns,
      rows,
      ...(report.totals.length > 0 && { totals: totalsOf(report, rows) }),
      capped: made.total > rows.length,
      filters,
      at: documents.clock.now(),
    }
  }
  if (report.cacheSeconds === undefined) return await run(principal, options.signal)
  return await inBackground(documents, principal, report, filters, run, options)
}

/** Results that nobody asked for again make room: after an hour, or at once when there are many. */
const longestKept = 3_600_000
const mostKept = 200

async function inBackground(
  documents: Documents,
  principal: Principal,
  report: Report,
  filters: Readonly<Record<string, unknown>>,
  run: (reader: Principal, signal: AbortSignal) => Promise<ReportResult>,
  options: { readonly signal: AbortSignal; readonly wait: number },
): Promise<ReportResult | ReportPending> {
  const { reports } = documents.memory
  // For one user with these roles: the rows of others differ, though report and filters are the same.
  const key = JSON.stringify([report.name, report.source, principal.user, principal.roleKey, filters])
  const now = documents.clock.now()
  for (const [other, old] of reports)
    if (old.end && (now - old.end.at > longestKept || reports.size > mostKept)) reports.delete(other)
  let kept = reports.get(key)
  const over = kept?.end && ('error' in kept.end || now - kept.end.at > report.cacheSeconds! * 1000)
  // Another reading of the site may allow less than the one that the result was made under.
  if (over || kept?.platform !== documents.platform) {
    reports.delete(key)
    kept = undefined
  }
  if (!kept) {
    const shown = new Shown()
    const entry: ReportRun = { platform: documents.platform, started: now, shown, done: Promise.resolve() }
    // The caller may go; who asks again finds what was made meanwhile.
    entry.done = run({ ...principal, shown }, new AbortController().signal).then(
      (value) => void (entry.end = { value, at: documents.clock.now() }),
      (error: unknown) => void (entry.end = { error, at: documents.clock.now() }),
    )
    reports.set(key, entry)
    kept = entry
  }
  await Promise.race([kept.done, pause(options.wait, options.signal)])
  if (!kept.end) return { pending: true, started: kept.started }
  if ('error' in kept.end) throw kept.end.error
  principal.shown?.add(kept.shown)
  return kept.end.value as ReportResult
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}

function mayRun(documents: Documents, principal: Principal, report: Report): boolean {
  if (report.roles.length > 0 && !report.roles.some((role) => hasRole(principal, role))) return false
  return report.doctypes.every((name) => {
    const doctype = documents.platform.doctypes.get(name)
    if (!doctype) return false
    // Rows of a table are read through their document; the statement sees only what that allows.
    if (doctype.child) return true
    const access = accessTo(principal, doctype, documents.clock.now())
    return access.may('read') && access.may('report')
  })
}
