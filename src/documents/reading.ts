/** Listing and reading documents. */
import { unknownName } from '../core/names.ts'
import { setImmediate } from 'node:timers/promises'
import { all, always, type Condition, type SortKey } from '../core/conditions.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import type { Collection } from '../store/store.ts'
import { comparableField, conditionOf, readFilters, readOrder } from './filters.ts'
import { accessFor, collectionFor, type Documents, readable, requireAction } from './documents.ts'
import { type Access, maskMarker } from './permission.ts'
import { standardFields } from './platform.ts'
import { type StoredDocument, valueOf } from './stored.ts'

/** Which documents, as `list_documents` takes it. */
export interface ListQuery {
  readonly doctype: string
  readonly filters?: unknown
  readonly fields?: readonly string[]
  readonly limit?: number
  readonly offset?: number
  readonly orderBy?: string
  /** What an earlier page gave to go on after its last row; instead of an offset. */
  readonly cursor?: string
  /** Lifts the cap on `limit`, for reports that have their own. */
  readonly most?: number
  /** Refuse masked fields instead of showing a marker. */
  readonly clearOnly?: boolean
}

/** A part of the documents that the principal may read, and how many there are in all. */
export interface DocumentPage {
  readonly doctype: string
  readonly data: readonly DocumentView[]
  readonly total: number
  /** Whether there are more than the total, up to which they were counted. */
  readonly moreThanTotal: boolean
  readonly offset: number
  /** Whether there are more after these. */
  readonly more: boolean
  /** What goes on after so many of these, and stays right while others write. */
  readonly cursorAfter: (count: number) => string
}

/** A document as one principal may see it, in the names that callers use. */
export type DocumentView = Readonly<Record<string, unknown>>

/** What a model reads with ease when it does not say how much it wants; `maxLimit` bounds one answer. */
const defaultLimit = 20
const maxLimit = 1000
/** Beside a page no more documents are counted: among a million it costs what it does among these. */
const mostCounted = 10_000

/**
 * A page of the documents that the principal may read, newest first unless asked otherwise. AppError
 * `not_found`, `forbidden`, or `invalid` for filters, order and fields.
 */
export async function listDocuments(
  documents: Documents,
  principal: Principal,
  query: ListQuery,
): Promise<DocumentPage> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  const fields = readFields(access, query.fields)
  if (query.clearOnly) requireComparable(access, fields)
  const holds = openTo(access, conditionOf(readFilters(access, query.filters)))
  const order = readOrder(access, query.orderBy ?? 'creation desc')
  const limit = Math.min(Math.max(1, query.limit ?? defaultLimit), query.most ?? maxLimit)
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor, order)
  const offset = after ? 0 : Math.max(0, query.offset ?? 0)
  const collection = collectionFor(documents, access.doctype)
  const { found, total } = await collection.page(
    { holds, order, after, offset, limit: limit + 1 },
    mostCounted + 1,
  )
  const page = found.slice(0, limit)
  access.show(page)
  return {
    doctype: query.doctype,
    data: page.map((document) => listView(access, document, fields)),
    ...upToMost(total),
    offset,
    more: found.length > limit,
    cursorAfter: (count) => cursorOf(order, page[count - 1]!),
  }
}

/** How many documents there are in all, as far as it is told beside some of them. */
export async function countSome(
  collection: Collection<StoredDocument>,
  holds: Condition,
): Promise<Pick<DocumentPage, 'total' | 'moreThanTotal'>> {
  return upToMost(await collection.count({ holds, limit: mostCounted + 1 }))
}

function upToMost(counted: number): Pick<DocumentPage, 'total' | 'moreThanTotal'> {
  return { total: Math.min(counted, mostCounted), moreThanTotal: counted > mostCounted }
}

function cursorOf(order: readonly SortKey[], last: StoredDocument): string {
  return Buffer.from(JSON.stringify([order, ...placeOf(order, last)])).toString('base64url')
}

/** What comes after a document is known by these. */
function placeOf(order: readonly SortKey[], document: StoredDocument): readonly unknown[] {
  return [...order.map(({ field }) => document[field] ?? null), document.id]
}

/** The values of a cursor. AppError `invalid` for one of another order, or of nobody. */
function readCursor(cursor: string, order: readonly SortKey[]): readonly unknown[] {
  try {
    const [of, ...after] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    const whole = after.length === order.length + 1 && typeof after.at(-1) === 'string'
    if (
      whole &&
      JSON.stringify(of) === JSON.stringify(order) &&
      !after.some((one) => typeof one === 'object' && one)
    )
      return after
  } catch {
    // Told below.
  }
  throw new AppError(
    'invalid',
    'cursor: not one that this list gave; give the same order_by, or begin without it',
  )
}

/** One document with its rows, of its fields all or those that are wanted. AppError `not_found` also for one that is there but may not be read. */
export async function getDocument(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  options: { readonly fields?: readonly string[] } = {},
): Promise<DocumentView> {
  const access = accessFor(documents, principal, doctype)
  const document = await readable(documents, access, name)
  return viewOf(documents, access, document, options.fields)
}

