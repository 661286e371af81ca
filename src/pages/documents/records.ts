/** Documents of one kind as rows of a list, and the files on them. */
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../../core/principal.ts'
import { listBelongings, readAttachment } from '../../documents/belongings.ts'
import type { Documents } from '../../documents/documents.ts'
import { listDocuments } from '../../documents/asking/reading.ts'
import { searchDocuments } from '../../documents/asking/searching.ts'
import { personName, shownValue, type ShownValue, titled } from './document-words.ts'
import type { FoundRows, ListRow, RowSource, ListQuestion } from '#ui/lists.ts'
import type { Reader } from '#ui/forms.ts'
import { type Askable, type AskedField, columnsFor, mostOffset } from './record-question.ts'

const people = new Set(['owner', 'modified_by'])

/** Returns the field at the head of a row of documents. */
export function headOf({ messages }: Reader): AskedField {
  return { name: 'name', type: 'text', label: messages.text('documents.name') }
}

/** Returns the documents of one kind as rows. */
export function recordsOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { askable, reader }: { readonly askable: Askable; readonly reader: Reader },
): RowSource<AskedField> {
  return {
    head: headOf(reader),
    columns: (question) => columnsFor(documents, principal, doctype, question, askable),
    find: (question, columns, limit) => rowsFor(documents, principal, doctype, question, { columns, limit }),
    worded: async (rows, columns) => {
      const cells = rows.map((row) => columns.map((column) => cellOf(documents, column, row, reader)))
      const named = await titled(documents, principal, cells.flat())
      return cells.map((row) => row.map(named))
    },
  }
}

/** Finds the rows: by words the best first, else in the order that was asked for. */
async function rowsFor(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { words, filters, order, after, ...question }: ListQuestion,
  { columns, limit }: { readonly columns: readonly AskedField[]; readonly limit: number },
): Promise<FoundRows> {
  const fields = ['name', ...columns.map(({ name }) => name)]
  if (words.trim() === '') {
    const page = await listDocuments(documents, principal, {
      doctype,
      filters,
      fields,
      limit,
      ...(order !== '' && { orderBy: order }),
      ...(after !== undefined && { cursor: after }),
    })
    const next = page.more ? { after: page.cursorAfter(page.data.length) } : undefined
    return { data: page.data, total: page.total, moreThanTotal: page.moreThanTotal, next }
  }
  const offset = Math.min(question.offset, mostOffset)
  const query = { words, doctype, filters, limit, offset }
  const { results, total } = await searchDocuments(documents, principal, query)
  const names = results.map(({ name }) => name)
  const found =
    names.length === 0
      ? []
      : (
          await listDocuments(documents, principal, {
            doctype,
            filters: [['name', 'in', names]],
            fields,
            limit,
          })
        ).data
  const place = new Map(names.map((name, index) => [name, index]))
  const data = found.toSorted((a, b) => place.get(String(a['name']))! - place.get(String(b['name']))!)
  const isMore = offset + results.length < total && results.length > 0 && offset + limit <= mostOffset
  return {
    data,
    total,
    moreThanTotal: false,
    next: isMore ? { offset: String(offset + limit) } : undefined,
  }
}

function cellOf(documents: Documents, column: AskedField, row: ListRow, reader: Reader): ShownValue {
  const value = row[column.name]
  if (column.name === 'docstatus') return { value: reader.messages.text(`documents.state_${String(value)}`) }
  if (people.has(column.name)) return { value: personName(documents, value) }
  return shownValue(column, value, reader, row)
}

/** Returns a file on a document. AppError `not_found` for one on another document. */
export async function fileOf(
  documents: Documents,
  principal: Principal,
  { doctype, name, id }: { readonly doctype: string; readonly name: string; readonly id: string },
) {
  const own = await listBelongings(documents, principal, doctype, name, 'attachment')
  if (!own.some((file) => file.id === id)) throw new AppError('not_found', 'there is no such file')
  return await readAttachment(documents, principal, id)
}
