/** Reads `config/doctypes/*.yaml`; every fault is collected with its place, none is thrown. */
import { compileSchema, nearest } from '../core/schema.ts'
import type { Fault, SiteFiles, SourceDocument } from '../site/site-files.ts'
import type { People } from '../users/people.ts'
import { type DoctypeSource, doctypeSchema, type FieldSource } from './doctype-schema.ts'
import { type Expression, parseExpression } from './expression.ts'
import { type Doctype, type Field, type Naming, standardFields } from './platform.ts'
import { readValue } from './values.ts'

const checkDoctype = compileSchema(doctypeSchema)

/** Names that a field may not have, because every document or row has them already. */
const reserved = new Set([
  ...standardFields.keys(),
  'id',
  'idx',
  'doctype',
  'parent',
  'parenttype',
  'parentfield',
  'workflow_state',
  'amended_from',
  'constructor',
  'user',
  'doc',
  'and',
  'or',
  'not',
  'in',
  'true',
  'false',
  'null',
])

/** What the checks of one file need: where a fault goes, and what may be named. */
interface Reading {
  readonly document: SourceDocument
  readonly faults: Fault[]
  readonly people: People
  /** What the whole site declares, before any of it is known to be right. */
  readonly sources: ReadonlyMap<string, DoctypeSource>
}

/** The doctypes of the site. */
export function readDoctypes(files: SiteFiles, faults: Fault[], people: People): Map<string, Doctype> {
  const documents = new Map<string, SourceDocument>()
  const sources = new Map<string, DoctypeSource>()
  for (const [path, document] of files.documents) {
    if (!path.startsWith('config/doctypes/')) continue
    const problems = checkDoctype(document.data)
    faults.push(...problems.map((problem) => document.fault(problem.path, problem.message)))
    if (problems.length > 0) continue
    const source = document.data as DoctypeSource
    const same = [...sources.keys()].find((name) => collectionOf(name) === collectionOf(source.doctype))
    if (same !== undefined) {
      faults.push(document.fault(['doctype'], `"${same}" is defined in ${documents.get(same)!.file} too`))
      continue
    }
    sources.set(source.doctype, source)
    documents.set(source.doctype, document)
  }
  const doctypes = new Map<string, Doctype>()
  for (const [name, source] of [...sources].sort(([a], [b]) => (a < b ? -1 : 1)))
    doctypes.set(name, readDoctype(source, { document: documents.get(name)!, faults, people, sources }))
  for (const doctype of doctypes.values())
    checkComputed(doctype, doctypes, documents.get(doctype.name)!, faults)
  return doctypes
}

/** The name of the collection that holds the documents of a doctype; part of the stored format. */
export function collectionOf(doctype: string): string {
  return `document.${doctype.toLowerCase().replaceAll(' ', '_')}`
}

/** `file:line` of a place in a document. */
export function sourceOf(document: SourceDocument, path: readonly (string | number)[]): string {
  const { file, line } = document.fault(path, '')
  return `${file}:${line}`
}

function readDoctype(source: DoctypeSource, reading: Reading): Doctype {
  const { document, faults } = reading
  const fields = readFields(source, reading)
  const at = (path: readonly (string | number)[], message: string) =>
    faults.push(document.fault(path, message))
  const field = (path: readonly (string | number)[], name: string | undefined): void => {
    if (name !== undefined && !fields.has(name)) at(path, unknown('field', name, fields.keys()))
  }
  field(['title_field'], source.title_field)
  field(['parent_field'], source.parent_field)
  field(['naming', 'field'], source.naming?.field)
  for (const [index, name] of (source.search_fields ?? []).entries()) field(['search_fields', index], name)
  const parent = source.parent_field === undefined ? undefined : fields.get(source.parent_field)
  if (parent && (parent.type !== 'link' || parent.doctype !== source.doctype))
    at(['parent_field'], `must be a link to ${source.doctype}`)
  if (source.child && (source.permissions || source.submittable || source.parent_field))
    at(['child'], 'rows of a table have no permissions, states or tree of their own: their document has')
  return {
    name: source.doctype,
    module: source.module ?? 'Custom',
    description: source.description ?? '',
    naming: readNaming(source, fields, reading),
    ...(source.title_field !== undefined && { titleField: source.title_field }),
    searchFields: source.search_fields ?? (source.title_field === undefined ? [] : [source.title_field]),
    submittable: source.submittable ?? false,
    child: source.child ?? false,
    ...(source.parent_field !== undefined && { parentField: source.parent_field }),
    fields: source.submittable ? withAmendedFrom(source.doctype, fields, document) : fields,
    rules: readRules(source, reading),
    validations: (source.validations ?? []).flatMap(({ rule, message }, index) => {
      const expression = readExpression(rule, ['validations', index, 'rule'], source, reading)
      return expression ? [{ rule: expression, message }] : []
    }),
    source: sourceOf(document, ['doctype']),
  }
}

