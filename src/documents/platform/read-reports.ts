/** Reads `config/reports/*.yaml`. */
import { unknownName } from '#leaf/names.ts'
import { references } from '#leaf/references.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { type FromSchema, type JSONSchema } from '#leaf/schema.ts'
import { checkDocument, checkReferences } from '#site/checking.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '#site/site-files.ts'
import type { People } from '../../users/people.ts'
import { edgeOf, operators } from '../asking/filter-forms.ts'
import { readTranslations, translationsSchema } from './translations.ts'
import { aggregateFunctions, type Doctype, filterTypes, type Report, type ReportFilter } from './platform.ts'
import { standardOf } from './standard-fields.ts'
import { sourceOf } from './doctype-reading.ts'
import { readFilters, readOrder } from '../asking/filters.ts'
import { accessTo } from '../permission.ts'
import { systemPrincipal } from '../../core/principal.ts'
import { AppError } from '#leaf/errors.ts'
import { readValue } from '../values.ts'
import { objectWith } from '#leaf/object-schema.ts'

const text = { type: 'string', minLength: 1, maxLength: 200 } as const
const names = { type: 'array', items: text, uniqueItems: true } as const
const doctypeName = references('doctype', text)
const columnName = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 63 } as const

/** The schema of one report. */
export const reportSchema = objectWith(
  { report: text, type: { type: 'string', enum: ['declarative', 'sql'] } },
  {
    description: { type: 'string' },
    module: text,
    doctype: doctypeName,
    doctypes: { ...names, items: doctypeName },
    sql: { type: 'string', minLength: 1 },
    columns: {
      type: 'array',
      minItems: 1,
      items: objectWith(
        { name: columnName },
        { label: text, field: text, aggregate: { type: 'string', enum: aggregateFunctions } },
      ),
    },
    filters: {
      type: 'array',
      items: objectWith(
        { name: columnName, type: { type: 'string', enum: filterTypes } },
        {
          label: text,
          required: { type: 'boolean' },
          default: {},
          options: names,
          doctype: doctypeName,
          description: { type: 'string' },
          field: text,
          operator: { type: 'string', enum: operators },
        },
      ),
    },
    where: { type: ['object', 'array'] },
    group_by: { ...names, items: references('field', text) },
    order_by: text,
    totals: { ...names, items: references('column', text) },
    roles: { ...names, items: references('role', text) },
    max_rows: { type: 'integer', minimum: 1, maximum: 100000 },
    cache_seconds: { type: 'integer', minimum: 1, maximum: 604800 },
    translations: translationsSchema,
  },
) satisfies JSONSchema

type ReportSource = FromSchema<typeof reportSchema>
const checkReport = fileSchema(reportSchema)

