/** Reads `config/doctypes/*.yaml`; every fault is collected with its place, none is thrown. */
import { unknownName } from '../core/names.ts'
import { asserted, bound } from '../core/conditions.ts'
import { compileSchema } from '../core/schema.ts'
import { checkDocument } from '../site/check-document.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '../site/site-files.ts'
import { residueOf } from '../store/postgres-questions.ts'
import type { People } from '../users/people.ts'
import { type Reading, readExpression, sourceOf } from './doctype-reading.ts'
import { type DoctypeSource, doctypeSchema } from './doctype-schema.ts'
import type { Doctype, Field, Naming } from './platform.ts'
import { readFields, withAmendedFrom } from './read-fields.ts'

const checkDoctype = compileSchema(doctypeSchema)

/** The doctypes of the site. */
export function readDoctypes(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  warnings: Fault[],
): Map<string, Doctype> {
  // First every file by itself, then what leads from one to another: links may lead forward.
  const documents = new Map<string, SourceDocument>()
  const sources = new Map<string, DoctypeSource>()
  for (const document of documentsIn(files, 'config/doctypes/')) {
    const source = checkDocument<DoctypeSource>(document, checkDoctype, faults)
    if (!source) continue
    // Names that differ only in case or blanks would share one collection.
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
    doctypes.set(
      name,
      readDoctype(source, { document: documents.get(name)!, faults, warnings, people, sources }),
    )
  for (const doctype of doctypes.values())
    checkComputed(doctype, doctypes, documents.get(doctype.name)!, faults)
  return doctypes
}

/** The name of the collection that holds the documents of a doctype; part of the stored format. */
export function collectionOf(doctype: string): string {
  return `document.${doctype.toLowerCase().replaceAll(' ', '_')}`
}

function readDoctype(source: DoctypeSource, reading: Reading): Doctype {
  const { document, faults } = reading
  const fields = readFields(source, reading)
  const at = (path: readonly (string | number)[], message: string) =>
    faults.push(document.fault(path, message))
  const field = (path: readonly (string | number)[], name: string | undefined): void => {
    if (name !== undefined && !fields.has(name)) at(path, unknownName('field', name, fields.keys()))
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

/** Whoever has a role or not: what remains of a rule is the same. */
const anybody = { id: '', fullName: '', roles: new Set<string>() }

function readRules(source: DoctypeSource, reading: Reading): Doctype['rules'] {
  return (source.permissions ?? []).map((rule, index) => {
    const at = (key: string, message: string) =>
      reading.faults.push(reading.document.fault(['permissions', index, key], message))
    if (!reading.people.roles.has(rule.role))
      at('role', unknownName('role', rule.role, reading.people.roles.keys()))
    if (!source.submittable && rule.actions.some((action) => ['submit', 'cancel', 'amend'].includes(action)))
      at('actions', `${source.doctype} is not submittable`)
    const when =
      rule.when === undefined
        ? undefined
        : readExpression(rule.when, ['permissions', index, 'when'], source, reading)
    const residue = when && residueOf(asserted(bound(when.term, { user: anybody, now: 0 })))
    if (residue !== undefined)
      reading.warnings.push(
        reading.document.fault(
          ['permissions', index, 'when'],
          `is asked of each document by itself, because ${residue}: lists of many documents take long`,
        ),
      )
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