/** What holds of the documents that the principal may read and of which the condition holds. */
export function openTo(access: Access, condition: Condition = always): Condition {
  return all(condition, access.where('read'))
}

const pageLength = 500

/** Every such document, by name unless asked otherwise, in pages: however many there are, few are held, and others are answered meanwhile. */
export async function* permitted(
  documents: Documents,
  access: Access,
  condition: Condition = always,
  { order = [], limit = Infinity }: { readonly order?: readonly SortKey[]; readonly limit?: number } = {},
): AsyncGenerator<readonly StoredDocument[]> {
  const collection = collectionFor(documents, access.doctype)
  const holds = openTo(access, condition)
  let after: readonly unknown[] | undefined
  for (let left = limit; left > 0; left -= pageLength) {
    const page = await collection.find({ holds, order, after, limit: Math.min(pageLength, left) })
    if (page.length > 0) yield page
    if (page.length < pageLength) return
    after = placeOf(order, page.at(-1)!)
    await setImmediate()
  }
}

/** The whole document as the principal may see it; fields without a value are left out. */
export function viewOf(
  documents: Documents,
  access: Access,
  document: StoredDocument,
  only?: readonly string[],
): DocumentView {
  const wanted = only === undefined ? undefined : new Set(readFields(access, only, 'tables'))
  const view: Record<string, unknown> = {}
  for (const name of standardFields.keys())
    if (!wanted || wanted.has(name) || name === 'name') view[name] = valueOf(document, name)
  for (const field of access.doctype.fields.values()) {
    if (wanted && !wanted.has(field.name)) continue
    const visibility = access.shows(field, document)
    if (visibility === 'hidden') continue
    const value = valueOf(document, field.name)
    if (visibility === 'masked') view[field.name] = maskMarker
    else if (field.type === 'table')
      view[field.name] = rowsView(documents, access, document, field.doctype!, value)
    else if (value !== null) view[field.name] = value
  }
  return view
}

function rowsView(
  documents: Documents,
  access: Access,
  document: StoredDocument,
  doctype: string,
  rows: unknown,
): DocumentView[] {
  const fields = [...(documents.platform.doctypes.get(doctype)?.fields.values() ?? [])]
  return (Array.isArray(rows) ? rows : []).map((row: Record<string, unknown>) => {
    const view: Record<string, unknown> = { name: row['name'], idx: row['idx'] }
    for (const field of fields) {
      const visibility = access.shows(field, document)
      if (visibility === 'masked') view[field.name] = maskMarker
      else if (visibility === 'clear' && (row[field.name] ?? null) !== null)
        view[field.name] = row[field.name]
    }
    return view
  })
}

/** The fields asked for that the principal knows. AppError `invalid` names the others. */
function readFields(access: Access, names: readonly string[] | undefined, tables?: 'tables'): string[] {
  const title = access.doctype.titleField
  if (names === undefined || names.length === 0)
    return [
      'name',
      ...(title !== undefined && comparable(access, title) ? [title] : []),
      'creation',
      'modified',
    ]
  const known = [...access.doctype.fields.values()].filter((field) => access.knows(field))
  const problems: string[] = []
  const fields = names.flatMap((name) => {
    if (name === '*')
      return [
        ...standardFields.keys(),
        ...known.filter((field) => field.type !== 'table').map((field) => field.name),
      ]
    if (standardFields.has(name)) return [name]
    const field = known.find((other) => other.name === name)
    if (!field)
      problems.push(
        unknownName('field', name, [...standardFields.keys(), ...known.map((other) => other.name)]),
      )
    else if (field.type === 'table' && !tables) problems.push(`${name} holds rows; get_document shows them`)
    return [name]
  })
  if (problems.length > 0)
    throw new AppError('invalid', `fields: ${problems.join('; ')} (get_doctype_info lists the fields)`)
  return [...new Set(['name', ...fields])]
}

function requireComparable(access: Access, fields: readonly string[]): void {
  const problems = fields
    .map((name) => comparableField(access, name))
    .filter((field) => typeof field === 'string')
  if (problems.length > 0)
    throw new AppError('forbidden', `your roles do not open this: ${problems.join('; ')}`)
}

function comparable(access: Access, name: string): boolean {
  return typeof comparableField(access, name) !== 'string'
}

function listView(access: Access, document: StoredDocument, fields: readonly string[]): DocumentView {
  const view: Record<string, unknown> = {}
  for (const name of fields) {
    const field = access.doctype.fields.get(name)
    const visibility = field ? access.shows(field, document) : 'clear'
    // A hidden value is null in a list, so that all rows have the same columns.
    view[name] =
      visibility === 'clear' ? valueOf(document, name) : visibility === 'masked' ? maskMarker : null
  }
  return view
}
