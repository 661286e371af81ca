/** The rows and totals of one run of a report; amounts of money in them are decimals. */
import { Decimal, DecimalSum } from '#leaf/decimal.ts'
import type { Principal } from '../../core/principal.ts'
import { aggregateIn, type CountedStates, statesOf } from '../asking/aggregating.ts'
import { order } from '#state/questions.ts'
import { conditionOf, type Filter, openTo, readFilters } from '../asking/filters.ts'
import { accessFor, type Documents, type Reach } from '../documents.ts'
import type { Field, Report } from '../platform/platform.ts'
import { listDocuments } from '../asking/reading.ts'
import type { ReadableTables, RunSql } from './run-sql.ts'
import { placesOf } from '../values.ts'

type Row = Readonly<Record<string, unknown>>

/** The result of a report, before its cap. */
export interface ReportRows {
  readonly columns: readonly { readonly name: string; readonly label: string }[]
  readonly rows: readonly Row[]
  /** The number of rows in all, as far as they were counted. */
  readonly total: number
  readonly counted?: CountedStates | undefined
}

/** Runs the statement of an SQL report over what the principal may read of its doctypes. */
export async function rowsOfSql(
  report: Report,
  filters: Row,
  all: ReadableTables,
  runSql: RunSql,
  signal: AbortSignal,
): Promise<ReportRows> {
  const result = await runSql({
    sql: report.sql!,
    parameters: Object.fromEntries(report.filters.map(({ name }) => [name, filters[name] ?? null])),
    tables: { ...all, tables: all.tables.filter((table) => report.doctypes.includes(table.name)) },
    // One more than may be shown, to know whether there are more.
    maxRows: report.maxRows + 1,
    signal,
  })
  const valueOf = (type: string | undefined, value: unknown): unknown =>
    type?.startsWith('DECIMAL') && typeof value === 'string' ? (Decimal.read(value) ?? value) : value
  return {
    columns: result.columns.map(({ name }) => ({ name, label: name })),
    rows: result.rows.map((row) =>
      Object.fromEntries(result.columns.map(({ name, type }, index) => [name, valueOf(type, row[index])])),
    ),
    total: result.rows.length,
  }
}

/** Lists or groups the documents of a declarative report. */
export async function rowsOfDocuments(
  documents: Documents,
  principal: Principal,
  report: Report,
  filters: Row,
): Promise<ReportRows> {
  const access = accessFor(documents, principal, report.doctypes[0]!)
  const triples = report.filters
    .filter((filter) => filters[filter.name] !== undefined && filters[filter.name] !== null)
    .map((filter) => [filter.field, filter.operator, filters[filter.name]])
  const conditions = [...readFilters(access, report.where), ...readFilters(access, triples)]
  const grouped = report.groupBy.length > 0 || report.columns.some((column) => column.aggregate)
  return {
    columns: report.columns.map(({ name, label }) => ({ name, label })),
    counted: await statesOf(access, openTo(access, conditionOf(conditions))),
    ...(grouped
      ? await groups(access, report, conditions)
      : await list(documents, principal, access, report, conditions)),
  }
}

async function groups(
  access: Reach,
  report: Report,
  conditions: readonly Filter[],
): Promise<Omit<ReportRows, 'columns'>> {
  const metrics = report.columns
    .filter((column) => column.aggregate)
    .map((column) => ({
      function: column.aggregate!,
      ...(!(column.aggregate === 'count' && column.field === undefined) && {
        field: column.field ?? column.name,
      }),
      as: column.name,
    }))
  const query = { groupBy: report.groupBy, metrics, limit: Infinity }
  const page = await aggregateIn(access, conditions, query)
  const rows = page.rows.map((row) =>
    Object.fromEntries(
      report.columns.map(({ name, field = name, aggregate }) => [
        name,
        row[aggregate ? name : field.replace(':', '_')],
      ]),
    ),
  )
  return { rows: report.orderBy === undefined ? rows : sorted(rows, report.orderBy), total: rows.length }
}

async function list(
  documents: Documents,
  principal: Principal,
  access: Reach,
  report: Report,
  conditions: readonly Filter[],
): Promise<Omit<ReportRows, 'columns'>> {
  const page = await listDocuments(documents, principal, {
    doctype: access.doctype.name,
    filters: conditions.map(({ field, operator, value }) => [field, operator, value]),
    fields: report.columns.map(({ name, field = name }) => field),
    limit: report.maxRows,
    ...(report.orderBy !== undefined && { orderBy: report.orderBy }),
    most: report.maxRows,
    clearOnly: true,
  })
  const valueOf = (field: Field | undefined, value: unknown): unknown => {
    const places = field && placesOf(field)
    return places !== undefined && typeof value === 'number' ? Decimal.of(value).round(places) : value
  }
  const rows = page.data.map((row) =>
    Object.fromEntries(
      report.columns.map(({ name, field = name }) => [
        name,
        valueOf(access.doctype.fields.get(field), row[field]),
      ]),
    ),
  )
  return { rows, total: rows.length + Number(page.more) }
}

/** Sums the columns that a report totals, over the rows that it shows. */
export function totalsOf(report: Report, rows: readonly Row[]): Row {
  return Object.fromEntries(
    report.totals.map((name) => {
      const sum = new DecimalSum()
      let places: number | undefined
      for (const { [name]: value } of rows) {
        if (typeof value === 'number') sum.add(value)
        if (!(value instanceof Decimal)) continue
        sum.add(value)
        places = Math.max(places ?? 0, value.places)
      }
      return [name, places === undefined ? sum.total(2).toNumber() : sum.total(places)]
    }),
  )
}

function sorted(rows: Row[], orderBy: string): Row[] {
  const [name = '', direction] = orderBy.trim().split(/\s+/)
  const sign = direction?.toLowerCase() === 'desc' ? -1 : 1
  return rows.sort((a, b) => sign * order(a[name] ?? null, b[name] ?? null))
}
