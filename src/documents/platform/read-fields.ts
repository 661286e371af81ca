/** Reads the fields of a doctype. */
import type { SourceDocument } from '#site/site-files.ts'
import { ownField, type Reading, readExpression, sourceOf } from './doctype-reading.ts'
import type { DoctypeSource, FieldSource } from './doctype-schema.ts'
import type { Field } from './platform.ts'
import { standardFields } from './standard-fields.ts'
import { readValue } from '../values.ts'

/** Names that a field may not have, because every document or row has them already. */
export const reservedFields: ReadonlySet<string> = new Set([
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

/**
 * Reads the fields of one doctype, in the order of the file. Faults are collected in the reading; the result must not
 * be used when there are any.
 */
export function readFields(source: DoctypeSource, reading: Reading): Map<string, Field> {
  const { document, faults } = reading
  const fields = new Map<string, Field>()
  for (const [index, field] of source.fields.entries()) {
    const at = (key: string, message: string) =>
      faults.push(document.fault(key === '' ? ['fields', index] : ['fields', index, key], message))
    if (reservedFields.has(field.fieldname))
      at('fieldname', `"${field.fieldname}" is a name that every document has`)
    if (fields.has(field.fieldname)) at('fieldname', `"${field.fieldname}" is there twice`)
    checkField(field, source, reading, at)
    const computed =
      field.computed === undefined
        ? undefined
        : readExpression(field.computed, ['fields', index, 'computed'], source, reading)
    const expressed = isExpression(field.default)
      ? readExpression(field.default.slice(1), ['fields', index, 'default'], source, reading)
      : undefined
    // Defaults are filled in before any other value is there; computed values are stored, so they must be the
    // same for everyone who reads them.
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
      ...(field.content !== undefined && { content: field.content }),
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
  const target = linked ? sources.get(field.doctype ?? '') : undefined
  if (target && (field.type === 'table') !== (target.child ?? false))
    at('doctype', `${target.doctype} is ${target.child ? 'a' : 'not a'} child doctype`)
  if ((field.type === 'dynamic_link') !== (field.doctype_field !== undefined))
    at('doctype_field', 'a dynamic_link, and nothing else, needs a doctype_field')
  else if (
    field.doctype_field !== undefined &&
    !source.fields.some(
      ({ fieldname, type }) => fieldname === field.doctype_field && (type === 'text' || type === 'select'),
    )
  )
    at('doctype_field', 'must be a text or select field that holds the doctype')
  if (field.content !== undefined && field.type !== 'json') at('content', 'only a json has content')
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

function isExpression(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('=')
}

/** Adds the field in which a submittable doctype names the document that an amended copy replaces. */
export function withAmendedFrom(
  doctype: string,
  fields: Map<string, Field>,
  document: SourceDocument,
): Map<string, Field> {
  const field = ownField({
    name: 'amended_from',
    label: 'Amended From',
    type: 'link',
    description: 'The cancelled document that this one replaces.',
    doctype,
    source: sourceOf(document, ['submittable']),
  })
  return fields.set(field.name, field)
}

function labelOf(name: string): string {
  return name.replaceAll('_', ' ').replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
}
