// @ts-check
import { distinct, maxLine } from '../isolation/frames.mjs'
import { FileFault } from './zip.mjs'

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {number} firstPage
 * @property {number} lastPage
 * @property {number} textOffset
 * @property {number} textLimit
 * @property {number} rowOffset
 * @property {number} rowLimit
 * @property {number} maxBytes of the answer
 * @property {number} maxUnpacked
 * @property {boolean} [rows] true for the rows of one sheet of an Excel file, each behind its number
 * @property {string} [sheet] its name
 */

/** @typedef {{ name: string, page?: number, header?: string[] }} TableHead */

const maxTables = 50
export const maxColumns = 500
const maxCell = 10_000
const maxNotes = 30

/** Collects the content of a file while it is read, cut to the requested part. */
export class Collected {
  /** @param {Job} job */
  constructor(job) {
    this.job = job
    /** @type {{ page: number, text: string }[]} */
    this.pages = []
    this.pageCount = 0
    this.pagesSeen = 0
    this.textLength = 0
    /** @type {{ name: string, page?: number, columns: string[], rows: unknown[][], row_count: number }[]} */
    this.tables = []
    this.tableCount = 0
    /** @type {string[]} */
    this.notes = []
  }

  /** Notes something that is uncertain or not as it looks, and its place. @param {string} text */
  note(text) {
    if (this.notes.length < maxNotes) this.notes.push(text.slice(0, 300))
  }

  skipPage() {
    this.pagesSeen += 1
  }

  /** @param {string} text */
  page(text) {
    this.pagesSeen += 1
    const { firstPage, lastPage, textOffset, textLimit } = this.job
    if (this.pagesSeen < firstPage || this.pagesSeen > lastPage) return
    const from = Math.max(0, textOffset - this.textLength)
    const room = textOffset + textLimit - Math.max(this.textLength, textOffset)
    this.textLength += text.length
    if (from < text.length && room > 0)
      this.pages.push({ page: this.pagesSeen, text: text.slice(from, from + room) })
  }

  /** @param {TableHead} head @param {unknown[][]} rows */
  table(head, rows) {
    const table = this.openTable(head)
    for (const row of rows) table.row(row)
    table.end()
  }

  /** @param {TableHead} head */
  openTable(head) {
    this.tableCount += 1
    const { rowOffset, rowLimit } = this.job
    const kept = this.tables.length < maxTables
    /** @type {unknown[][]} */
    const rows = []
    let columns = head.header
    let count = 0
    return {
      row: (/** @type {unknown[]} */ values) => {
        const row = values.slice(0, maxColumns).map(cell)
        if (!columns) {
          if (row.every((value) => value === null)) return
          columns = distinct(
            row.map((value, index) =>
              value === null ? `column_${index + 1}` : `${/** @type {string | number} */ (value)}`,
            ),
          )
          return
        }
        while (row.length < columns.length) row.push(null)
        if (kept && count >= rowOffset && rows.length < rowLimit) rows.push(row)
        count += 1
      },
      end: () => {
        if (kept && columns)
          this.tables.push({
            name: head.name,
            ...(head.page && { page: head.page }),
            columns,
            rows,
            row_count: count,
          })
      },
    }
  }

  /** @param {string} kind */
  result(kind) {
    const result = {
      kind,
      pages: this.pages,
      page_count: Math.max(this.pageCount, this.pagesSeen),
      text_length: this.textLength,
      tables: this.tables,
      table_count: this.tableCount,
      ...(this.notes.length > 0 && { notes: this.notes }),
    }
    // Fewer rows of each table rather than no table; the rows cut off can be requested.
    const most = Math.min(this.job.maxBytes, maxLine)
    for (let rows = 100; tooLarge(result, most) && rows >= 1; rows = Math.floor(rows / 3)) {
      if (this.tables.length === 0) break
      const tables = this.tables.map((table) => ({ ...table, rows: table.rows.slice(0, rows) }))
      Object.assign(result, { tables, rows_fit: rows })
    }
    if (tooLarge(result, most))
      throw new FileFault(
        'says more in this part than an answer can hold; ask for fewer pages (max_pages) or use extract_tables or parse_data with row_limit',
      )
    return result
  }
}

/** @param {unknown} result @param {number} bytes */
function tooLarge(result, bytes) {
  return Buffer.byteLength(JSON.stringify(result)) >= bytes
}

/** @param {unknown} value */
function cell(value) {
  if (value === undefined || value === '') return null
  return typeof value === 'string' && value.length > maxCell ? `${value.slice(0, maxCell)}…` : value
}
