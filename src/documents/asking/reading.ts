/** Lists and reads documents. */
import { joined, unknownAmong } from '#leaf/names.ts'
import { sha256 } from '#leaf/secrets.ts'
import { setImmediate } from 'node:timers/promises'
import { always, type Condition, placeOf, type SortKey } from '#state/questions.ts'
import { AppError } from '#leaf/errors.ts'
import { Remembered } from '#leaf/remembered.ts'
import type { Principal } from '../../core/principal.ts'
import type { Collection } from '#state/store.ts'
import { comparableField, conditionOf, openTo, readOrder } from './filters.ts'
import { filtersOf } from './linked-filters.ts'
import { accessFor, type Documents, readable, requireAction, type Reach } from '../documents.ts'
import { type Access, maskMarker, knownFields } from '../permission.ts'
import type { Field, FieldType } from '../platform/platform.ts'
import { defaultOrder, standardOf } from '../platform/standard-fields.ts'
import { type StoredDocument, valueOf, rowsIn } from '../writing/stored.ts'

/** The query of a list, as `list_documents` takes it. */
export interface ListQuery {
  readonly doctype: string
  readonly filters?: unknown
  readonly fields?: readonly string[]
  readonly limit?: number
  readonly offset?: number
  readonly orderBy?: string
  /** The cursor of an earlier page, to go on after its last row; instead of an offset. */
  readonly cursor?: string
  /** Lifts the cap on `limit`, for reports that have their own. */
  readonly most?: number
  /** True to refuse masked fields instead of showing a marker. */
  readonly clearOnly?: boolean
}

/** A page of the documents that the principal may read, with their total number. */
export interface DocumentPage {
  readonly doctype: string
  readonly data: readonly DocumentView[]
  readonly total: number
  /** True if there are more than the total, at which the count stopped. */
  readonly moreThanTotal: boolean
  readonly offset: number
  /** True if there are more after these. */
  readonly more: boolean
  /** Returns the cursor after so many of these, which stays right while others write. */
  readonly cursorAfter: (count: number) => string
}

/** A document as one principal may see it, with callers' field names. */
export type DocumentView = Readonly<Record<string, unknown>>

/** The limit without one given, which a model reads with ease; `maxLimit` bounds one answer. */
const defaultLimit = 20
const maxLimit = 1000
/** The most documents counted beside a page: to count a million would cost far more than the page. */
const mostCounted = 10_000

/**
 * Returns a page of the documents that the principal may read, newest first unless asked otherwise. AppError
 * `not_found`, `forbidden`, or `invalid` for filters, order and fields.
 */
export async function listDocuments(
  documents: Documents,
  principal: Principal,
  query: ListQuery,
): Promise<DocumentPage> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  const fields = wantedFields(access, query.fields)
  if (query.clearOnly) requireComparable(access, fields)
  const holds = openTo(access, conditionOf(await filtersOf(access, query.filters)))
  const order = readOrder(access, query.orderBy ?? defaultOrder(access.doctype))
  const limit = Math.min(Math.max(1, query.limit ?? defaultLimit), query.most ?? maxLimit)
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor, order)
  const offset = after ? 0 : Math.max(0, query.offset ?? 0)
  const collection = access.collection()
  const { found, total, cut } = await collection.page(
    { holds, order, after, offset, limit: limit + 1, bytes: mostShown },
    mostCounted + 1,
  )
  const page = found.slice(0, limit)
  access.show(page)
  return {
    doctype: query.doctype,
    data: page.map((document) => listView(access, document, fields)),
    ...upToMost(total),
    offset,
    more: cut || found.length > limit,
    cursorAfter: (count) => cursorOf(order, page[count - 1]!),
  }
}

/** Counts documents for display beside a page, up to `mostCounted`. */
export async function countSome(
  collection: Collection<StoredDocument>,
  holds: Condition,
): Promise<Pick<DocumentPage, 'total' | 'moreThanTotal'>> {
  return upToMost(await collection.count({ holds, limit: mostCounted + 1 }))
}

function upToMost(counted: number): Pick<DocumentPage, 'total' | 'moreThanTotal'> {
  return { total: Math.min(counted, mostCounted), moreThanTotal: counted > mostCounted }
}

/** Returns the cursor of what comes after a document. */
export function cursorOf(order: readonly SortKey[], last: Parameters<typeof placeOf>[1]): string {
  return Buffer.from(JSON.stringify([order, ...placeOf(order, last)])).toString('base64url')
}

/** Reads the values of a cursor. AppError `invalid` for a cursor of another order, or one that no list gave. */
export function readCursor(cursor: string, order: readonly SortKey[]): readonly unknown[] {
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
    // Reported below.
  }
  throw new AppError(
    'invalid',
    'cursor: not one that this list gave; give the same order_by, or begin without it',
  )
}

/** Returns a document with its rows, and all or the wanted fields. AppError `not_found` also for one that may not be read. */
export async function getDocument(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  options: { readonly fields?: readonly string[] } = {},
): Promise<DocumentView> {
  const access = accessFor(documents, principal, doctype)
  const document = await readable(access, name)
  return viewOf(access, document, options.fields)
}

const pageLength = 500
/** The most bytes of a page that is processed in one turn, and of one that is shown: texts may be long. */
const pageBytes = 4 << 20
const mostShown = 16 << 20

