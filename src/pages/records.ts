import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { listBelongings, readAttachment } from '../documents/belongings.ts'
import { accessFor, type Documents } from '../documents/documents.ts'
import { historyOf } from '../documents/history.ts'
import { linkedFrom } from '../documents/links.ts'
import type { Access } from '../documents/permission.ts'
import type { Field } from '../documents/platform.ts'
import { type DocumentView, getDocument, listDocuments } from '../documents/reading.ts'
import { orDash } from './call-subject.ts'

const rowsOfPage = 50
const mostColumns = 5
const mostChanges = 50
/** Of each doctype. */
const mostLinks = 10

/** Which documents somebody looks for, and after which row the page begins. */
export interface RecordQuestion {
  readonly filters: readonly { readonly field: string; readonly operator: string; readonly value: string }[]
  readonly after?: string
}

/** The documents of one kind, as a page of rows. */
export async function recordsOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { filters, after }: RecordQuestion,
) {
  const access = accessFor(documents, principal, doctype)
  const { titleField, searchFields } = access.doctype
  const plain = [...access.doctype.fields.values()].filter(
    (field) => access.knows(field) && !['table', 'long_text', 'json'].includes(field.type),
  )
  const first = [titleField, ...searchFields]
  const columns = [...plain]
    .sort((a, b) => Number(first.includes(b.name)) - Number(first.includes(a.name)))
    .slice(0, mostColumns)
  const page = await listDocuments(documents, principal, {
    doctype,
    filters: filters.map(({ field, operator, value }) => [field, operator, value]),
    fields: ['name', ...columns.map(({ name }) => name)],
    limit: rowsOfPage,
    ...(after !== undefined && { cursor: after }),
  })
  return {
    columns: columns.map(columnOf),
    fields: ['name', ...plain.map(({ name }) => name)],
    rows: page.data.map((row) => ({
      name: String(row['name']),
      cells: columns.map(({ name }) => orDash(row[name])),
    })),
    total: page.total,
    moreThanTotal: page.moreThanTotal,
    next: page.more ? page.cursorAfter(page.data.length) : '',
  }
}

/** One document with all that belongs to it. */
export async function recordOf(documents: Documents, principal: Principal, doctype: string, name: string) {
  const access = accessFor(documents, principal, doctype)
  const view = await getDocument(documents, principal, doctype, name)
  const ask = [documents, principal, doctype, name] as const
  const labelOf = (field: string): string => access.doctype.fields.get(field)?.label ?? field
  const { titleField } = access.doctype
  return {
    title: orDash(titleField === undefined ? name : (view[titleField] ?? name)),
    // Of a doctype that is submitted: 0 a draft, 1 submitted, 2 cancelled.
    state: access.doctype.submittable ? view['docstatus'] : undefined,
    times: [
      { word: 'made', user: orDash(view['owner']), time: orDash(view['creation']) },
      { word: 'changed', user: orDash(view['modified_by']), time: orDash(view['modified']) },
    ],
    fields: fieldsOf(documents, access, view),
    tables: tablesOf(documents, access, view),
    links: await linkedFrom(...ask, mostLinks),
    comments: await listBelongings(...ask, 'comment'),
    assignments: await listBelongings(...ask, 'assignment'),
    files: await listBelongings(...ask, 'attachment'),
    history: (await historyOf(...ask, mostChanges)).map(({ time, user, action, changes, note }) => ({
      time,
      user,
      action,
      note: note ?? '',
      changes: changes.map(({ field, from, to }) => ({
        label: labelOf(field),
        from: orDash(from),
        to: orDash(to),
      })),
    })),
  }
}

/** A file on a document. AppError `not_found` for one that hangs on another. */
export async function fileOf(
  documents: Documents,
  principal: Principal,
  { doctype, name, id }: { readonly doctype: string; readonly name: string; readonly id: string },
) {
  const own = await listBelongings(documents, principal, doctype, name, 'attachment')
  if (!own.some((file) => file.id === id)) throw new AppError('not_found', 'there is no such file')
  return await readAttachment(documents, principal, id)
}

function fieldsOf({ platform }: Documents, { doctype }: Access, view: DocumentView) {
  return Object.entries(view).flatMap(([name, value]) => {
    const field = doctype.fields.get(name)
    if (field === undefined || field.type === 'table') return []
    const to = linkOf(field, view)
    const link =
      to !== undefined && typeof value === 'string' && value !== '' && platform.doctypes.has(to)
        ? { doctype: to, name: value }
        : undefined
    // Everybody reads a moment in their own time.
    const isTime = field.type === 'datetime' && typeof value === 'string' && !Number.isNaN(Date.parse(value))
    return [{ label: field.label, value: orDash(value), ...(link && { link }), ...(isTime && { isTime }) }]
  })
}

function linkOf(field: Field, view: DocumentView): string | undefined {
  if (field.type === 'link') return field.doctype
  const to = field.type === 'dynamic_link' ? view[field.doctypeField ?? ''] : undefined
  return typeof to === 'string' ? to : undefined
}

function tablesOf({ platform }: Documents, { doctype }: Access, view: DocumentView) {
  return Object.entries(view).flatMap(([name, rows]) => {
    const field = doctype.fields.get(name)
    if (field?.type !== 'table' || !Array.isArray(rows) || rows.length === 0) return []
    const known = platform.doctypes.get(field.doctype ?? '')?.fields
    // Rows have names for programs; people read them in their order.
    const columns = [...(known?.values() ?? [])].filter(({ name: column }) =>
      (rows as DocumentView[]).some((row) => column in row),
    )
    return [
      {
        label: field.label,
        columns: columns.map(columnOf),
        rows: (rows as DocumentView[]).map((row) => columns.map((column) => orDash(row[column.name]))),
      },
    ]
  })
}

/** The head of a column; numbers stand below each other. */
function columnOf({ label, type }: Field) {
  return { label, isNumber: ['number', 'integer', 'currency', 'percent'].includes(type) }
}
