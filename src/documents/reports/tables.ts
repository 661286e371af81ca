/** Business data as tables: analysis computes on exactly the values that the principal could read one by one. */
import { createHash, type Hash } from 'node:crypto'
import { bound } from '#state/questions.ts'
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { mostNames } from '../../core/shown.ts'
import { inTurns, Slice, type Slices } from '#leaf/slices.ts'
import { type CountedStates, statesOf } from '../asking/aggregating.ts'
import { conditionOf, openTo, readFilters, readOrder } from '../asking/filters.ts'
import { requireNames } from '../asking/linked-filters.ts'
import { accessFor, notTooMany, readableAccesses, requireAction } from '../documents.ts'
import type { Documents, Reach } from '../documents.ts'
import { lastChange } from '../history.ts'
import type { ReadableRows } from '#sandbox/tables.ts'
import type { ReadableTable, ReadableTables, TableColumn } from './run-sql.ts'
import { type Access, expressionUser } from '../permission.ts'
import type { Doctype, Field, Platform } from '../platform/platform.ts'
import { defaultOrder, standardOf } from '../platform/standard-fields.ts'
import { joined, unknownAmong } from '#leaf/names.ts'
import { countSome, type DocumentPage, permitted } from '../asking/reading.ts'
import { type StoredDocument, valueOf } from '../writing/stored.ts'
import { placesOf } from '../values.ts'

/** A query for rows of one doctype: `list_documents` without its cap, and without markers. */
export interface RowsQuery {
  readonly doctype: string
  /** The fields to read; all readable ones by default. */
  readonly fields?: readonly string[]
  readonly filters?: unknown
  readonly limit: number
}

/** Rows that pass filters, the newest first, in pages; values in the order of the columns. */
export interface TableRows {
  readonly columns: readonly TableColumn[]
  readonly pages: AsyncIterable<readonly (readonly unknown[])[]>
  /** Counts the rows that pass, also beyond the limit. */
  readonly count: () => Promise<Omit<RowsPage, 'columns' | 'rows'>>
}

/** All rows at once. */
export interface RowsPage extends Pick<DocumentPage, 'total' | 'moreThanTotal'> {
  readonly columns: readonly TableColumn[]
  readonly rows: readonly (readonly unknown[])[]
  readonly counted: CountedStates | undefined
}

/** Returns the rows that a document adds to a table. */
type RowsOf = (access: Reach, document: StoredDocument) => unknown[][]

type Columns = readonly (TableColumn & { readonly field?: Field })[]

/** Returns every doctype that the principal may read, child doctypes within them, without masked fields. */
export function readableTables(documents: Documents, principal: Principal): ReadableTables {
  const { platform } = documents
  const readable = readableAccesses(documents, principal)
  const key = [platform.digest, principal.user, principal.roleKey].join('\n')
  const reader =
    (name: string, parts: readonly Reach[], rowsOf: RowsOf) => async (): Promise<ReadableRows> => {
      const pages = (): AsyncGenerator<readonly (readonly unknown[])[]> => pagesOf(parts, rowsOf)
      const revision = await revisionOf(documents, principal, `${key}\n${name}`, parts, pages)
      return { revision, pages, show: () => showAll(parts) }
    }
  return {
    key,
    user: principal.user,
    tables: [
      ...readable.map((access): ReadableTable => {
        const columns = columnsOf(access)
        const rowsOf = (_: Access, document: StoredDocument): unknown[][] => [
          rowOf(access, columns, document),
        ]
        const { name } = access.doctype
        return { name, columns: plain(columns), read: reader(name, [access], rowsOf) }
      }),
      ...[...platform.doctypes.values()].flatMap((child): ReadableTable[] => {
        const parents = child.child ? readable.filter((access) => tableFields(access, child).length > 0) : []
        if (parents.length === 0) return []
        const fields = [...child.fields.values()].filter((one) =>
          parents.some((access) => reads(access, one)),
        )
        const rowsOf = (access: Reach, document: StoredDocument): unknown[][] =>
          childRows(access, child, fields, document)
        const columns = [...childColumns, ...fields.map(columnOf)]
        return [{ name: child.name, columns, read: reader(child.name, parents, rowsOf) }]
      }),
    ],
  }
}

