/** From what a caller sends to what is stored: types, defaults, rows, computed fields. */
import { unknownName } from '../core/names.ts'
import { type Change, defaultOf, isHopeless, noteReadOnly, readField, type Values } from './change.ts'
import { equal, roundTo } from '../core/expression-values.ts'
import { type Access, maskMarker } from './permission.ts'
import { type Doctype, type Field, standardFields } from './platform.ts'
import { readRows } from './rows.ts'
import type { StoredDocument } from './stored.ts'
import { placesOf, readValue } from './values.ts'

/** Reads the caller's data into values; `before` is the stored document when one is changed. */
export function readData(
  change: Change,
  data: Readonly<Record<string, unknown>>,
  before: StoredDocument | undefined,
  document: StoredDocument,
): Values {
  const { access, problems } = change
  const values: Values = {}
  for (const [name, given] of Object.entries(data)) {
    if (ignorable(name, given, access.doctype, before)) continue
    if (isHopeless(change)) break
    // The order of the questions is the answer that the caller gets: a field that it does not know must look
    // like none at all; a marker that comes back means no change; a read-only value is told, not refused.
    const field = access.doctype.fields.get(name)
    if (!field || !access.knows(field)) problems.push(unknownField(access, name))
    else if (access.masks(field) && given === maskMarker) continue
    else if (field.readOnly) noteReadOnly(change, field, name, given, before?.[name])
    else if (!access.mayset(field, change.action, document)) change.refused.push(name)
    else if (field.type === 'table') values[name] = readRows(change, field, given, before?.[name], document)
    else values[name] = readField(change, field, name, given)
  }
  return values
}

/** Fills in what the caller left out of a new document. */
export function withDefaults(change: Change, values: Values): Values {
  const { doctype } = change.access
  const complete: Values = {}
  for (const field of doctype.fields.values())
    complete[field.name] =
      values[field.name] ?? defaultOf(change, field) ?? (field.type === 'table' ? [] : null)
  return complete
}

/** Calculates the computed fields, of the rows first. */
export function compute({ work, access }: Change, document: StoredDocument): StoredDocument {
  const { documents, principal } = work
  const result: Values = { ...document }
  const scopeOf = (doc: Readonly<Record<string, unknown>>) => ({
    doc,
    user: { id: principal.user, fullName: principal.fullName, roles: principal.roles },
    now: documents.clock.now(),
  })
  const fill = (fields: Iterable<Field>, target: Values): void => {
    for (const field of fields)
      if (field.computed) target[field.name] = calculated(field, field.computed.evaluate(scopeOf(target)))
  }
  // Rows first: a total of the document reads the computed columns of its rows.
  for (const field of access.doctype.fields.values()) {
    const rows = result[field.name]
    if (field.type !== 'table' || !Array.isArray(rows)) continue
    const columns = documents.platform.doctypes.get(field.doctype!)!.fields
    if (![...columns.values()].some((column) => column.computed)) continue
    result[field.name] = rows.map((row: Values) => {
      const copy = { ...row }
      fill(columns.values(), copy)
      return copy
    })
  }
  fill(access.doctype.fields.values(), result)
  return result as StoredDocument
}

function ignorable(
  name: string,
  given: unknown,
  doctype: Doctype,
  before: StoredDocument | undefined,
): boolean {
  // A document read with get_document and sent back carries these.
  if (name === 'doctype') return given === doctype.name
  if (name === 'name') return before === undefined ? true : given === before.id
  return standardFields.has(name) && before !== undefined && equal(given, before[name])
}

function calculated(field: Field, value: unknown): unknown {
  // An expression that gives nonsense leaves the field empty: it is no fault of the caller.
  const read =
    typeof value === 'number' && placesOf(field) !== undefined
      ? { value: roundTo(value, placesOf(field)!) }
      : readValue(field, value)
  return 'problem' in read ? null : read.value
}

function unknownField(access: Access, name: string): string {
  if (standardFields.has(name)) return `${name} is kept by the system and cannot be set`
  const known = [...access.doctype.fields.values()].filter((field) => access.knows(field) && !field.readOnly)
  return `${unknownName(
    'field',
    name,
    known.map((field) => field.name),
  )} (get_doctype_info lists the fields)`
}
