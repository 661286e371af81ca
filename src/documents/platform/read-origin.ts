/** Reads `from` of a doctype: the table of others that holds its documents. What needs our own state is refused here. */
import { searchedTypes } from '../values.ts'
import { unknownName } from '#leaf/names.ts'
import type { Reading } from './doctype-reading.ts'
import type { DoctypeSource, FieldSource } from './doctype-schema.ts'
import type { Field, FieldType, Origin, OriginColumn, OriginRows } from './platform.ts'
import { originActions, standardFields } from './standard-fields.ts'

type From = NonNullable<DoctypeSource['from']>
type At = (path: readonly (string | number)[], message: string) => void

const mostRows = 200_000

/** Reads `from`, and checks that the doctype asks for nothing that documents which lie elsewhere cannot have. */
export function readOrigin(source: DoctypeSource, reading: Reading): Origin | undefined {
  const { document, faults } = reading
  const at: At = (path, message) => void faults.push(document.fault(path, message))
  const { from } = source
  if (!from) {
    checkOwn(source, at)
    return undefined
  }
  checkElsewhere(source, from, at)
  checkWrites(source, from, at)
  checkTable(from.table, ['from', 'table'], at)
  if (from.time_zone !== undefined && !isZone(from.time_zone))
    at(['from', 'time_zone'], 'is no time zone; write one such as Europe/Berlin')
  const columns: Record<string, OriginColumn> = {}
  const rows: Record<string, OriginRows> = {}
  for (const [name, given] of Object.entries(from.standard ?? {})) {
    const told = typeof given === 'string' ? { column: given } : given
    const path = ['from', 'standard', name]
    const type = standardFields.get(name)!
    columns[name] = { ...told, type, options: [], required: false, file: document.file, path }
    if ('through' in told) checkTable(told.through.table, [...path, 'through', 'table'], at)
  }
  for (const [index, field] of source.fields.entries()) {
    const path = ['fields', index]
    if (field.type === 'table') {
      const found = readRows(field, path, reading, at)
      if (found) rows[field.fieldname] = found
    } else {
      columns[field.fieldname] = columnOf(field, document.file, path)
      if (field.through) checkTable(field.through.table, [...path, 'through', 'table'], at)
    }
  }
  return {
    source: from.source,
    table: from.table,
    key: from.key,
    timeZone: from.time_zone ?? 'UTC',
    search: (from.search ?? []).map((name) => (name === 'name' ? 'id' : name)),
    mostRows: from.analysis?.most_rows ?? mostRows,
    write: from.write ?? {},
    ...(from.version !== undefined && { version: from.version }),
    columns,
    rows,
    file: document.file,
  }
}

/** Closes the fields of documents that lie elsewhere to what their doctype does not say may be written. */
export function withWrites(
  origin: Origin | undefined,
  fields: ReadonlyMap<string, Field>,
): ReadonlyMap<string, Field> {
  if (!origin) return fields
  const { create = [], change = [] } = origin.write
  const closed = (name: string): Partial<Field> => {
    if (create.includes(name) && change.includes(name)) return {}
    if (create.includes(name)) return { only: 'create' }
    return change.includes(name) ? { only: 'write' } : { readOnly: true }
  }
  return new Map([...fields].map(([name, field]) => [name, { ...field, ...closed(name) }]))
}

function columnOf(field: FieldSource, file: string, path: readonly (string | number)[]): OriginColumn {
  return {
    column: field.column ?? field.fieldname,
    ...(field.through && { through: field.through }),
    type: field.type,
    options: field.options ?? [],
    ...(field.precision !== undefined && { precision: field.precision }),
    required: field.required ?? false,
    file,
    path,
  }
}

function readRows(
  { rows, doctype }: FieldSource,
  path: readonly (string | number)[],
  { sources, fileOf }: Reading,
  at: At,
): OriginRows | undefined {
  const child = sources.get(doctype ?? '')
  if (!rows) at(path, 'a table of a doctype with "from" needs "rows": the table that holds them')
  if (!rows || !child) return undefined
  checkTable(rows.table, [...path, 'rows', 'table'], at)
  const file = fileOf(child.doctype)
  const columns = child.fields.map((field, index): [string, OriginColumn] => [
    field.fieldname,
    columnOf(field, file, ['fields', index]),
  ])
  if (child.fields.some(({ through }) => through))
    at(path, `${child.doctype} has a field with "through": rows show columns of their own table only`)
  return {
    table: rows.table,
    parent: rows.parent,
    key: rows.key,
    order: rows.order ?? rows.key,
    only: rows.only ?? {},
    columns: Object.fromEntries(columns),
    file: fileOf(''),
    path: [...path, 'rows'],
  }
}

/** What names columns has no meaning for documents of our own; a child doctype may be the rows of either. */
function checkOwn(source: DoctypeSource, at: At): void {
  for (const [index, field] of source.fields.entries())
    for (const key of ['column', 'through', 'rows'] as const)
      if (field[key] !== undefined && !(source.child && key === 'column'))
        at(['fields', index, key], `only a doctype with "from" has "${key}"`)
}

