/** Runs the site's reports over the rows that the principal may read. */
import { Stop } from '#leaf/stop.ts'
import { meantOrKnown } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import { hasRole, type Principal } from '../../core/principal.ts'
import { type Documents, reachOf } from '../documents.ts'
import type { Report } from '../platform/platform.ts'
import { readReportFilters } from './report-filters.ts'
import { rowsOfDocuments, rowsOfSql, totalsOf } from './report-rows.ts'
import { type ReportPending, type ReportResult, runInBackground, type RunOptions } from './report-runs.ts'
import { statesRead } from './statement-states.ts'
import { readableTables } from './tables.ts'

/** Lists the reports that the principal may run. */
export function listReports(documents: Documents, principal: Principal): readonly Report[] {
  return [...documents.platform.reports.values()].filter((report) => mayRun(documents, principal, report))
}

/** Finds a report that the principal may run; AppError `not_found` for others and for none. */
export function findReport(documents: Documents, principal: Principal, name: string): Report {
  const report = documents.platform.reports.get(name)
  if (report && mayRun(documents, principal, report)) return report
  throw new AppError(
    'not_found',
    `there is no report "${name}" that you may run${meantOrKnown(
      name,
      listReports(documents, principal).map((other) => other.name),
    )} (report_list names them)`,
  )
}

/** Runs a report, or shows the result of a run in the background; `wait`: milliseconds to wait for one. */
export async function runReport(
  documents: Documents,
  principal: Principal,
  name: string,
  given: Readonly<Record<string, unknown>>,
  options: RunOptions,
): Promise<ReportResult | ReportPending> {
  const report = findReport(documents, principal, name)
  const filters = await readReportFilters(documents, principal, report, given)
  // A run in the background does not end with its first caller, who is charged for it.
  const { stop } = documents
  const own = report.cacheSeconds === undefined ? documents : { ...documents, stop: new Stop(stop?.payer) }
  const run = async (reader: Principal, signal: AbortSignal): Promise<ReportResult> => {
    const asked = { ...own, asker: reader }
    const made =
      report.type === 'sql'
        ? await rowsOfSql(report, filters, readableTables(asked, reader), own.runSql, signal)
        : await rowsOfDocuments(asked, reader, report, filters)
    const counted = made.counted ?? (report.sql && (await statesRead(asked, reader, report.sql)))
    const rows = made.rows.slice(0, report.maxRows)
    return {
      columns: made.columns,
      rows,
      ...(report.totals.length > 0 && { totals: totalsOf(report, rows) }),
      ...(counted && { counted }),
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
    // Rows of a table are read through their document; the statement sees only the rows that this allows.
    if (doctype.child) return true
    const access = reachOf(documents, principal, doctype)
    return access.may('read') && access.may('report')
  })
}
