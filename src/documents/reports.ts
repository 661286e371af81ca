/** Running the site's reports over the rows that the principal may read. */
import { didYouMean } from '../core/names.ts'
import { AppError } from '../core/errors.ts'
import { hasRole, type Principal } from '../core/principal.ts'
import type { Documents } from './documents.ts'
import { accessTo } from './permission.ts'
import type { Report } from './platform.ts'
import { readReportFilters } from './report-filters.ts'
import { rowsOfDocuments, rowsOfSql, totalsOf } from './report-rows.ts'
import { type ReportPending, type ReportResult, runInBackground, type RunOptions } from './report-runs.ts'
import { readableTables } from './tables.ts'

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
  return await runInBackground(documents, principal, { report, filters }, run, options)
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