/** Reads all such documents in pages, by name unless asked otherwise: few are in memory, and others are served meanwhile. */
export async function* permitted(
  access: Reach,
  condition: Condition = always,
  { order = [], limit = Infinity }: { readonly order?: readonly SortKey[]; readonly limit?: number } = {},
): AsyncGenerator<readonly StoredDocument[]> {
  yield* inPages(access.collection(), {
    holds: openTo(access, condition),
    order,
    limit,
  })
}

/** Reads every document that passes a condition, in the same way. */
export async function* inPages(
  collection: Collection<StoredDocument>,
  {
    holds,
    order = [],
    limit = Infinity,
  }: { readonly holds: Condition; readonly order?: readonly SortKey[]; readonly limit?: number },
): AsyncGenerator<readonly StoredDocument[]> {
  let after: readonly unknown[] | undefined
  for (let left = limit; left > 0;) {
    const part = { limit: Math.min(pageLength, left), bytes: pageBytes }
    const { found, cut } = await collection.page({ holds, order, after, ...part }, 0)
    if (found.length > 0) yield found
    if (!cut && found.length < pageLength) return
    left -= found.length
    after = placeOf(order, found.at(-1)!)
    await setImmediate()
  }
}

/** Returns what tells the versions of a document apart: where no column does, what the principal may see of it. */
export function versionOf(access: Reach, document: StoredDocument): string {
  const { origin } = access.doctype
  if (!origin || standardOf(access.doctype).has('modified')) return document.modified
  return origin.version === undefined
    ? sha256(JSON.stringify(viewOf(access, document)))
    : String(document[origin.version])
}

/** Returns the whole document as the principal may see it, without fields that have no value. */
export function viewOf(access: Reach, document: StoredDocument, only?: readonly string[]): DocumentView {
  const wanted = only === undefined ? undefined : new Set(wantedFields(access, only, 'tables'))
  const view: Record<string, unknown> = {}
  for (const name of standardOf(access.doctype).keys())
    if (!wanted || wanted.has(name) || name === 'name') view[name] = valueOf(document, name)
  for (const field of access.doctype.fields.values()) {
    if (wanted && !wanted.has(field.name)) continue
    const visibility = access.shows(field, document)
    if (visibility === 'hidden') continue
    const value = valueOf(document, field.name)
    if (visibility === 'masked') view[field.name] = maskMarker
    else if (field.type === 'table') view[field.name] = rowsView(access, document, field.doctype!, value)
    else if (value !== null) view[field.name] = value
  }
  return view
}

function rowsView(access: Reach, document: StoredDocument, doctype: string, rows: unknown): DocumentView[] {
  const fields = [...(access.documents.platform.doctypes.get(doctype)?.fields.values() ?? [])]
  return rowsIn(rows).map((row) => {
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

/** Returns the wanted fields that the principal knows. AppError `invalid` names the others. */
export function wantedFields(
  access: Access,
  names: readonly string[] | undefined,
  tables?: 'tables',
): readonly string[] {
  if (names === undefined || names.length === 0) return usualFields(access)
  const standard = standardOf(access.doctype)
  const known = knownFields(access, access.doctype)
  const problems: string[] = []
  const fields = names.flatMap((name) => {
    if (name === '*')
      return [
        ...standard.keys(),
        ...[...known.values()].filter(({ type }) => type !== 'table').map((field) => field.name),
      ]
    if (standard.has(name)) return [name]
    const field = known.get(name)
    if (!field) problems.push(unknownAmong('field', name, [...known.keys(), ...standard.keys()]))
    else if (field.type === 'table' && !tables) problems.push(`${name} holds rows; get_document shows them`)
    return [name]
  })
  if (problems.length > 0)
    throw new AppError('invalid', `fields: ${joined(problems)} (get_doctype_info lists the fields)`)
  return [...new Set(['name', ...fields])]
}

/** Returns the fields that people know a document by: name, title, its own day, its state and its main amount, as far as there are some. */
function usualFields(access: Access): readonly string[] {
  return usual.of(access.doctype, access.asker.principal.roleKey, () => chooseUsual(access))
}

const usual = new Remembered<Access['doctype'], readonly string[]>()

function chooseUsual(access: Access): string[] {
  const { fields, titleField, submittable } = access.doctype
  const open = [...fields.values()].filter(({ name }) => comparable(access, name))
  const named = (type: FieldType, name: RegExp): Field | undefined =>
    open.find((field) => field.type === type && name.test(field.name))
  const amount =
    named('currency', /^(grand_)?total$|_total$|amount|value/) ?? open.find(({ type }) => type === 'currency')
  const chosen = [
    open.find(({ name }) => name === titleField),
    open.find(({ type }) => type === 'date'),
    named('select', /status$|state$|stage$/),
    amount,
  ].flatMap((field) => field?.name ?? [])
  const own = [...new Set(['name', ...chosen, ...(submittable ? ['docstatus'] : [])])]
  return own.length > 2 || !standardOf(access.doctype).has('creation') ? own : [...own, 'creation']
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

/** Returns a row of a list: the given fields as the principal may see them. */
export function listView(access: Access, document: StoredDocument, fields: readonly string[]): DocumentView {
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