async function* noPages(): AsyncGenerator<readonly (readonly unknown[])[]> {}

/** Makes tables of doctypes with every column and no row, to try statements on. */
export function emptyTables({ doctypes }: Platform, names: readonly string[]): ReadableTables {
  const tables = names.flatMap((name) => {
    const doctype = doctypes.get(name)
    if (!doctype) return []
    const standard = doctype.child
      ? childColumns
      : [...standardOf(doctype)].map(([name, type]) => ({ name, type }))
    const own = [...doctype.fields.values()].filter(({ type }) => type !== 'table').map(columnOf)
    const read = () => Promise.resolve({ revision: 'empty', pages: noPages })
    return [{ name, columns: plain([...standard, ...own]), read }]
  })
  return { key: 'empty', tables }
}

/** Returns the readable part of a doctype and its columns. AppError `not_found`, `forbidden` or `invalid` as for a list. */
export function readableColumns(
  documents: Documents,
  principal: Principal,
  doctype: string,
  fields?: readonly string[],
): { readonly access: Reach; readonly columns: readonly TableColumn[] } {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'read')
  return { access, columns: plain(chosen(columnsOf(access), fields)) }
}

/** Opens the rows of one doctype that pass filters, to be read on demand. AppError as for a list. */
export function openTableRows(
  documents: Documents,
  principal: Principal,
  { doctype, fields, filters, limit }: RowsQuery,
): TableRows {
  const { access } = readableColumns(documents, principal, doctype)
  const columns = chosen(columnsOf(access), fields)
  const read = readFilters(access, filters)
  const holds = conditionOf(read)
  const order = readOrder(access, defaultOrder(access.doctype))
  const pages = async function* (): AsyncGenerator<readonly (readonly unknown[])[]> {
    await requireNames(access, read)
    for await (const page of permitted(access, holds, { order, limit })) {
      access.show(page)
      yield page.map((document) => rowOf(access, columns, document))
    }
  }
  return {
    columns: plain(columns),
    pages: pages(),
    count: async () => {
      const open = openTo(access, holds)
      return { ...(await countSome(access.collection(), open)), counted: await statesOf(access, open) }
    },
  }
}

/** Reads the rows at once, with their total number. */
export async function readTableRows(
  documents: Documents,
  principal: Principal,
  query: RowsQuery,
): Promise<RowsPage> {
  const { columns, pages, count } = openTableRows(documents, principal, query)
  const rows: (readonly unknown[])[] = []
  for await (const page of pages) rows.push(...page)
  return { columns, rows, ...(await count()) }
}

/** Notes every row as shown: a statement may have read it, whether or not it was handed on before. */
async function showAll(parts: readonly Reach[]): Promise<void> {
  for (const access of parts) {
    const collection = access.collection()
    const holds = openTo(access)
    const found = await collection.find({ holds, limit: mostNames })
    const total = found.length < mostNames ? found.length : await collection.count({ holds })
    access.show(found, Math.max(0, total - found.length))
  }
}

async function* pagesOf(
  parts: readonly Reach[],
  rowsOf: RowsOf,
): AsyncGenerator<readonly (readonly unknown[])[]> {
  for (const access of parts)
    for await (const page of notTooMany(access, permitted(access)))
      yield page.flatMap((document) => rowsOf(access, document))
}

const mostRevisions = 500

