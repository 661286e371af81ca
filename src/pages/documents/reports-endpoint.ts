/** The site's reports for people: each with its filters, its result, a picture of it, and as a file. */
import type { Context } from 'koa'
import { Decimal } from '#leaf/decimal.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Field, Report } from '../../documents/platform/platform.ts'
import { filterLabel } from '../../documents/platform/read-reports.ts'
import { findReport, listReports } from '../../documents/reports/reports.ts'
import { type Params, pathPart, queryOf, readParams } from '#ui/requests.ts'
import { orDash } from './call-subject.ts'
import { choicesFor, typedField } from './document-inputs.ts'
import { isNumber, answerSheet, sheetFormat } from '#ui/lists.ts'
import { shownValue, type ShownValue } from './document-words.ts'
import { looked, told } from './documents-endpoint.ts'
import type { UserPageDeps } from '../desk/desk-endpoint.ts'
import {
  dayText,
  numberText,
  type Reader,
  type TypedField,
  givenIn,
  shownForm,
  withoutBlanks,
  problemsAsked,
} from '#ui/forms.ts'
import type { Showing } from '../route-page.ts'
import { usableTool, useTool } from './use-tool.ts'
import { readerOf } from '../views.ts'

const tool = 'generate_report'
const rowsOfPage = 100
const mostBars = 12
/** The most rows of a file, which come in parts as large as one answer may be. */
const mostExported = 20_000

type Row = Readonly<Record<string, unknown>>

/** A part of the result of a report, as its tool answers it. */
interface Part {
  readonly status: string
  readonly columns: readonly { readonly name: string; readonly label: string }[]
  readonly data: readonly Row[]
  readonly totals?: Row
  readonly total_count: number
  readonly made: string
  readonly capped?: string
  readonly filters_applied: Row
}

/** Answers GET with the reports that the user may run. */
export function reportsEndpoint(deps: UserPageDeps): Showing<'users'> {
  return (ctx, user) => {
    const { documents } = deps.site.current()
    const reports = usableTool(deps, user, tool) ? listReports(documents, user) : []
    const shown = reports.map(({ name }) => {
      const report = documents.platform.reports.get(name)!
      const said = wordsOf(report, readerOf(ctx))
      return { name, title: said(name), description: said(report.description) }
    })
    return Promise.resolve({ reports: shown })
  }
}

/** Returns what the texts of a report are called in its reader's language. */
function wordsOf({ translations }: Report, { language }: Reader): (text: string) => string {
  const words = translations.get(language)
  return (text) => words?.get(text) ?? text
}

/** Answers GET with one report: it runs as soon as what it needs is there. */
export function reportEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (ctx, user) => {
    const { report, form, fields, reader, given } = await askedIn(ctx, deps, user)
    const said = wordsOf(report, reader)
    const offset = Math.min(100_000, Math.max(0, Math.floor(Number(form.get('offset')) || 0)))
    const shown = (values: Row, problems?: readonly string[]) => ({
      name: report.name,
      title: said(report.name),
      about: said(report.description),
      ...shownForm(fields, { form: problems && form, values, problems, reader }),
      query: queryOf(ctx),
    })
    const choices = await looked(deps, user, { target: `Report/${report.name}` }, (documents, principal) =>
      choicesFor(documents, principal, fields),
    )
    const blank = { choices, result: undefined, isRunning: false, isFirst: true, next: '' }
    const lacks = report.filters.some(
      ({ name, required, default: usual }) => required && usual === undefined && given[name] === undefined,
    )
    if (lacks && Object.keys(given).length === 0) return { ...shown(given), ...blank }
    try {
      const part = await resultPart(deps, user, report, { given, offset })
      if (part.status === 'running') {
        ctx.set('Refresh', '3')
        return { ...shown(given), ...blank, isRunning: true }
      }
      const { documents } = deps.site.current()
      const rows = part.data.slice(0, rowsOfPage)
      const isMore = offset + rows.length < part.total_count
      return {
        ...shown(part.filters_applied),
        ...blank,
        result: resultOf(documents, report, { ...part, data: rows }, reader),
        isFirst: offset === 0,
        next: isMore ? queryOf(ctx, { offset: String(offset + rows.length) }) : '',
      }
    } catch (error) {
      return { ...shown(given, problemsAsked(error)), ...blank, isFaulty: true }
    }
  }
}

/** Answers GET with the result as a file. */
export function reportFileEndpoint(deps: UserPageDeps): Showing<'users'> {
  return async (ctx, user) => {
    const format = sheetFormat(pathPart(ctx, 'format'))
    const { report, given, reader } = await askedIn(ctx, deps, user)
    const rows: unknown[][] = []
    for (;;) {
      const part = await resultPart(deps, user, report, { given, offset: rows.length })
      if (part.status === 'running')
        throw new AppError('unavailable', 'the report is still running; try again later')
      for (const row of part.data) rows.push(part.columns.map(({ name }) => numberIn(row[name]) ?? row[name]))
      if (part.data.length > 0 && rows.length < Math.min(part.total_count, mostExported)) continue
      const { documents } = deps.site.current()
      // What is computed has no field; a day in it looks like one.
      const said = wordsOf(report, reader)
      const columns = part.columns.map(({ name, label }) => ({
        label: said(label),
        type: fieldOf(documents, report, name)?.type ?? 'date',
      }))
      return answerSheet(ctx, format, { name: report.name, columns, rows }, reader)
    }
  }
}

