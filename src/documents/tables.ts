/** Business data as tables: what analysis computes on is exactly what the principal could read one by one. */
import { bound } from '../core/conditions.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { mostNames } from '../core/shown.ts'
import { sha256 } from '../core/secrets.ts'
import { conditionOf, readFilters, readOrder } from './filters.ts'
import { accessFor, collectionFor, type Documents, readableAccesses, requireAction } from './documents.ts'
import { lastChange } from './history.ts'
import type { ReadableRows, ReadableTable, ReadableTables, TableColumn } from './run-sql.ts'
import { type Access, expressionUser } from './permission.ts'
import { type Doctype, type Field, type Platform, standardFields } from './platform.ts'
import { unknownName } from '../core/names.ts'
import { countSome, type DocumentPage, openTo, permitted } from './reading.ts'
import { type StoredDocument, valueOf } from './stored.ts'
import { placesOf } from './values.ts'

/** Rows of one doctype for analysis: `list_documents` without its cap, and without markers. */
export interface RowsQuery {
  readonly doctype: string
  /** All readable ones without it. */
  readonly fields?: readonly string[]
  readonly filters?: unknown
  readonly limit: number
}

/** Rows that pass filters, the newest first, in pages; values in the order of the columns. */
export interface TableRows {
  readonly columns: readonly TableColumn[]
  readonly pages: AsyncIterable<readonly (readonly unknown[])[]>
  /** How many pass, beyond the limit too. */
  readonly count: () => Promise<Pick<DocumentPage, 'total' | 'moreThanTotal'>>
}

/** All of them at once. */
export interface RowsPage extends Pick<DocumentPage, 'total' | 'moreThanTotal'> {
  readonly columns: readonly TableColumn[]
  readonly rows: readonly (readonly unknown[])[]
}

/** What a document adds to a table. */
type RowsOf = (access: Access, document: StoredDocument) => unknown[][]

type Columns = readonly (TableColumn & { readonly field?: Field })[]

/** Every doctype that the principal may read, child doctypes within them, and masked fields nowhere. */
export function readableTables(documents: Documents, principal: Principal): ReadableTables {
  const { platform, memory } = documents
  const readable = readableAccesses(documents, principal)
  const key = [memory.versions.of(platform), principal.user, principal.roleKey].join('\n')
  const reader =
    (name: string, parts: readonly Access[], rowsOf: RowsOf) => async (): Promise<ReadableRows> => {
      const pages = (): AsyncGenerator<readonly (readonly unknown[])[]> => pagesOf(documents, parts, rowsOf)
      const revision = await revisionOf(documents, principal, `${key}\n${name}`, parts, pages)
      return { revision, pages, show: () => showAll(documents, parts) }
    }
  return {
    key,
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
        const rowsOf = (access: Access, document: StoredDocument): unknown[][] =>
          childRows(access, child, fields, document)
        const columns = [...childColumns, ...fields.map(columnOf)]
        return [{ name: child.name, columns, read: reader(child.name, parents, rowsOf) }]
      }),
    ],
  }
}

async function* noPages(): AsyncGenerator<readonly (readonly unknown[])[]> {}

/** Tables of doctypes with every column and no row, to try statements on. */
export function emptyTables({ doctypes }: Platform, names: readonly string[]): ReadableTables {
  const tables = names.flatMap((name) => {
    const doctype = doctypes.get(name)
    if (!doctype) return []
    const standard = doctype.child
      ? childColumns
      : [...standardFields].map(([name, type]) => ({ name, type }))
    const own = [...doctype.fields.values()].filter(({ type }) => type !== 'table').map(columnOf)
    const read = () => Promise.resolve({ revision: 'empty', pages: noPages })
    return [{ name, columns: plain([...standard, ...own]), read }]
  })
  return { key: 'empty', tables }
}

/** What a principal may read of a doctype, and in which columns. AppError `not_found`, `forbidden` or `invalid` as for a list. */
export function readableColumns(
  documents: Documents,
  principal: Principal,
  doctype: string,
  fields?: readonly string[],
): { readonly access: Access; readonly columns: readonly TableColumn[] } {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'read')
  return { access, columns: plain(chosen(columnsOf(access), fields)) }
}

