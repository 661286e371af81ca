/** Reads `config/reports/*.yaml`. */
import { unknownName } from '../core/names.ts'
import { compileSchema, type FromSchema, type JSONSchema } from '../core/schema.ts'
import { checkDocument, checkNames } from '../site/check-document.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import { operators } from './filters.ts'
import { aggregateFunctions, type Doctype, filterTypes, type Report, standardFields } from './platform.ts'
import { sourceOf } from './doctype-reading.ts'
import { readValue, relativeDay } from './values.ts'
import { objectWith } from '../core/object-schema.ts'

const text = { type: 'string', minLength: 1, maxLength: 200 } as const
const names = { type: 'array', items: text, uniqueItems: true } as const
const columnName = { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,62}$' } as const

/** The shape of one report. */
export const reportSchema = objectWith(
  { report: text, type: { type: 'string', enum: ['declarative', 'sql'] } },
  {
    description: { type: 'string' },
    module: text,
    doctype: text,
    doctypes: names,
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
          doctype: text,
          description: { type: 'string' },
          field: text,
          operator: { type: 'string', enum: operators },
        },
      ),
    },
    where: { type: ['object', 'array'] },
    group_by: names,
    order_by: text,
    totals: names,
    roles: names,
    max_rows: { type: 'integer', minimum: 1, maximum: 100000 },
    cache_seconds: { type: 'integer', minimum: 1, maximum: 604800 },
  },
) satisfies JSONSchema

type ReportSource = FromSchema<typeof reportSchema>
const checkReport = compileSchema(reportSchema)

/** The reports by name. */
export function readReports(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  doctypes: ReadonlyMap<string, Doctype>,
): Map<string, Report> {
  const reports = new Map<string, Report>()
  for (const document of documentsIn(files, 'config/reports/')) {
    const source = checkDocument<ReportSource>(document, checkReport, faults)
    if (!source) continue
    if (reports.has(source.report))
      faults.push(document.fault(['report'], `"${source.report}" is there twice`))
    else reports.set(source.report, readReport(source, document, faults, people, doctypes))
  }
  return new Map([...reports].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function readReport(
  source: ReportSource,
  document: SourceDocument,
  faults: Fault[],
  people: People,
  doctypes: ReadonlyMap<string, Doctype>,
): Report {
  const at = (path: readonly (string | number)[], message: string) =>
    faults.push(document.fault(path, message))
  const doctype = source.doctype === undefined ? undefined : doctypes.get(source.doctype)
  const used = source.type === 'sql' ? (source.doctypes ?? []) : [source.doctype ?? '']
  if (source.type === 'declarative') {
    if (source.doctype === undefined || !source.columns)
      at([], 'a declarative report needs a doctype and columns')
    else if (!doctype || doctype.child)
      at(['doctype'], unknownName('doctype', source.doctype, doctypes.keys()))
    for (const key of ['sql', 'doctypes'] as const)
      if (source[key] !== undefined) at([key], 'is for SQL reports')
  } else {
    if (source.sql === undefined || !source.doctypes)
      at([], 'an SQL report needs sql and the doctypes that it reads')
    checkNames(document, ['doctypes'], 'doctype', source.doctypes, doctypes, faults)
    for (const key of ['doctype', 'columns', 'where', 'group_by', 'order_by'] as const)
      if (source[key] !== undefined) at([key], 'is for declarative reports')
  }
  checkNames(document, ['roles'], 'role', source.roles, people.roles, faults)
  checkColumns(source, doctype, at)
  checkFilters(source, doctype, doctypes, at)
  return {
    name: source.report,
    description: source.description ?? '',
    module: source.module ?? doctype?.module ?? 'Custom',
    type: source.type,
    doctypes: used,
    ...(source.sql !== undefined && { sql: source.sql }),
    columns: (source.columns ?? []).map((column) => ({ ...column, label: column.label ?? column.name })),
    filters: (source.filters ?? []).map((filter) => ({
      name: filter.name,
      label: filter.label ?? filter.name,
      type: filter.type,
      required: filter.required ?? false,
      ...(filter.default !== undefined && { default: filter.default }),
      options: filter.options ?? [],
      ...(filter.doctype !== undefined && { doctype: filter.doctype }),
      description: filter.description ?? '',
      field: filter.field ?? filter.name,
      operator: filter.operator ?? '=',
    })),
    ...(source.where !== undefined && { where: source.where }),
    groupBy: source.group_by ?? [],
    ...(source.order_by !== undefined && { orderBy: source.order_by }),
    totals: source.totals ?? [],
    roles: source.roles ?? [],
    maxRows: source.max_rows ?? 1000,
    ...(source.cache_seconds !== undefined && { cacheSeconds: source.cache_seconds }),
    source: sourceOf(document, ['report']),
  }
}

function checkFilters(
  source: ReportSource,
  doctype: Doctype | undefined,
  doctypes: ReadonlyMap<string, Doctype>,
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
    else if (filter.doctype !== undefined && !doctypes.has(filter.doctype))
      at(['filters', index, 'doctype'], unknownName('doctype', filter.doctype, doctypes.keys()))
    if (doctype && !isField(doctype, filter.field ?? filter.name))
      at(['filters', index], unknownName('field', filter.field ?? filter.name, doctype.fields.keys()))
    if (filter.type === 'date' && relativeDay.test(String(filter.default))) continue
    const read = readValue({ type: filter.type, options: filter.options ?? [] }, filter.default)
    if ('problem' in read) at(['filters', index, 'default'], read.problem)
  }
}

function checkColumns(
  source: ReportSource,
  doctype: Doctype | undefined,
  at: (path: readonly (string | number)[], message: string) => void,
): void {
  if (!doctype) return
  const grouped =
    (source.group_by ?? []).length > 0 || (source.columns ?? []).some((column) => column.aggregate)
  for (const [index, key] of (source.group_by ?? []).entries())
    if (!isField(doctype, key.split(':')[0]!))
      at(['group_by', index], unknownName('field', key, doctype.fields.keys()))
  const columns = (source.columns ?? []).map((column) => column.name)
  for (const [index, column] of (source.columns ?? []).entries()) {
    const field = column.field ?? column.name
    const group = (source.group_by ?? []).includes(field)
    const needed = column.aggregate !== 'count' && !group
    if (needed && !isField(doctype, field))
      at(['columns', index], unknownName('field', field, doctype.fields.keys()))
    if (grouped && !group && column.aggregate === undefined)
      at(['columns', index], `${field} is neither in group_by nor aggregated`)
  }
  for (const [index, total] of (source.totals ?? []).entries())
    if (!columns.includes(total)) at(['totals', index], unknownName('column', total, columns))
}

function isField(doctype: Doctype, name: string): boolean {
  return doctype.fields.has(name) || standardFields.has(name)
}