const unheard: ReadonlySet<FieldType> = new Set(['attachment'])

function checkElsewhere(source: DoctypeSource, from: From, at: At): void {
  const { create, change } = from.write ?? {}
  const isRead = Object.keys(from.write ?? {}).length === 0
  const why = `${source.doctype} lies in the source "${from.source}"${isRead ? ', which is only read' : ''}`
  if (source.child) at(['child'], 'rows of a table lie where their document says, in "rows" of its field')
  if (source.submittable) at(['submittable'], `${why}: its documents cannot be submitted`)
  if (source.naming) at(['naming'], `${why}: the key is the name of a document`)
  if (source.validations && !create && !change) at(['validations'], `${why}: there is nothing to validate`)
  for (const [index, field] of source.fields.entries()) {
    if (field.computed !== undefined) at(['fields', index, 'computed'], `${why}: nothing is computed for it`)
    if (field.default !== undefined && !create?.includes(field.fieldname))
      at(['fields', index, 'default'], `${why}: nothing is filled in`)
    if (unheard.has(field.type)) at(['fields', index, 'type'], `${why}: it has no ${field.type}`)
    if (field.type !== 'table' && field.rows) at(['fields', index, 'rows'], 'only a table has rows')
  }
  for (const [index, rule] of (source.permissions ?? []).entries()) {
    const possible = originActions({ write: from.write ?? {} })
    const wrong = rule.actions.filter((action) => !possible.includes(action))
    if (wrong.length > 0)
      at(
        ['permissions', index, 'actions'],
        `${why}: a rule cannot allow to ${wrong.join(', ')}${source.submittable ? '' : ', which from.write does not say'}`,
      )
    if (rule.if_owner && !from.standard?.owner)
      at(
        ['permissions', index, 'if_owner'],
        'needs a column that says who owns a document: from.standard.owner',
      )
  }
  for (const [index, name] of (from.search ?? []).entries()) {
    if (name === 'name') continue
    const type = source.fields.find(({ fieldname }) => fieldname === name)?.type
    if (type === undefined)
      at(
        ['from', 'search', index],
        unknownName('field', name, ['name', ...source.fields.map((one) => one.fieldname)]),
      )
    else if (!searchedTypes.has(type))
      at(['from', 'search', index], `${name} is a ${type}: words are searched in texts`)
  }
}

/** The standard fields that are filled in when a document is made, and when it is changed. */
const stamps: Readonly<Record<'create' | 'change', readonly string[]>> = {
  create: ['name', 'owner', 'creation', 'modified', 'modified_by'],
  change: ['modified', 'modified_by'],
}

function checkWrites(source: DoctypeSource, from: From, at: At): void {
  const fields = new Map(source.fields.map((field) => [field.fieldname, field]))
  const columnOf = (name: string): string | undefined =>
    fields.get(name)?.column ?? fields.get(name)?.fieldname
  for (const kind of ['create', 'change'] as const)
    for (const [index, name] of (from.write?.[kind] ?? []).entries()) {
      const wrong = (message: string): void => at(['from', 'write', kind, index], message)
      const field = fields.get(name)
      const shown = from.standard?.[name as keyof typeof from.standard]
      if (!field && !stamps[kind].includes(name))
        wrong(unknownName('field', name, [...stamps[kind], ...fields.keys()]))
      else if (!field && name !== 'name' && shown === undefined)
        wrong(`no column shows ${name}: from.standard`)
      else if (field?.type === 'table') wrong(`${name} has rows of another table, which are only read`)
      else if (field?.through || typeof shown === 'object')
        wrong(`${name} is a value of another table, which is only read`)
      else if (kind === 'change' && from.key.includes(columnOf(name) ?? ''))
        wrong(`${name} is part of the key, which never changes`)
      else if (name === from.version) wrong(`${name} tells versions apart: each change moves it on by itself`)
    }
  const { create = [] } = from.write ?? {}
  const twice = create.find((name) => from.key.includes(columnOf(name) ?? ''))
  if (create.includes('name') && twice !== undefined)
    at(['from', 'write', 'create'], `has name and ${twice}, which are the same column`)
  // A field that is not there is told as a name that nothing has.
  const version = from.version === undefined ? undefined : fields.get(from.version)
  if (version && (version.through || !['integer', 'datetime'].includes(version.type)))
    at(['from', 'version'], 'must name an integer or a datetime of the table itself, which a change moves on')
}

function checkTable(table: string, path: readonly (string | number)[], at: At): void {
  if (/[();\n]|^\s*(?:select|with|values|table)\s/i.test(table))
    at(path, 'must name a table or a view, not a statement: make a view of it')
  else if (/^(?:pg_catalog|information_schema|pg_toast)\./i.test(table))
    at(path, 'is a table of the database itself')
}

function isZone(zone: string): boolean {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions()
    return timeZone !== '' && /^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)
  } catch {
    return false
  }
}
