import { isObject } from '#leaf/as-json.ts'
import { unknownAmong } from '#leaf/names.ts'
import { randomId } from '#leaf/secrets.ts'
import { type Change, defaultOf, isHopeless, noteReadOnly, readField, type Values } from './change.ts'
import { type Access, knownFields, maskMarker } from '../permission.ts'
import type { Action, Doctype, Field } from '../platform/platform.ts'
import { type StoredDocument, rowsIn } from './stored.ts'

/** The most rows of a table: a document is read, checked and stored as a whole, rows and all. */
const maxRows = 1000

/**
 * Reads the rows of a table. Rows with the id of a stored row patch it (`_delete` removes it) and those
 * without are added; when no row has an id, they replace all.
 */
export function readRows(
  change: Change,
  field: Field,
  given: unknown,
  stored: unknown,
  document: StoredDocument,
): Values[] {
  const { problems, work } = change
  const columns = work.documents.platform.doctypes.get(field.doctype!)!
  const before = rowsIn(stored)
  if (!Array.isArray(given) || !given.every(isObject)) {
    problems.push(
      `${field.name}: must be an array of objects with ${settableNames(change.access, columns).join(', ')}`,
    )
    return before
  }
  const rows = given as Values[]
  if (rows.length > maxRows) {
    problems.push(`${field.name}: has at most ${maxRows} rows, not ${rows.length}`)
    return before
  }
  // Rows of a new document have no ids yet; a name in them is only a label of the caller.
  const patch = before.length > 0 && rows.some((row) => typeof row['name'] === 'string')
  const result = new Map<string, Values>(patch ? before.map((row) => [row['name'] as string, row]) : [])
  for (const [index, row] of rows.entries()) {
    const path = `${field.name}[${index}]`
    const id = typeof row['name'] === 'string' ? row['name'] : undefined
    const old = id === undefined ? undefined : result.get(id)
    if (patch && id !== undefined && !old) {
      problems.push(
        `${path}: there is no row "${id}"; its rows are ${before.map((other) => String(other['name'])).join(', ')}`,
      )
    } else if (row['_delete'] === true) {
      if (old) result.delete(id!)
      else
        problems.push(
          `${path}: _delete needs the name of a row: ${before.map((other) => String(other['name'])).join(', ')}`,
        )
    } else {
      const own = Object.entries(row).filter(([key]) => !ofRows.has(key))
      const place = { document, before: old, path: `${path}.` }
      const unknown = (key: string): string =>
        `${path}: ${unknownAmong('field', key, settableNames(change.access, columns))}`
      const values = readMembers(change, columns, own, place, unknown)
      const name = old ? id! : randomId().slice(0, 10)
      result.set(name, { ...(old ?? rowDefaults(change, columns)), ...values, name })
    }
  }
  return [...result.values()].map((row, index) => ({ ...row, idx: index + 1 }))
}

/** True for a field that nobody sets by this action. */
export function isClosed({ readOnly, only }: Field, action: Action): boolean {
  return readOnly || (only !== undefined && only !== action)
}

/** Keys that every row may have. */
const ofRows = new Set(['name', 'idx', '_delete', 'doctype'])

/** Names the fields that a document, or a row of a table in it, may be given. */
export function settableNames(access: Access, doctype: Doctype): string[] {
  return [...knownFields(access, doctype).values()].flatMap(({ name, readOnly }) => (readOnly ? [] : [name]))
}

/** Reads the values that a caller gave for a document or a row, by field; `before` is the stored one. */
export function readMembers(
  change: Change,
  { fields }: Doctype,
  data: readonly (readonly [name: string, given: unknown])[],
  {
    document,
    before,
    path,
  }: { document: StoredDocument; before: Readonly<Values> | undefined; path: string },
  unknown: (name: string) => string,
): Values {
  const { access } = change
  const values: Values = {}
  for (const [name, given] of data) {
    if (isHopeless(change)) break
    // The order of these checks decides the caller's answer: a field that it does not know must look
    // like none at all; a marker that comes back means no change; a read-only value is reported, not refused.
    const field = fields.get(name)
    if (!field || !access.knows(field)) change.problems.push(unknown(name))
    else if (access.masks(field) && given === maskMarker) continue
    else if (isClosed(field, change.action))
      noteReadOnly(change, field, path + name, given, { saved: before?.[name], document })
    else if (!access.mayset(field, change.action, document)) change.refused.push(path + name)
    else if (field.type === 'table') values[name] = readRows(change, field, given, before?.[name], document)
    else values[name] = readField(change, field, path + name, given)
  }
  return values
}

function rowDefaults(change: Change, columns: Doctype): Values {
  return Object.fromEntries(
    [...columns.fields.values()].map((column) => [column.name, defaultOf(change, column) ?? null]),
  )
}
