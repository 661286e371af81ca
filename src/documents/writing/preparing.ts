/** Converts a caller's data into the stored form: types, defaults, rows, computed fields. */
import type { Reach } from '../documents.ts'
import { unknownAmong } from '#leaf/names.ts'
import { type Change, defaultOf, type Values } from './change.ts'
import { equal, roundTo } from '#state/questions.ts'
import { expressionUser } from '../permission.ts'
import type { Doctype, Field } from '../platform/platform.ts'
import { standardFields } from '../platform/standard-fields.ts'
import { readMembers, settableNames } from './rows.ts'
import type { StoredDocument } from './stored.ts'
import { placesOf, readValue } from '../values.ts'

/** Reads the caller's data into values; `before` is the stored document when one is changed. */
export function readData(
  change: Change,
  data: Readonly<Record<string, unknown>>,
  before: StoredDocument | undefined,
  document: StoredDocument,
): Values {
  const { access } = change
  const given = Object.entries(data).filter(
    ([name, value]) => !ignorable(name, value, access.doctype, before),
  )
  const place = { document, before, path: '' }
  return readMembers(change, access.doctype, given, place, (name) => unknownField(access, name))
}

/** Fills in the values that the caller left out of a new document. */
export function withDefaults(change: Change, values: Values): Values {
  const { doctype } = change.access
  const complete: Values = {}
  for (const field of doctype.fields.values())
    complete[field.name] =
      values[field.name] ?? defaultOf(change, field) ?? (field.type === 'table' ? [] : null)
  return complete
}

/** Calculates the computed fields, those of the rows first. */
export function compute({ work, access }: Change, document: StoredDocument): StoredDocument {
  const { documents, principal } = work
  const result: Values = { ...document }
  const scopeOf = (doc: Readonly<Record<string, unknown>>) => ({
    doc,
    user: expressionUser(principal),
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
  // A document that was read with get_document and is sent back carries these.
  if (name === 'doctype') return given === doctype.name
  if (name === 'name') return before === undefined ? true : given === before.id
  return standardFields.has(name) && before !== undefined && equal(given, before[name])
}

function calculated(field: Field, value: unknown): unknown {
  // An expression without a valid result leaves the field empty: it is no fault of the caller.
  const read =
    typeof value === 'number' && placesOf(field) !== undefined
      ? { value: roundTo(value, placesOf(field)!) }
      : readValue(field, value)
  return 'problem' in read ? null : read.value
}

function unknownField(access: Reach, name: string): string {
  if (standardFields.has(name)) return `${name} is kept by the system and cannot be set`
  return `${unknownAmong('field', name, settableNames(access, access.doctype))} (get_doctype_info lists the fields)`
}