/** Returns the revision of the rows; reads them for it only if something changed since the last time. */
async function revisionOf(
  { store, memory, clock, stop }: Documents,
  principal: Principal,
  key: string,
  parts: readonly Reach[],
  pages: () => AsyncIterable<readonly unknown[]>,
): Promise<string> {
  const asker = { user: expressionUser(principal), now: clock.now() }
  const facts = await Promise.all(
    parts.map(async (access) => [
      await lastChange(store, access.doctype.name),
      // The result of a rule may also change with the day.
      access.rules('read').map(({ when }) => when && bound(when.term, asker)),
    ]),
  )
  const state = JSON.stringify(facts)
  const { revisions } = memory
  const known = revisions.get(key)
  // Nobody here is told when a table of others changes.
  if (known?.state === state && parts.every(({ doctype }) => !doctype.origin)) return known.revision
  const hash = createHash('sha256')
  for await (const rows of pages()) await inTurns(hashing(hash, rows), stop)
  const revision = hash.digest('base64url')
  revisions.delete(key)
  revisions.set(key, { state, revision })
  if (revisions.size > mostRevisions) revisions.delete(revisions.keys().next().value!)
  return revision
}

function* hashing(hash: Hash, rows: readonly unknown[]): Slices<void> {
  const slice = new Slice()
  for (const row of rows) {
    hash.update(`${JSON.stringify(row)}\n`)
    if (slice.isOver()) yield* slice.pause()
  }
}

const childColumns: Columns = [
  { name: 'parent', type: 'text' },
  { name: 'parenttype', type: 'text' },
  { name: 'parentfield', type: 'text' },
  { name: 'name', type: 'text' },
  { name: 'idx', type: 'integer' },
]

/** True if some row may show the field in clear. */
function reads(access: Reach, field: Field): boolean {
  return !access.masks(field) && access.rules('read').some((rule) => rule.levels.has(field.level))
}

function columnsOf(access: Reach): Columns {
  return [
    ...[...standardOf(access.doctype)].map(([name, type]) => ({ name, type })),
    ...[...access.doctype.fields.values()]
      .filter((field) => field.type !== 'table' && reads(access, field))
      .map((field) => ({ ...columnOf(field), field })),
  ]
}

function chosen(columns: Columns, names: readonly string[] | undefined): Columns {
  if (names === undefined || names.length === 0 || names.includes('*')) return columns
  const known = new Map(columns.map((column) => [column.name, column]))
  const faults = names
    .filter((name) => !known.has(name))
    .map((name) => unknownAmong('field', name, [...known.keys()]))
  if (faults.length > 0)
    throw new AppError('invalid', `fields: ${joined(faults)} (get_doctype_info lists the fields)`)
  return [...new Set(names)].map((name) => known.get(name)!)
}

function columnOf(field: Field): TableColumn {
  const places = placesOf(field)
  return { name: field.name, type: field.type, ...(places !== undefined && { places }) }
}

function plain(columns: Columns): TableColumn[] {
  return columns.map(({ name, type, places }) => ({ name, type, ...(places !== undefined && { places }) }))
}

function rowOf(access: Reach, columns: Columns, document: StoredDocument): unknown[] {
  return columns.map(({ name, field }) =>
    field === undefined || access.shows(field, document) === 'clear' ? valueOf(document, name) : null,
  )
}

function tableFields(access: Reach, child: Doctype): Field[] {
  return [...access.doctype.fields.values()].filter(
    (field) => field.type === 'table' && field.doctype === child.name && reads(access, field),
  )
}

function childRows(
  access: Reach,
  child: Doctype,
  fields: readonly Field[],
  document: StoredDocument,
): unknown[][] {
  return tableFields(access, child)
    .filter((field) => access.shows(field, document) === 'clear')
    .flatMap((table) => {
      const rows = valueOf(document, table.name)
      return (Array.isArray(rows) ? rows : []).map((row: Readonly<Record<string, unknown>>) => [
        document.id,
        access.doctype.name,
        table.name,
        row['name'] ?? null,
        row['idx'] ?? null,
        ...fields.map((field) =>
          access.shows(field, document) === 'clear' ? (row[field.name] ?? null) : null,
        ),
      ])
    })
}
