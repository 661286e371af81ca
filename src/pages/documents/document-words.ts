/** Documents in the words of their reader: values by type, language and time zone, people and links by name. */
import { Decimal } from '#leaf/decimal.ts'
import type { Principal } from '../../core/principal.ts'
import type { Documents } from '../../documents/documents.ts'
import { linkTitles } from '../../documents/asking/links.ts'
import type { DocumentView } from '../../documents/asking/reading.ts'
import { maskMarker } from '../../documents/permission.ts'
import type { Doctype, Field } from '../../documents/platform/platform.ts'
import { placesOf } from '../../documents/values.ts'
import { orDash } from './call-subject.ts'
import { isNumber, type ShownCell } from '#ui/lists.ts'
import { dayText, numberText, type Reader } from '#ui/forms.ts'

/** A value as a view draws it, perhaps as a link to a document. */
export interface ShownValue extends ShownCell {
  readonly link?: { readonly doctype: string; readonly name: string }
}

/** A field to be shown, or a value of one that every document has. */
export type ShownField = Pick<Field, 'type'> &
  Partial<Pick<Field, 'name' | 'precision' | 'doctype' | 'doctypeField' | 'words'>>

/** Returns a value in words; `holder` is the document or row in which it stands. */
export function shownValue(
  field: ShownField,
  value: unknown,
  reader: Reader,
  holder: DocumentView = {},
): ShownValue {
  if (value === undefined || value === null || value === '' || value === maskMarker)
    return { value: orDash(value) }
  if (field.type === 'check') return { value: reader.messages.text(value === true ? 'form.yes' : 'form.no') }
  if (isNumber(field) && (typeof value === 'number' || value instanceof Decimal)) {
    const places = placesOf({
      type: field.type,
      ...(field.precision !== undefined && { precision: field.precision }),
    })
    const text = numberText(value, reader, places ?? field.precision)
    return { value: field.type === 'percent' ? `${text}\u00a0%` : text, isNumber: true }
  }
  if (typeof value !== 'string') return { value: orDash(value) }
  if (field.type === 'date') return { value: dayText(value, reader) }
  if (field.type === 'datetime') return Number.isNaN(Date.parse(value)) ? { value } : { value, isTime: true }
  const to = linkOf(field, holder)
  if (field.type === 'select') return { value: field.words?.get(value) ?? value }
  return to === undefined ? { value } : { value, link: { doctype: to, name: value } }
}

function linkOf({ type, doctype, doctypeField = '' }: ShownField, holder: DocumentView): string | undefined {
  if (type === 'link') return doctype
  const to = type === 'dynamic_link' ? holder[doctypeField] : undefined
  return typeof to === 'string' ? to : undefined
}

/** Returns the name of a person, by which people know each other; the address where they are not of the site. */
export function personName({ platform }: Documents, user: unknown): string {
  const found = typeof user === 'string' ? platform.people.find(user) : undefined
  return found?.fullName || orDash(user)
}

/** A table of a document as a view draws it. */
export interface ShownTable {
  readonly label: string
  readonly columns: readonly { readonly label: string; readonly isNumber: boolean }[]
  readonly rows: readonly (readonly ShownValue[])[]
}

/** Returns the fields and tables of a document, with what links lead to by its title. */
export async function documentWords(
  documents: Documents,
  principal: Principal,
  doctype: Doctype,
  view: DocumentView,
  reader: Reader,
): Promise<{
  readonly fields: readonly (ShownValue & { readonly label: string })[]
  readonly tables: readonly ShownTable[]
}> {
  const known = [...doctype.fields.values()].filter(({ name }) => name in view)
  const fields = known
    .filter(({ type }) => type !== 'table')
    .map((field) => ({ label: field.label, ...shownValue(field, view[field.name], reader, view) }))
  const tables = known.flatMap((field) => {
    const rows = field.type === 'table' ? rowsOf(view[field.name]) : []
    const columns = columnsOf(documents, field).filter(({ name }) => rows.some((row) => name in row))
    if (rows.length === 0) return []
    return [
      {
        label: field.label,
        columns: columns.map((column) => ({ label: column.label, isNumber: isNumber(column) })),
        rows: rows.map((row) => columns.map((column) => shownValue(column, row[column.name], reader, row))),
      },
    ]
  })
  const values = [...fields, ...tables.flatMap(({ rows }) => rows.flat())]
  const named = await titled(documents, principal, values)
  return {
    fields: fields.map(named),
    tables: tables.map((table) => ({ ...table, rows: table.rows.map((row) => row.map(named)) })),
  }
}

/** Returns the function that names what a value leads to by its title; what its reader may not open is no link. */
export async function titled(documents: Documents, principal: Principal, values: readonly ShownValue[]) {
  const links = values.flatMap(({ link }) => link ?? [])
  const titles = await linkTitles(documents, principal, links)
  return <Value extends ShownValue>(one: Value): Value => {
    const title = one.link && titles(one.link.doctype, one.link.name)
    if (title !== undefined) return { ...one, value: title }
    const { link: _, ...plain } = one
    return plain as Value
  }
}

/** A change of a document, before and after. */
export interface ShownChange {
  readonly label: string
  readonly from: string
  readonly to: string
}

/** Returns in what two states of a document differ, as its reader sees both. */
export function changesBetween(
  documents: Documents,
  doctype: Doctype,
  { before, after }: { readonly before: DocumentView; readonly after: DocumentView },
  reader: Reader,
): ShownChange[] {
  const text = (field: Field, view: DocumentView): string =>
    field.type === 'table'
      ? rowsOf(view[field.name])
          .map((row) =>
            columnsOf(documents, field)
              .filter(({ name }) => name in row)
              .map((column) => shownValue(column, row[column.name], reader).value)
              .join(' · '),
          )
          .join('\n') || '–'
      : shownValue(field, view[field.name], reader, view).value
  const changes = [...doctype.fields.values()]
    .filter(({ name }) => name in before || name in after)
    .map((field) => ({ label: field.label, from: text(field, before), to: text(field, after) }))
  return [...stateChange(before, after, reader), ...changes].filter(({ from, to }) => from !== to)
}

function stateChange(before: DocumentView, after: DocumentView, { messages: said }: Reader): ShownChange[] {
  const word = (view: DocumentView): string =>
    typeof view['docstatus'] === 'number' ? said.text(`documents.state_${view['docstatus']}`) : '–'
  return 'docstatus' in before
    ? [{ label: said.text('documents.state'), from: word(before), to: word(after) }]
    : []
}

function columnsOf({ platform }: Documents, { doctype = '' }: Field): Field[] {
  return [...(platform.doctypes.get(doctype)?.fields.values() ?? [])]
}

function rowsOf(value: unknown): readonly DocumentView[] {
  return Array.isArray(value) ? (value as DocumentView[]) : []
}