async function resultPart(
  deps: UserPageDeps,
  user: Principal,
  { name }: Report,
  { given, offset }: { readonly given: Row; readonly offset: number },
): Promise<Part> {
  const answer = await useTool(deps, user, tool, { report_name: name, filters: given, offset })
  return answer as unknown as Part
}

interface Asked {
  readonly report: Report
  readonly form: Params
  readonly fields: readonly TypedField[]
  readonly reader: Reader
  readonly given: Row
}

/** Reads which report is asked for, and with what. AppError `not_found`, audited like every look at what is not there. */
async function askedIn(ctx: Context, deps: UserPageDeps, user: Principal): Promise<Asked> {
  const name = pathPart(ctx, 'name')
  const { documents } = deps.site.current()
  const report = await told(deps, user, `Report/${name}`, () => {
    if (!usableTool(deps, user, tool)) throw new AppError('not_found', 'nothing is at this address')
    return findReport(documents, user, name)
  })
  const reader = readerOf(ctx)
  const said = wordsOf(report, reader)
  const fields = report.filters.map((filter): TypedField => {
    const label = said(filterLabel(filter))
    const words = new Map(filter.options.map((option) => [option, said(option)]))
    const field = typedField({ ...filter, label, description: said(filter.description), words })
    return field.kind === 'flag' ? { ...field, kind: 'yesno' } : field
  })
  const form = readParams(new URLSearchParams(ctx.querystring))
  return { report, form, fields, reader, given: withoutBlanks(givenIn(form, fields, { reader })) }
}

/** Returns the result in words, its totals, and the bars of its first number. */
function resultOf(documents: Documents, report: Report, part: Part, reader: Reader) {
  const said = wordsOf(report, reader)
  const columns = part.columns.map((column) => {
    const numbers = part.data.map((row) => numberIn(row[column.name])).filter((value) => value !== undefined)
    const field = fieldOf(documents, report, column.name)
    const places = Math.max(0, ...numbers.map(placesIn))
    return { ...column, field, isNumber: numbers.length > 0, places }
  })
  const cell = (column: (typeof columns)[number], row: Row): ShownValue => {
    const value = numberIn(row[column.name]) ?? row[column.name]
    const isNumeric = typeof value === 'number' || value instanceof Decimal
    if (column.field && (isNumber(column.field) || !isNumeric))
      return shownValue(column.field, value, reader, row)
    if (isNumeric) return { value: numberText(value, reader, column.places) }
    if (typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)) return { value: dayText(value, reader) }
    return { value: orDash(value) }
  }
  const name = columns.find((column) => !column.isNumber)
  const measured =
    columns.find(({ isNumber: is, places }) => is && places > 0) ?? columns.find((one) => one.isNumber)
  const size = (row: Row): number => Number((measured && numberIn(row[measured.name])) ?? 0)
  const most = Math.max(0, ...part.data.map(size))
  const bars =
    name && measured && most > 0 && part.data.length > 1
      ? part.data.slice(0, mostBars).map((row) => ({
          label: cell(name, row).value,
          text: cell(measured, row).value,
          width: Math.max(0, Math.round((size(row) / most) * 1000) / 10),
        }))
      : []
  return {
    columns: columns.map(({ label, isNumber: is }) => ({ label: said(label), isNumber: is })),
    rows: part.data.map((row) => columns.map((column) => cell(column, row))),
    totals:
      part.totals &&
      columns.map((column) =>
        part.totals![column.name] === undefined ? '' : cell(column, part.totals!).value,
      ),
    total: numberText(part.total_count, reader),
    capped: part.capped !== undefined,
    made: part.made,
    bars,
    measure: said(measured?.label ?? ''),
  }
}

/** Returns the number that a value is; amounts of money come as texts, which lose no digit. */
function numberIn(value: unknown): number | Decimal | undefined {
  if (typeof value === 'string' && value.includes('.')) return Decimal.read(value)
  return typeof value === 'number' ? value : undefined
}

/** Returns the digits after the point with which a number is shown: those of an amount, or two of a number that is not whole. */
function placesIn(value: number | Decimal): number {
  if (value instanceof Decimal) return value.places
  return Number.isInteger(value) ? 0 : 2
}

/** Returns the field that a column of a declarative report shows; a count shows none. */
function fieldOf({ platform }: Documents, report: Report, name: string): Field | undefined {
  const column = report.columns.find((one) => one.name === name)
  if (report.type === 'sql' || !column || column.aggregate === 'count') return undefined
  return platform.doctypes.get(report.doctypes[0] ?? '')?.fields.get(column.field ?? column.name)
}
