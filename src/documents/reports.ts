/** Running the site's reports over the rows that the principal may read. */
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { hasRole, type Principal } from '../core/principal.ts'
import { nearest } from '../core/schema.ts'
import { aggregateIn } from './aggregating.ts'
import { order, roundTo } from './expression-values.ts'
import { readFilters } from './filters.ts'
import { accessFor, collectionFor, type Ground } from './ground.ts'
import { accessTo } from './permission.ts'
import type { Report, ReportFilter } from './platform.ts'
import { listDocuments } from './reading.ts'
import type { ReportRun } from './report-runs.ts'
import type { RunSql } from './run-sql.ts'
import type { ReadableTables } from './tables.ts'
import { readValue, show } from './values.ts'

/** What a report needs besides the documents. */
export interface RunOptions {
  readonly runSql: RunSql
  readonly tables: (principal: Principal) => ReadableTables
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
export function listReports(ground: Ground, principal: Principal): readonly Report[] {
  return [...ground.platform.reports.values()].filter((report) => mayRun(ground, principal, report))
}

/** A report that the principal may run; AppError `not_found` for others and for none. */
export function findReport(ground: Ground, principal: Principal, name: string): Report {
  const report = ground.platform.reports.get(name)
  if (report && mayRun(ground, principal, report)) return report
  const near = nearest(
    name,
    listReports(ground, principal).map((other) => other.name),
  )
  throw new AppError(
    'not_found',
    `there is no report "${name}" that you may run${near === undefined ? '' : `; did you mean "${near}"?`} (report_list names them)`,
  )
}

/** Runs a report, or shows what a run in the background has left; `wait` is how long to wait for one, in milliseconds. */
export async function runReport(
  ground: Ground,
  principal: Principal,
  name: string,
  given: Readonly<Record<string, unknown>>,
  options: RunOptions,
): Promise<ReportResult | ReportPending> {
  const report = findReport(ground, principal, name)
  const filters = await readReportFilters(ground, principal, report, given)
  const run = (signal: AbortSignal) => makeReport(ground, principal, report, filters, { ...options, signal })
  if (report.cacheSeconds === undefined) return await run(options.signal)
  return await inBackground(ground, principal, report, filters, run, options)
}

/** Results that nobody asked for again make room: after an hour, or at once when there are many. */
const longestKept = 3_600_000
const mostKept = 200

async function inBackground(
  ground: Ground,
  principal: Principal,
  report: Report,
  filters: Readonly<Record<string, unknown>>,
  run: (signal: AbortSignal) => Promise<ReportResult>,
  options: { readonly signal: AbortSignal; readonly wait: number },
): Promise<ReportResult | ReportPending> {
  const { reports } = ground.memory
  // For one user with these roles: the rows of others differ, though report and filters are the same.
  const key = JSON.stringify([report.name, report.source, principal.user, principal.roleKey, filters])
  const now = ground.clock.now()
  for (const [other, old] of reports)
    if (old.end && (now - old.end.at > longestKept || reports.size > mostKept)) reports.delete(other)
  let kept = reports.get(key)
  const over = kept?.end && ('error' in kept.end || now - kept.end.at > report.cacheSeconds! * 1000)
  // Another reading of the site may allow less than the one that the result was made under.
  if (over || kept?.platform !== ground.platform) {
    reports.delete(key)
    kept = undefined
  }
  if (!kept) {
    const entry: ReportRun = { platform: ground.platform, started: now, done: Promise.resolve() }
    // The caller may go; who asks again finds what was made meanwhile.
    entry.done = run(new AbortController().signal).then(
      (value) => void (entry.end = { value, at: ground.clock.now() }),
      (error: unknown) => void (entry.end = { error, at: ground.clock.now() }),
    )
    reports.set(key, entry)
    kept = entry
  }
  await Promise.race([kept.done, pause(options.wait, options.signal)])
  if (!kept.end) return { pending: true, started: kept.started }
  if ('error' in kept.end) throw kept.end.error
  return kept.end.value as ReportResult
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}

async function makeReport(
  ground: Ground,
  principal: Principal,
  report: Report,
  filters: Readonly<Record<string, unknown>>,
  { runSql, tables, signal }: RunOptions,
): Promise<ReportResult> {
  const made = report.type === 'sql' ? await fromSql() : await declared()
  const rows = made.rows.slice(0, report.maxRows)
  return {
    columns: made.columns,
    rows,
    ...(report.totals.length > 0 && { totals: totalsOf(report, rows) }),
    capped: made.total > rows.length,
    filters,
    at: ground.clock.now(),
  }

  async function fromSql() {
    const parameters = Object.fromEntries(
      report.filters.map((filter) => [filter.name, filters[filter.name] ?? null]),
    )
    const all = tables(principal)
    const result = await runSql({
      sql: report.sql!,
      parameters,
      tables: { ...all, tables: all.tables.filter((table) => report.doctypes.includes(table.name)) },
      // One more than may be shown, to know whether there are more.
      maxRows: report.maxRows + 1,
      signal,
    })
    return {
      columns: result.columns.map(({ name }) => ({ name, label: name })),
      rows: result.rows.map((row) =>
        Object.fromEntries(result.columns.map(({ name }, index) => [name, row[index]])),
      ),
      total: result.rows.length,
    }
  }

  async function declared() {
    const access = accessFor(ground, principal, report.doctypes[0]!)
    const triples = report.filters
      .filter((filter) => filters[filter.name] !== undefined && filters[filter.name] !== null)
      .map((filter) => [filter.field, filter.operator, filters[filter.name]])
    const conditions = [...readFilters(access, report.where), ...readFilters(access, triples)]
    const columns = report.columns.map(({ name, label }) => ({ name, label }))
    const grouped = report.groupBy.length > 0 || report.columns.some((column) => column.aggregate)
    if (grouped) {
      const metrics = report.columns
        .filter((column) => column.aggregate)
        .map((column) => ({
          function: column.aggregate!,
          ...(!(column.aggregate === 'count' && column.field === undefined) && {
            field: column.field ?? column.name,
          }),
          as: column.name,
        }))
      const page = await aggregateIn(ground, access, conditions, {
        groupBy: report.groupBy,
        metrics,
        limit: Infinity,
      })
      const rows = page.rows.map((row) =>
        Object.fromEntries(
          report.columns.map(({ name, field = name, aggregate }) => [
            name,
            row[aggregate ? name : field.replace(':', '_')],
          ]),
        ),
      )
      return {
        columns,
        rows: report.orderBy === undefined ? rows : sorted(rows, report.orderBy),
        total: rows.length,
      }
    }
    const fields = report.columns.map(({ name, field = name }) => field)
    const page = await listDocuments(ground, principal, {
      doctype: access.doctype.name,
      filters: conditions.map(({ field, operator, value }) => [field, operator, value]),
      fields,
      limit: report.maxRows,
      ...(report.orderBy !== undefined && { orderBy: report.orderBy }),
      most: report.maxRows,
      clearOnly: true,
    })
    const rows = page.data.map((row) =>
      Object.fromEntries(report.columns.map(({ name, field = name }) => [name, row[field]])),
    )
    return { columns, rows, total: page.total }
  }
}

function mayRun(ground: Ground, principal: Principal, report: Report): boolean {
  if (report.roles.length > 0 && !report.roles.some((role) => hasRole(principal, role))) return false
  return report.doctypes.every((name) => {
    const doctype = ground.platform.doctypes.get(name)
    if (!doctype) return false
    // Rows of a table are read through their document; the statement sees only what that allows.
    if (doctype.child) return true
    const access = accessTo(principal, doctype, ground.clock.now())
    return access.may('read') && access.may('report')
  })
}

async function readReportFilters(
  ground: Ground,
  principal: Principal,
  report: Report,
  given: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  const problems: string[] = []
  const filters: Record<string, unknown> = {}
  const names = report.filters.map((filter) => filter.name)
  for (const name of Object.keys(given))
    if (!names.includes(name)) {
      const near = nearest(name, names)
      problems.push(
        `unknown filter "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}; it takes ${names.join(', ') || 'none'}`,
      )
    }
  for (const filter of report.filters) {
    const value = given[filter.name] ?? defaultOf(ground, filter)
    if (value === undefined || value === null || value === '') {
      // Collected with the other problems: a model mends all of them in one go.
      if (filter.required) problems.push(`${filter.name} is required (${filter.type})`)
      continue
    }
    const read = readValue(filter, value)
    if ('problem' in read) problems.push(`${filter.name}: ${read.problem}`)
    else if (
      filter.type === 'link' &&
      !(await isVisible(ground, principal, filter.doctype!, String(read.value)))
    )
      problems.push(
        `${filter.name}: there is no ${filter.doctype!} ${show(value)} that you may read (search_link finds names)`,
      )
    else filters[filter.name] = read.value
  }
  if (problems.length > 0)
    throw new AppError('invalid', `${report.name}: ${problems.join('; ')}`, { data: { problems } })
  return filters
}

async function isVisible(
  ground: Ground,
  principal: Principal,
  name: string,
  document: string,
): Promise<boolean> {
  const doctype = ground.platform.doctypes.get(name)!
  const found = await collectionFor(ground, doctype).get(document)
  return found !== undefined && accessTo(principal, doctype, ground.clock.now()).allows('read', found)
}

/** A date default may be `today`, or `today-30` for thirty days ago. */
function defaultOf(ground: Ground, filter: ReportFilter): unknown {
  const match =
    filter.type === 'date' && typeof filter.default === 'string'
      ? /^today(?:([+-])(\d{1,5}))?$/.exec(filter.default)
      : null
  if (!match) return filter.default
  const days = Number(match[2] ?? 0) * (match[1] === '-' ? -1 : 1)
  return isoTime(ground.clock.now() + days * 86_400_000).slice(0, 10)
}

function totalsOf(
  report: Report,
  rows: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> {
  return Object.fromEntries(
    report.totals.map((name) => [
      name,
      roundTo(
        rows.reduce((total, row) => total + (typeof row[name] === 'number' ? row[name] : 0), 0),
        2,
      ),
    ]),
  )
}

function sorted(
  rows: Readonly<Record<string, unknown>>[],
  orderBy: string,
): Readonly<Record<string, unknown>>[] {
  const [name = '', direction] = orderBy.trim().split(/\s+/)
  const sign = direction?.toLowerCase() === 'desc' ? -1 : 1
  return rows.sort((a, b) => sign * order(a[name] ?? null, b[name] ?? null))
}