function readFields(source: DoctypeSource, reading: Reading): Map<string, Field> {
  const { document, faults } = reading
  const fields = new Map<string, Field>()
  for (const [index, field] of source.fields.entries()) {
    const at = (key: string, message: string) =>
      faults.push(document.fault(key === '' ? ['fields', index] : ['fields', index, key], message))
    if (reserved.has(field.fieldname))
      at('fieldname', `"${field.fieldname}" is a name that every document has`)
    if (fields.has(field.fieldname)) at('fieldname', `"${field.fieldname}" is there twice`)
    checkField(field, source, reading, at)
    for (const [i, role] of (field.visible_to ?? []).entries())
      if (!reading.people.roles.has(role))
        faults.push(
          document.fault(
            ['fields', index, 'visible_to', i],
            unknown('role', role, reading.people.roles.keys()),
          ),
        )
    const computed =
      field.computed === undefined
        ? undefined
        : readExpression(field.computed, ['fields', index, 'computed'], source, reading)
    const expressed = isExpression(field.default)
      ? readExpression(field.default.slice(1), ['fields', index, 'default'], source, reading)
      : undefined
    if (expressed && expressed.fields.length > 0) at('default', 'a default cannot read other fields')
    if (computed?.usesUser) at('computed', 'a computed field cannot depend on the user')
    fields.set(field.fieldname, {
      name: field.fieldname,
      label: field.label ?? labelOf(field.fieldname),
      type: field.type,
      description: field.description ?? '',
      required: field.required ?? false,
      unique: field.unique ?? false,
      readOnly: (field.read_only ?? false) || computed !== undefined,
      allowOnSubmit: field.allow_on_submit ?? false,
      indexed: (field.index ?? false) || (field.unique ?? false) || field.type === 'link',
      ...(expressed
        ? { defaultExpression: expressed }
        : field.default !== undefined && { default: field.default }),
      options: field.options ?? [],
      ...(field.doctype !== undefined && { doctype: field.doctype }),
      ...(field.doctype_field !== undefined && { doctypeField: field.doctype_field }),
      ...(field.length !== undefined && { length: field.length }),
      ...(field.precision !== undefined && { precision: field.precision }),
      level: field.level ?? 0,
      ...(field.visible_to && { mask: new Set(field.visible_to) }),
      ...(computed && { computed }),
      source: sourceOf(document, ['fields', index]),
    })
  }
  return fields
}

function checkField(
  field: FieldSource,
  source: DoctypeSource,
  { sources }: Reading,
  at: (key: string, message: string) => void,
): void {
  if ((field.type === 'select') !== (field.options !== undefined))
    at('options', field.type === 'select' ? 'a select needs options' : 'only a select has options')
  const linked = field.type === 'link' || field.type === 'table'
  if (linked !== (field.doctype !== undefined))
    at('doctype', linked ? `a ${field.type} needs a doctype` : 'only a link or a table has a doctype')
  else if (field.doctype !== undefined) {
    const target = sources.get(field.doctype)
    if (!target) at('doctype', unknown('doctype', field.doctype, sources.keys()))
    else if ((field.type === 'table') !== (target.child ?? false))
      at(
        'doctype',
        field.type === 'table'
          ? `${field.doctype} is not a child doctype`
          : `${field.doctype} is a child doctype`,
      )
  }
  if ((field.type === 'dynamic_link') !== (field.doctype_field !== undefined))
    at('doctype_field', 'a dynamic_link, and nothing else, needs a doctype_field')
  else if (
    field.doctype_field !== undefined &&
    !source.fields.some(
      ({ fieldname, type }) => fieldname === field.doctype_field && (type === 'text' || type === 'select'),
    )
  )
    at('doctype_field', 'must be a text or select field that holds the doctype')
  if (field.default !== undefined && !isExpression(field.default)) {
    const read = readValue({ ...field, options: field.options ?? [] }, field.default)
    if ('problem' in read) at('default', read.problem)
  }
  if (source.child && field.type === 'table') at('type', 'rows of a table have no tables')
  if (source.child && field.unique) at('unique', 'a field of a row cannot be unique')
  if (field.unique && (field.type === 'table' || field.type === 'json'))
    at('unique', `a ${field.type} cannot be unique`)
  if (field.computed !== undefined && (field.required || field.default !== undefined))
    at('computed', 'a computed field is neither required nor has a default')
}

function readNaming(source: DoctypeSource, fields: ReadonlyMap<string, Field>, reading: Reading): Naming {
  const at = (message: string) => reading.faults.push(reading.document.fault(['naming'], message))
  const naming = source.naming
  if (!naming) return { rule: 'hash' }
  if (naming.rule === 'series') {
    if (naming.series === undefined) at('a series needs "series", such as INV-#####')
    return { rule: 'series', series: naming.series ?? '#####' }
  }
  if (naming.rule === 'field') {
    const field = fields.get(naming.field ?? '')
    if (field?.type !== 'text' || !field.required) at('"field" must name a required text field')
    return { rule: 'field', field: naming.field ?? '' }
  }
  return { rule: naming.rule }
}