/** Rows of one doctype that pass filters, read when they are asked for. AppError as for a list. */
export function openTableRows(
  documents: Documents,
  principal: Principal,
  { doctype, fields, filters, limit }: RowsQuery,
): TableRows {
  const { access } = readableColumns(documents, principal, doctype)
  const columns = chosen(columnsOf(access), fields)
  const holds = conditionOf(readFilters(access, filters))
  const order = readOrder(access, 'creation desc')
  const pages = async function* (): AsyncGenerator<readonly (readonly unknown[])[]> {
    for await (const page of permitted(documents, access, holds, { order, limit })) {
      access.show(page)
      yield page.map((document) => rowOf(access, columns, document))
    }
  }
  return {
    columns: plain(columns),
    pages: pages(),
    count: () => countSome(collectionFor(documents, access.doctype), openTo(access, holds)),
  }
}

/** The same at once, and how many there are in all. */
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

/** A statement may have read every row, whether or not they had been handed on before. */
async function showAll(documents: Documents, parts: readonly Access[]): Promise<void> {
  for (const access of parts) {
    const collection = collectionFor(documents, access.doctype)
    const holds = openTo(access)
    const found = await collection.find({ holds, limit: mostNames })
    const total = found.length < mostNames ? found.length : await collection.count({ holds })
    access.show(found, Math.max(0, total - found.length))
  }
}

async function* pagesOf(
  documents: Documents,
  parts: readonly Access[],
  rowsOf: RowsOf,
): AsyncGenerator<readonly (readonly unknown[])[]> {
  for (const access of parts)
    for await (const page of permitted(documents, access))
      yield page.flatMap((document) => rowsOf(access, document))
}

const mostRevisions = 500

/** The rows are read to tell what they are only where something changed since they were read before. */
async function revisionOf(
  { store, memory, clock }: Documents,
  principal: Principal,
  key: string,
  parts: readonly Access[],
  pages: () => AsyncIterable<unknown>,
): Promise<string> {
  const asker = { user: expressionUser(principal), now: clock.now() }
  const facts = await Promise.all(
    parts.map(async (access) => [
      await lastChange(store, access.doctype.name),
      // What rules say may also change with the day.
      access.rules('read').map(({ when }) => when && bound(when.term, asker)),
    ]),
  )
  const state = JSON.stringify(facts)
  const { revisions } = memory
  const known = revisions.get(key)
  if (known?.state === state) return known.revision
  let revision = ''
  for await (const rows of pages()) revision = sha256(revision + JSON.stringify(rows))
  revisions.delete(key)
  revisions.set(key, { state, revision })
  if (revisions.size > mostRevisions) revisions.delete(revisions.keys().next().value!)
  return revision
}

const childColumns: Columns = [
  { name: 'parent', type: 'text' },
  { name: 'parenttype', type: 'text' },
  { name: 'parentfield', type: 'text' },
  { name: 'name', type: 'text' },
  { name: 'idx', type: 'integer' },
]

/** Whether some row may show the field in clear. */
function reads(access: Access, field: Field): boolean {
  return !access.masks(field) && access.rules('read').some((rule) => rule.levels.has(field.level))
}

function columnsOf(access: Access): Columns {
  return [
    ...[...standardFields].map(([name, type]) => ({ name, type })),
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
    .map((name) => unknownName('field', name, [...known.keys()]))
  if (faults.length > 0)
    throw new AppError('invalid', `fields: ${faults.join('; ')} (get_doctype_info lists the fields)`)
  return [...new Set(names)].map((name) => known.get(name)!)
}

function columnOf(field: Field): TableColumn {
  const places = placesOf(field)
  return { name: field.name, type: field.type, ...(places !== undefined && { places }) }
}

function plain(columns: Columns): TableColumn[] {
  return columns.map(({ name, type, places }) => ({ name, type, ...(places !== undefined && { places }) }))
}

function rowOf(access: Access, columns: Columns, document: StoredDocument): unknown[] {
  return columns.map(({ name, field }) =>
    field === undefined || access.shows(field, document) === 'clear' ? valueOf(document, name) : null,
  )
}

function tableFields(access: Access, child: Doctype): Field[] {
  return [...access.doctype.fields.values()].filter(
    (field) => field.type === 'table' && field.doctype === child.name && reads(access, field),
  )
}

function childRows(
  access: Access,
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
