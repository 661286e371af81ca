/** Lists of documents: a page of rows in the words of their reader, and the same as a file. */
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../core/principal.ts'
import { listBelongings, readAttachment } from '../documents/belongings.ts'
import type { Documents } from '../documents/documents.ts'
import { type DocumentView, listDocuments } from '../documents/asking/reading.ts'
import { searchDocuments } from '../documents/asking/searching.ts'
import { isNumber, personName, shownValue, type ShownValue, titled } from './document-words.ts'
import { messages } from './messages.ts'
import type { Reader } from './reader.ts'
import { type Askable, type AskedField, columnsFor, type RecordQuestion } from './record-question.ts'

const rowsOfPage = 50
/** The most rows of a file, and of each part in which they are read. */
const mostExported = 10_000
const rowsOfPart = 1000
const people = new Set(['owner', 'modified_by'])

/** A page of documents. */
interface FoundRows {
  readonly data: readonly DocumentView[]
  readonly total: number
  readonly moreThanTotal: boolean
  /** What the address of the next page has besides; undefined on the last one. */
  readonly next: Readonly<Record<string, string>> | undefined
}

/** Returns the documents of one kind, as a page of rows. */
export async function recordsOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { question, askable, reader }: { question: RecordQuestion; askable: Askable; reader: Reader },
) {
  const columns = columnsFor(documents, principal, doctype, question, askable)
  const found = await rowsFor(documents, principal, doctype, question, columns)
  const cells = found.data.map((row) => columns.map((column) => cellOf(documents, column, row, reader)))
  const named = await titled(documents, principal, cells.flat())
  return {
    columns: columns.map((column) => ({
      name: column.name,
      label: column.label,
      isNumber: isNumber(column),
    })),
    rows: found.data.map((row, index) => ({
      name: String(row['name']),
      cells: cells[index]!.map(named),
    })),
    total: found.total,
    moreThanTotal: found.moreThanTotal,
    next: found.next,
  }
}

/** Finds the rows: by words the best first, else in the order that was asked for. */
async function rowsFor(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { words, filters, order, after, offset }: RecordQuestion,
  columns: readonly AskedField[],
  limit = rowsOfPage,
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
  const isMore = offset + results.length < total && results.length > 0
  return {
    data,
    total,
    moreThanTotal: false,
    next: isMore ? { offset: String(offset + limit) } : undefined,
  }
}

function cellOf(documents: Documents, column: AskedField, row: DocumentView, reader: Reader): ShownValue {
  const value = row[column.name]
  if (column.name === 'docstatus')
    return { value: messages[reader.language].text(`documents.state_${String(value)}`) }
  if (people.has(column.name)) return { value: personName(documents, value) }
  return shownValue(column, value, reader, row)
}

/** Returns the documents that were asked for as a table, in the columns that were asked for, as values and not as words. */
export async function sheetOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { question, askable }: { question: RecordQuestion; askable: Askable },
) {
  const columns = columnsFor(documents, principal, doctype, question, askable)
  const rows: unknown[][] = []
  let from: RecordQuestion | undefined = { ...question, after: undefined, offset: 0 }
  while (from && rows.length < mostExported) {
    const { data, next } = await rowsFor(documents, principal, doctype, from, columns, rowsOfPart)
    for (const row of data) rows.push([row['name'], ...columns.map(({ name }) => row[name])])
    from = next && {
      ...from,
      after: next['after'],
      offset: Number(next['offset'] ?? 0),
    }
  }
  return { name: doctype, columns: [{ label: 'name' }, ...columns], rows: rows.slice(0, mostExported) }
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
