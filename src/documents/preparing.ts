/**
 * From what a caller sends to what is stored: types, defaults, rows, computed fields, required
 * fields, links, validation rules. All problems are collected, so that a caller can mend them at once.
 */
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { randomId } from '../core/secrets.ts'
import type { Transaction } from '../store/store.ts'
import { equal, roundTo } from './expression-values.ts'
import { holds } from './expression.ts'
import { collectionFor, type Ground } from './ground.ts'
import { type Access, accessTo } from './permission.ts'
import { type Action, type Doctype, type Field, standardFields } from './platform.ts'
import { unknown } from './read-doctypes.ts'
import { type StoredDocument } from './stored.ts'
import { readValue, show } from './values.ts'

/** A value that was stored otherwise than the caller asked. */
export interface Warning {
  readonly field: string
  readonly requested: unknown
  readonly saved: unknown
  readonly reason: string
}

/** One change under way: who does what, and what is found wrong with it. */
export interface Change {
  readonly ground: Ground
  readonly principal: Principal
  readonly access: Access
  readonly action: Action
  readonly tx: Transaction
  readonly problems: string[]
  readonly warnings: Warning[]
  /** Fields of the data that the principal may see but not set. */
  readonly refused: string[]
}

export type Values = Record<string, unknown>

/** Ends a change that has problems: `forbidden` when fields are refused, else `invalid` with all problems. */
export function refuseProblems({ problems, refused, access }: Change): void {
  if (refused.length > 0)
    throw new AppError(
      'forbidden',
      `you may not set ${refused.join(', ')} of ${access.doctype.name}; leave ${refused.length === 1 ? 'it' : 'them'} out`,
    )
  if (problems.length > 0)
    throw new AppError('invalid', `${access.doctype.name}: ${problems.join('; ')}`, { data: { problems } })
}

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
    const field = access.doctype.fields.get(name)
    if (!field || !access.knows(field)) problems.push(unknownField(access, name))
    else if (!access.mayset(field, change.action, document)) change.refused.push(name)
    else if (field.readOnly) noteReadOnly(change, field, given, before)
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
export function compute({ ground, access, principal }: Change, document: StoredDocument): StoredDocument {
  const result: Values = { ...document }
  const scopeOf = (doc: Readonly<Record<string, unknown>>) => ({
    doc,
    user: { id: principal.user, fullName: principal.fullName, roles: principal.roles },
    now: ground.clock.now(),
  })
  const fill = (fields: Iterable<Field>, target: Values): void => {
    for (const field of fields)
      if (field.computed) target[field.name] = calculated(field, field.computed.evaluate(scopeOf(target)))
  }
  for (const field of access.doctype.fields.values()) {
    const rows = result[field.name]
    if (field.type !== 'table' || !Array.isArray(rows)) continue
    const columns = ground.platform.doctypes.get(field.doctype!)!.fields
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

/** Checks that required values are there, links lead somewhere the principal may see, and the rules hold. */
export async function checkDocument(
  change: Change,
  document: StoredDocument,
  before: StoredDocument | undefined,
): Promise<void> {
  const { ground, access, principal, problems } = change
  const missing: string[] = []
  for (const field of access.doctype.fields.values()) {
    const value = document[field.name]
    if (field.required && isEmpty(value)) missing.push(field.name)
    if (field.type === 'table') await checkRows(change, field, document, before, missing)
    else if (!isEmpty(value) && !equal(value, before?.[field.name]))
      await checkLink(change, field, field.name, value, document)
    if (field.unique && !isEmpty(value) && !equal(value, before?.[field.name]))
      await checkUnique(change, field, document)
  }
  if (missing.length > 0)
    problems.push(`${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} required`)
  const user = { id: principal.user, fullName: principal.fullName, roles: principal.roles }
  for (const { rule, message } of access.doctype.validations)
    if (!holds(rule, { doc: document, user, now: ground.clock.now() })) problems.push(message)
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

function unknownField(access: Access, name: string): string {
  if (standardFields.has(name)) return `${name} is kept by the system and cannot be set`
  const known = [...access.doctype.fields.values()].filter((field) => access.knows(field) && !field.readOnly)
  return `${unknown(
    'field',
    name,
    known.map((field) => field.name),
  )} (get_doctype_info lists the fields)`
}

function noteReadOnly(
  change: Change,
  field: Field,
  given: unknown,
  before: StoredDocument | undefined,
): void {
  if (before && equal(given, before[field.name])) return
  change.warnings.push({
    field: field.name,
    requested: given,
    saved: null,
    reason: field.computed ? 'it is calculated' : 'it is read-only',
  })
}

function readField(change: Change, field: Field, path: string, given: unknown): unknown {
  const read = readValue(field, given)
  if ('problem' in read) {
    change.problems.push(`${path}: ${read.problem}`)
    return null
  }
  const changed = !equal(read.value, given) && typeof given === typeof read.value && field.type !== 'json'
  if (changed)
    change.warnings.push({
      field: path,
      requested: given,
      saved: read.value,
      reason: `stored as a ${field.type}`,
    })
  return read.value
}

const maxRows = 1000

/**
 * The rows of a table. Rows with the id of a stored row patch it (`_delete` removes it) and those
 * without are added; when no row has an id, they replace all.
 */
function readRows(
  change: Change,
  field: Field,
  given: unknown,
  stored: unknown,
  document: StoredDocument,
): Values[] {
  const { problems, ground } = change
  const before = Array.isArray(stored) ? (stored as Values[]) : []
  if (
    !Array.isArray(given) ||
    given.some((row) => typeof row !== 'object' || row === null || Array.isArray(row))
  ) {
    problems.push(`${field.name}: must be an array of objects`)
    return before
  }
  const rows = given as Values[]
  if (rows.length > maxRows) {
    problems.push(`${field.name}: has at most ${maxRows} rows`)
    return before
  }
  const columns = ground.platform.doctypes.get(field.doctype!)!
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
      else problems.push(`${path}: _delete needs the name of a row`)
    } else {
      const values = readRow(change, columns, path, row, old, document)
      const name = old ? id! : randomId().slice(0, 10)
      result.set(name, { ...(old ?? rowDefaults(change, columns)), ...values, name })
    }
  }
  return [...result.values()].map((row, index) => ({ ...row, idx: index + 1 }))
}

function readRow(
  change: Change,
  columns: Doctype,
  path: string,
  row: Values,
  old: Values | undefined,
  document: StoredDocument,
): Values {
  const values: Values = {}
  for (const [name, given] of Object.entries(row)) {
    if (name === 'name' || name === 'idx' || name === '_delete' || name === 'doctype') continue
    const column = columns.fields.get(name)
    if (!column || !change.access.knows(column)) {
      const known = [...columns.fields.values()].filter((other) => change.access.knows(other))
      change.problems.push(
        `${path}: ${unknown(
          'field',
          name,
          known.map((other) => other.name),
        )}`,
      )
    } else if (!change.access.mayset(column, change.action, document)) change.refused.push(`${path}.${name}`)
    else if (column.readOnly) {
      if (!equal(given, old?.[name] ?? null))
        change.warnings.push({
          field: `${path}.${name}`,
          requested: given,
          saved: null,
          reason: column.computed ? 'it is calculated' : 'it is read-only',
        })
    } else values[name] = readField(change, column, `${path}.${name}`, given)
  }
  return values
}

function rowDefaults(change: Change, columns: Doctype): Values {
  return Object.fromEntries(
    [...columns.fields.values()].map((column) => [column.name, defaultOf(change, column) ?? null]),
  )
}

function defaultOf({ ground, principal }: Change, field: Field): unknown {
  if (field.defaultExpression) {
    const user = { id: principal.user, fullName: principal.fullName, roles: principal.roles }
    return field.defaultExpression.evaluate({ doc: {}, user, now: ground.clock.now() })
  }
  if (field.default === undefined) return field.type === 'check' ? false : undefined
  return field.default
}

function calculated(field: Field, value: unknown): unknown {
  const read =
    field.type === 'currency' && typeof value === 'number'
      ? { value: roundTo(value, field.precision ?? 2) }
      : readValue(field, value)
  return 'problem' in read ? null : read.value
}

async function checkRows(
  change: Change,
  field: Field,
  document: StoredDocument,
  before: StoredDocument | undefined,
  missing: string[],
): Promise<void> {
  const columns = change.ground.platform.doctypes.get(field.doctype!)!
  const old = new Map(rowsOf(before?.[field.name]).map((row) => [row['name'], row]))
  for (const [index, row] of rowsOf(document[field.name]).entries()) {
    for (const column of columns.fields.values()) {
      const path = `${field.name}[${index}].${column.name}`
      const value = row[column.name]
      if (column.required && isEmpty(value)) missing.push(path)
      if (!isEmpty(value) && !equal(value, old.get(row['name'])?.[column.name]))
        await checkLink(change, column, path, value, row)
    }
    const user = {
      id: change.principal.user,
      fullName: change.principal.fullName,
      roles: change.principal.roles,
    }
    for (const { rule, message } of columns.validations)
      if (!holds(rule, { doc: row, user, now: change.ground.clock.now() }))
        change.problems.push(`${field.name}[${index}]: ${message}`)
  }
}

/** A link must lead to a document that the principal may read: otherwise an error would tell that there is one. */
async function checkLink(
  change: Change,
  field: Field,
  path: string,
  value: unknown,
  holder: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (field.type !== 'link' && field.type !== 'dynamic_link') return
  const { ground, principal, problems, tx } = change
  const target = field.type === 'link' ? field.doctype! : holder[field.doctypeField!]
  const doctype = typeof target === 'string' ? ground.platform.doctypes.get(target) : undefined
  const access = doctype && !doctype.child ? accessTo(principal, doctype, ground.clock.now()) : undefined
  const linked = access?.may('read')
    ? await collectionFor(ground, doctype!, tx).get(String(value))
    : undefined
  if (!linked || !access!.allows('read', linked)) {
    const kind = doctype && access?.may('read') ? doctype.name : 'document'
    problems.push(
      `${path}: there is no ${kind} ${show(value)} that you may read${kind === 'document' ? '' : ' (search_link finds names)'}`,
    )
  } else if (linked.docstatus === 2) problems.push(`${path}: ${doctype!.name} ${show(value)} is cancelled`)
}

async function checkUnique(change: Change, field: Field, document: StoredDocument): Promise<void> {
  const same = await collectionFor(change.ground, change.access.doctype, change.tx).find({
    where: { [field.name]: document[field.name] },
    filter: (other) => other.id !== document.id && other.docstatus !== 2,
    limit: 1,
  })
  if (same.length > 0)
    change.problems.push(`${field.name}: ${show(document[field.name])} cannot be used, it must be unique`)
}

function rowsOf(value: unknown): Values[] {
  return Array.isArray(value) ? (value as Values[]) : []
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