function readRules(source: DoctypeSource, reading: Reading): Doctype['rules'] {
  return (source.permissions ?? []).map((rule, index) => {
    const at = (key: string, message: string) =>
      reading.faults.push(reading.document.fault(['permissions', index, key], message))
    if (!reading.people.roles.has(rule.role))
      at('role', unknown('role', rule.role, reading.people.roles.keys()))
    if (!source.submittable && rule.actions.some((action) => ['submit', 'cancel', 'amend'].includes(action)))
      at('actions', `${source.doctype} is not submittable`)
    const when =
      rule.when === undefined
        ? undefined
        : readExpression(rule.when, ['permissions', index, 'when'], source, reading)
    return {
      role: rule.role,
      // A condition that cannot be read must not widen the rule, even though the site is refused anyway.
      actions: new Set(rule.when !== undefined && !when ? [] : rule.actions),
      ifOwner: rule.if_owner ?? false,
      ...(when && { when }),
      levels: new Set(rule.levels ?? [0]),
      source: sourceOf(reading.document, ['permissions', index]),
    }
  })
}

/** An expression all of whose fields exist; undefined, with a fault, when it is wrong. */
function readExpression(
  text: string,
  path: readonly (string | number)[],
  source: DoctypeSource,
  reading: Reading,
): Expression | undefined {
  try {
    const expression = parseExpression(text)
    const problem = expression.fields
      .map((field) => unknownPath(field, source, reading.sources))
      .find(Boolean)
    if (problem === undefined) return expression
    reading.faults.push(reading.document.fault(path, problem))
  } catch (error) {
    reading.faults.push(reading.document.fault(path, (error as Error).message))
  }
  return undefined
}

function unknownPath(
  path: string,
  source: DoctypeSource,
  sources: ReadonlyMap<string, DoctypeSource>,
): string | undefined {
  const [name, column] = path.split('.') as [string, string | undefined]
  const field = source.fields.find(({ fieldname }) => fieldname === name)
  if (!field && column === undefined && (standardFields.has(name) || name === 'workflow_state'))
    return undefined
  if (!field)
    return unknown(
      'field',
      name,
      source.fields.map(({ fieldname }) => fieldname),
    )
  if (column === undefined) return undefined
  const rows = sources.get(field.doctype ?? '')?.fields.map(({ fieldname }) => fieldname)
  if (field.type !== 'table' || !rows) return `${name} has no rows`
  return rows.includes(column) ? undefined : unknown('field', path, rows)
}

/** A computed field may not show what the fields it reads hide. */
function checkComputed(
  doctype: Doctype,
  doctypes: ReadonlyMap<string, Doctype>,
  document: SourceDocument,
  faults: Fault[],
): void {
  const names = [...doctype.fields.keys()]
  for (const field of doctype.fields.values()) {
    for (const path of field.computed?.fields ?? []) {
      const [name, column] = path.split('.') as [string, string | undefined]
      const read = doctype.fields.get(name)
      const rows = column === undefined ? undefined : doctypes.get(read?.doctype ?? '')?.fields.get(column)
      for (const source of [read, rows]) {
        if (!source) continue
        const level = source.level === 0 || source.level === field.level
        const mask = !source.mask || (field.mask && [...field.mask].every((role) => source.mask!.has(role)))
        if (!level || !mask)
          faults.push(
            document.fault(
              ['fields', names.indexOf(field.name), 'computed'],
              `reads ${path}, which fewer people may see; give both the same level and visible_to`,
            ),
          )
      }
      if (column === undefined && read?.computed && names.indexOf(name) >= names.indexOf(field.name))
        faults.push(
          document.fault(
            ['fields', names.indexOf(field.name), 'computed'],
            `reads ${name}, which is computed later`,
          ),
        )
    }
  }
}

function isExpression(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('=')
}

function withAmendedFrom(
  doctype: string,
  fields: Map<string, Field>,
  document: SourceDocument,
): Map<string, Field> {
  return fields.set('amended_from', {
    name: 'amended_from',
    label: 'Amended From',
    type: 'link',
    description: 'The cancelled document that this one replaces.',
    required: false,
    unique: false,
    readOnly: true,
    allowOnSubmit: false,
    indexed: true,
    options: [],
    doctype,
    level: 0,
    source: sourceOf(document, ['submittable']),
  })
}

function labelOf(name: string): string {
  return name.replaceAll('_', ' ').replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
}

/** `unknown role "Sales Usr"; did you mean "Sales User"?` */
export function unknown(kind: string, name: string, known: Iterable<string>): string {
  const near = nearest(name, known)
  return `unknown ${kind} "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`
}
