/** Reads `config/doctypes/*.yaml`; every fault is collected with its place, none is thrown. */
import { asserted, bound, residueOf } from '#state/questions.ts'
import { fileSchema } from '#leaf/file-schema.ts'
import { checkDocument, checkReferences, type NameSet } from '#site/checking.ts'
import { documentsIn, type Fault, type SiteFiles, type SourceDocument } from '#site/site-files.ts'
import type { People } from '../../users/people.ts'
import { type Reading, readExpression, sourceOf } from './doctype-reading.ts'
import { type DoctypeSource, doctypeSchema } from './doctype-schema.ts'
import type { Naming } from './naming.ts'
import type { Doctype, Field } from './platform.ts'
import { readFields, withAmendedFrom } from './read-fields.ts'
import { readOrigin, withWrites } from './read-origin.ts'
import { readTranslations } from './translations.ts'

const checkDoctype = fileSchema(doctypeSchema)

/** Reads the doctypes of the site. */
export function readDoctypes(
  files: SiteFiles,
  faults: Fault[],
  people: People,
  warnings: Fault[],
  databases: NameSet = new Map(),
): Map<string, Doctype> {
  // Every file by itself first, then the links between them, which may lead forward.
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
  for (const [name, source] of [...sources].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const fileOf = (doctype: string): string => documents.get(doctype === '' ? name : doctype)!.file
    const reading = { document: documents.get(name)!, faults, warnings, people, sources, fileOf }
    doctypes.set(name, readDoctype(source, reading, databases))
  }
  for (const doctype of doctypes.values())
    checkComputed(doctype, doctypes, documents.get(doctype.name)!, faults)
  return doctypes
}

/** Returns the collection that holds the documents of a doctype; the name is part of the stored format. */
export function collectionOf(doctype: string): string {
  return `document.${doctype.toLowerCase().replaceAll(' ', '_')}`
}

function readDoctype(source: DoctypeSource, reading: Reading, databases: NameSet): Doctype {
  const { document, faults } = reading
  const fields = readFields(source, reading)
  const at = (path: readonly (string | number)[], message: string) =>
    faults.push(document.fault(path, message))
  const names = { role: reading.people.roles, doctype: reading.sources, field: fields, source: databases }
  const origin = readOrigin(source, reading)
  checkReferences(document, doctypeSchema, names, faults)
  const all = source.submittable
    ? withAmendedFrom(source.doctype, fields, document)
    : withWrites(origin, fields)
  const parent = source.parent_field === undefined ? undefined : fields.get(source.parent_field)
  if (parent && (parent.type !== 'link' || parent.doctype !== source.doctype))
    at(['parent_field'], `must be a link to ${source.doctype}`)
  if (source.child && (source.permissions || source.submittable || source.parent_field))
    at(['child'], 'rows of a table have no permissions, states or tree of their own: their document has')
  return {
    name: source.doctype,
    translations: readTranslations(source.translations, textsOf(source, all), reading),
    module: source.module ?? 'Custom',
    description: source.description ?? '',
    naming: readNaming(source, fields, reading),
    ...(source.title_field !== undefined && { titleField: source.title_field }),
    searchFields: source.search_fields ?? (source.title_field === undefined ? [] : [source.title_field]),
    submittable: source.submittable ?? false,
    child: source.child ?? false,
    ...(source.parent_field !== undefined && { parentField: source.parent_field }),
    ...(origin && { origin }),
    fields: all,
    rules: readRules(source, reading),
    validations: (source.validations ?? []).flatMap(({ rule, message }, index) => {
      const expression = readExpression(rule, ['validations', index, 'rule'], source, reading)
      return expression ? [{ rule: expression, message }] : []
    }),
    source: sourceOf(document, ['doctype']),
  }
}

/** Returns the texts of a doctype that people read. */
function textsOf(source: DoctypeSource, fields: ReadonlyMap<string, Field>): string[] {
  const ofFields = [...fields.values()].flatMap(({ label, description, options }) => [
    label,
    description,
    ...options,
  ])
  const rules = (source.validations ?? []).map(({ message }) => message)
  return [source.doctype, source.description ?? '', ...ofFields, ...rules]
}

function readNaming(source: DoctypeSource, fields: ReadonlyMap<string, Field>, reading: Reading): Naming {
  const at = (message: string) => reading.faults.push(reading.document.fault(['naming'], message))
  const naming = source.naming
  if (source.from) return { rule: source.from.write?.create?.includes('name') ? 'prompt' : 'key' }
  if (!naming) return { rule: 'hash' }
  if (naming.rule === 'series') {
    if (naming.series === undefined) at('a series needs "series", such as INV-#####')
    return { rule: 'series', series: naming.series ?? '#####', gaps: naming.gaps ?? false }
  }
  if (naming.gaps !== undefined) at('"gaps" is for a series')
  if (naming.rule === 'field') {
    const field = fields.get(naming.field ?? '')
    if (field?.type !== 'text' || !field.required) at('"field" must name a required text field')
    return { rule: 'field', field: naming.field ?? '' }
  }
  return { rule: naming.rule }
}

/** A user without roles: the part of a rule that the store cannot answer is the same for every user. */
const anybody = { id: '', fullName: '', roles: new Set<string>() }

function readRules(source: DoctypeSource, reading: Reading): Doctype['rules'] {
  return (source.permissions ?? []).map((rule, index) => {
    const at = (key: string, message: string) =>
      reading.faults.push(reading.document.fault(['permissions', index, key], message))
    if (!source.submittable && rule.actions.some((action) => ['submit', 'cancel', 'amend'].includes(action)))
      at('actions', `${source.doctype} is not submittable`)
    const when =
      rule.when === undefined
        ? undefined
        : readExpression(rule.when, ['permissions', index, 'when'], source, reading)
    // What a table of others has words for is told when it is looked at.
    const residue = when && !source.from && residueOf(asserted(bound(when.term, { user: anybody, now: 0 })))
    if (typeof residue === 'string')
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

/** Checks that a computed field does not show values that the fields it reads hide. */
function checkComputed(
  doctype: Doctype,
  doctypes: ReadonlyMap<string, Doctype>,
  document: SourceDocument,
  faults: Fault[],
): void {
  const names = [...doctype.fields.keys()]
  for (const [index, field] of [...doctype.fields.values()].entries()) {
    const wrong = (message: string): void =>
      void faults.push(document.fault(['fields', index, 'computed'], message))
    for (const path of field.computed?.fields ?? []) {
      const [name, column] = path.split('.') as [string, string | undefined]
      const read = doctype.fields.get(name)
      const rows = column === undefined ? undefined : doctypes.get(read?.doctype ?? '')?.fields.get(column)
      for (const source of [read, rows]) {
        if (!source) continue
        const level = source.level === 0 || source.level === field.level
        const mask = !source.mask || (field.mask && [...field.mask].every((role) => source.mask!.has(role)))
        if (!level || !mask)
          wrong(`reads ${path}, which fewer people may see; give both the same level and visible_to`)
      }
      if (column === undefined && read?.computed && names.indexOf(name) >= index)
        wrong(`reads ${name}, which is computed later`)
    }
  }
}