/** Reads the reports, by name. */
export function readReports(
  files: SiteFiles,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: Fault[] },
  people: People,
  doctypes: ReadonlyMap<string, Doctype>,
): Map<string, Report> {
  const reports = new Map<string, Report>()
  for (const document of documentsIn(files, 'config/reports/')) {
    const source = checkDocument<ReportSource>(document, checkReport, faults)
    if (!source) continue
    if (reports.has(source.report))
      faults.push(document.fault(['report'], `"${source.report}" is there twice`))
    else {
      const report = readReport(source, document, faults, people, doctypes)
      const translations = readTranslations(source.translations, textsOf(report), { document, warnings })
      reports.set(source.report, { ...report, translations })
    }
  }
  return new Map([...reports].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function readReport(
  source: ReportSource,
  document: SourceDocument,
  faults: Fault[],
  people: People,
  doctypes: ReadonlyMap<string, Doctype>,
): Omit<Report, 'translations'> {
  const at = (path: readonly (string | number)[], message: string) =>
    faults.push(document.fault(path, message))
  const doctype = source.doctype === undefined ? undefined : doctypes.get(source.doctype)
  const used = source.type === 'sql' ? (source.doctypes ?? []) : [source.doctype ?? '']
  if (source.type === 'declarative') {
    if (source.doctype === undefined || !source.columns)
      at([], 'a declarative report needs a doctype and columns')
    else if (doctype?.child) at(['doctype'], `${doctype.name} is a child doctype`)
    for (const key of ['sql', 'doctypes'] as const)
      if (source[key] !== undefined) at([key], 'is for SQL reports')
  } else {
    if (source.sql === undefined || !source.doctypes)
      at([], 'an SQL report needs sql and the doctypes that it reads')
    for (const key of ['doctype', 'columns', 'where', 'group_by', 'order_by'] as const)
      if (source[key] !== undefined) at([key], 'is for declarative reports')
  }
  checkReferences(document, reportSchema, { role: people.roles, doctype: doctypes }, faults)
  if (doctype) {
    const has = (group: string): boolean => isField(doctype, group.split(':')[0]!)
    const column = new Set(source.columns?.map(({ name }) => name))
    const field = { has, keys: () => doctype.fields.keys() }
    checkReferences(document, reportSchema, { column, field }, faults)
    checkColumns(source, doctype, at)
    checkQuestion(source, doctype, at)
  }
  checkFilters(source, doctype, at)
  const { report: name, doctype: _of, group_by: groupBy = [], ...rest } = source
  const { order_by: orderBy, max_rows: maxRows = 1000, cache_seconds: cacheSeconds, ...kept } = rest
  return {
    description: '',
    module: doctype?.module ?? 'Custom',
    totals: [],
    roles: [],
    ...kept,
    name,
    doctypes: used,
    columns: (source.columns ?? []).map((column) => ({ label: column.name, ...column })),
    filters: (source.filters ?? []).map((filter) => ({
      label: filter.name,
      field: filter.name,
      required: false,
      options: [],
      description: '',
      operator: '=',
      ...filter,
    })),
    groupBy,
    maxRows,
    ...(orderBy !== undefined && { orderBy }),
    ...(cacheSeconds !== undefined && { cacheSeconds }),
    source: sourceOf(document, ['report']),
  }
}

/** Returns the texts of a report that people read. */
function textsOf({ name, description, columns, filters }: Omit<Report, 'translations'>): string[] {
  const ofFilters = filters.flatMap((filter) => [filterLabel(filter), filter.description, ...filter.options])
  return [name, description, ...columns.map(({ label }) => label), ...ofFilters]
}

/** Returns what people call a filter: one without a label of its own has its name as one. */
export function filterLabel({ name, label }: Pick<ReportFilter, 'name' | 'label'>): string {
  const words = name.replaceAll('_', ' ')
  return label === name ? words.charAt(0).toUpperCase() + words.slice(1) : label
}

function checkFilters(
  source: ReportSource,
  doctype: Doctype | undefined,
  at: (path: readonly (string | number)[], message: string) => void,
): void {
  for (const [index, filter] of (source.filters ?? []).entries()) {
    if ((filter.type === 'select') !== (filter.options !== undefined))
      at(
        ['filters', index],
        filter.type === 'select' ? 'a select needs options' : 'only a select has options',
      )
    if ((filter.type === 'link') !== (filter.doctype !== undefined))
      at(['filters', index], 'a link, and nothing else, needs a doctype')
    if (doctype && !isField(doctype, filter.field ?? filter.name))
      at(['filters', index], unknownName('field', filter.field ?? filter.name, doctype.fields.keys()))
    const days = { now: Date.parse('2026-01-01'), edge: edgeOf(filter.operator ?? '=') }
    const read = readValue({ type: filter.type, options: filter.options ?? [] }, filter.default, days)
    if ('problem' in read) at(['filters', index, 'default'], read.problem)
  }
}

function checkColumns(
  source: ReportSource,
  doctype: Doctype,
  at: (path: readonly (string | number)[], message: string) => void,
): void {
  const grouped =
    (source.group_by ?? []).length > 0 || (source.columns ?? []).some((column) => column.aggregate)
  for (const [index, column] of (source.columns ?? []).entries()) {
    const field = column.field ?? column.name
    const group = (source.group_by ?? []).includes(field)
    const needed = column.aggregate !== 'count' && !group
    if (needed && !isField(doctype, field))
      at(['columns', index], unknownName('field', field, doctype.fields.keys()))
    if (grouped && !group && column.aggregate === undefined)
      at(['columns', index], `${field} is neither in group_by nor aggregated`)
  }
}

/** Checks the filters and the order that a report has always, by the reader of everybody's. */
function checkQuestion(
  { where = [], order_by: orderBy, columns = [], group_by: groupBy = [] }: ReportSource,
  doctype: Doctype,
  at: (path: readonly (string | number)[], message: string) => void,
): void {
  const access = accessTo(systemPrincipal('check'), doctype, Date.parse('2026-01-01'))
  const tried = (path: readonly (string | number)[], read: () => unknown): void => {
    try {
      read()
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      at(path, error.message.replace(/^(filters|order_by): /, ''))
    }
  }
  // Each condition by itself, so that its fault has its line; a list may also be one condition.
  const isOne = Array.isArray(where) && typeof where[0] === 'string'
  if (isOne) tried(['where'], () => readFilters(access, where))
  else
    for (const [key, condition] of Object.entries(where)) {
      const place = Array.isArray(where) ? Number(key) : key
      tried(['where', place], () =>
        readFilters(access, Array.isArray(where) ? [condition] : { [key]: condition }),
      )
    }
  if (orderBy === undefined) return
  if (groupBy.length === 0 && !columns.some(({ aggregate }) => aggregate))
    return tried(['order_by'], () => readOrder(access, orderBy))
  const names = columns.map(({ name }) => name)
  const [, name] = /^\s*(\S+)(?:\s+(?:asc|desc))?\s*$/i.exec(orderBy) ?? []
  if (name === undefined) at(['order_by'], `cannot read "${orderBy}"; write a column, and asc or desc`)
  else if (!names.includes(name)) at(['order_by'], unknownName('column', name, names))
}

function isField(doctype: Doctype, name: string): boolean {
  return doctype.fields.has(name) || standardOf(doctype).has(name)
}
