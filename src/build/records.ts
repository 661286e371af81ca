import type { Audit } from '../audit/audit.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { listBelongings, readAttachment } from '../documents/belongings.ts'
import { listDoctypes } from '../documents/describing.ts'
import { accessFor, type Documents } from '../documents/documents.ts'
import { historyOf } from '../documents/history.ts'
import { linkedFrom } from '../documents/links.ts'
import type { Access } from '../documents/permission.ts'
import type { Field } from '../documents/platform.ts'
import { type DocumentView, getDocument, listDocuments } from '../documents/reading.ts'
import type {
  Place,
  RecordQuestion,
  Records,
  ShownColumn,
  ShownField,
  ShownTable,
} from '../pages/documents-endpoint.ts'
import { viewed } from './viewing.ts'

const rowsOfPage = 50
const mostColumns = 5
const mostChanges = 50
/** Of each doctype. */
const mostLinks = 10

/** What the pages of documents show, as far as the user may read it; that they look is told like every reading. */
export function createRecords(documents: () => Documents, audit: Audit): Records {
  return {
    doctypes: (user) =>
      viewed(audit, user, { type: 'document.view' }, (principal) =>
        Promise.resolve(
          listDoctypes(documents(), principal).filter(({ allowed }) => allowed.includes('read')),
        ),
      ),
    list: (user, doctype, question) =>
      viewed(audit, user, { type: 'document.view', target: doctype, data: { question } }, (principal) =>
        listOf(documents(), principal, doctype, question),
      ),
    one: (user, doctype, name) =>
      viewed(audit, user, { type: 'document.view', target: `${doctype}/${name}` }, (principal) =>
        recordOf(documents(), principal, doctype, name),
      ),
    file: (user, doctype, name, id) =>
      viewed(
        audit,
        user,
        { type: 'document.view', target: `${doctype}/${name}`, data: { file: id } },
        async (principal) => {
          const own = await listBelongings(documents(), principal, doctype, name, 'attachment')
          if (!own.some((file) => file.id === id)) throw new AppError('not_found', 'there is no such file')
          const { attachment, content } = await readAttachment(documents(), principal, id)
          return { name: attachment.file_name, bytes: Buffer.from(content) }
        },
      ),
  }
}

async function listOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { filters, after }: RecordQuestion,
): ReturnType<Records['list']> {
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
      cells: columns.map(({ name }) => textOf(row[name])),
    })),
    total: page.total,
    moreThanTotal: page.moreThanTotal,
    next: page.more ? page.cursorAfter(page.data.length) : '',
  }
}

async function recordOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
): ReturnType<Records['one']> {
  const access = accessFor(documents, principal, doctype)
  const view = await getDocument(documents, principal, doctype, name)
  const ask = [documents, principal, doctype, name] as const
  const labelOf = (field: string): string => access.doctype.fields.get(field)?.label ?? field
  const { titleField } = access.doctype
  return {
    title: textOf(titleField === undefined ? name : (view[titleField] ?? name)),
    state: access.doctype.submittable ? view['docstatus'] : undefined,
    times: [
      { word: 'made', user: textOf(view['owner']), time: textOf(view['creation']) },
      { word: 'changed', user: textOf(view['modified_by']), time: textOf(view['modified']) },
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
        from: textOf(from),
        to: textOf(to),
      })),
    })),
  }
}

function fieldsOf({ platform }: Documents, { doctype }: Access, view: DocumentView): ShownField[] {
  return Object.entries(view).flatMap(([name, value]) => {
    const field = doctype.fields.get(name)
    if (field === undefined || field.type === 'table') return []
    const to = linkOf(field, view)
    const link: Place | undefined =
      to !== undefined && typeof value === 'string' && value !== '' && platform.doctypes.has(to)
        ? { doctype: to, name: value }
        : undefined
    const isTime = field.type === 'datetime' && typeof value === 'string' && !Number.isNaN(Date.parse(value))
    return [{ label: field.label, value: textOf(value), ...(link && { link }), ...(isTime && { isTime }) }]
  })
}

function linkOf(field: Field, view: DocumentView): string | undefined {
  if (field.type === 'link') return field.doctype
  const to = field.type === 'dynamic_link' ? view[field.doctypeField ?? ''] : undefined
  return typeof to === 'string' ? to : undefined
}

function tablesOf({ platform }: Documents, { doctype }: Access, view: DocumentView): ShownTable[] {
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
        rows: (rows as DocumentView[]).map((row) => columns.map((column) => textOf(row[column.name]))),
      },
    ]
  })
}

function columnOf({ label, type }: Field): ShownColumn {
  return { label, isNumber: ['number', 'integer', 'currency', 'percent'].includes(type) }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
