/** Tables as files for spreadsheets: CSV as values, or XLSX (ECMA-376) with numbers as numbers and days as days. */
import { deflateRaw } from 'node:zlib'
import { promisify } from 'node:util'
import type { Context } from 'koa'
import { csvLine } from '#leaf/csv.ts'
import { Decimal } from '#leaf/decimal.ts'
import { AppError } from '#leaf/errors.ts'
import { Slice } from '#leaf/slices.ts'
import { answerDownload } from './requests.ts'
import { localText, type Reader } from './reader.ts'
import { zipOf } from '#leaf/zip.ts'

/** The kinds of files, with their media types. */
const types = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const

/** A kind of file. */
type SheetFormat = keyof typeof types

/** A table; texts in columns of days and moments become such where they are one. */
interface Sheet {
  readonly name: string
  readonly columns: readonly { readonly label: string; readonly type?: string | undefined }[]
  readonly rows: readonly (readonly unknown[])[]
}

/** Reads the name of a format. AppError `not_found`. */
export function sheetFormat(name: string): SheetFormat {
  if (name === 'csv' || name === 'xlsx') return name
  throw new AppError('not_found', 'nothing is at this address')
}

/** Answers with a table as a file; its moments are those of the reader's clock, as on the page. */
export async function answerSheet(
  ctx: Context,
  format: SheetFormat,
  sheet: Sheet,
  reader: Reader,
): Promise<void> {
  const file = format === 'csv' ? csvOf(sheet) : await xlsxOf(sheet, reader)
  answerDownload(ctx, `${sheet.name}.${format}`, types[format], file)
}

function csvOf({ columns, rows }: Sheet): string {
  return [columns.map(({ label }) => label), ...rows].map((row) => `${csvLine(row)}\r\n`).join('')
}

const namespace = 'http://schemas.openxmlformats.org'
const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
/** The places of the styles in the file: of days, moments, amounts and headings. */
const [dayStyle, momentStyle, amountStyle, headStyle] = [1, 2, 3, 4]
const styles = `${head}<styleSheet xmlns="${namespace}/spreadsheetml/2006/main"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="5"><xf/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/><xf numFmtId="4" applyNumberFormat="1"/><xf fontId="1" applyFont="1"/></cellXfs></styleSheet>`

async function xlsxOf({ name, columns, rows }: Sheet, reader: Reader): Promise<Buffer> {
  const lines = [lineOf(columns.map(({ label }) => textCell(label, headStyle)))]
  const slice = new Slice()
  for (const row of rows) {
    lines.push(lineOf(row.map((value, index) => cellOf(value, columns[index]?.type, reader))))
    await slice.rest()
  }
  // What a workbook forbids in the name of a sheet.
  const title = escaped(name.replaceAll(/[[\]:*?/\\']/g, ' ').slice(0, 31))
  const office = `${namespace}/officeDocument/2006/relationships`
  const parts = `${namespace}/package/2006`
  const kind = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
  const files: Readonly<Record<string, string>> = {
    '[Content_Types].xml': `${head}<Types xmlns="${parts}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${kind}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${kind}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${kind}.styles+xml"/></Types>`,
    '_rels/.rels': `${head}<Relationships xmlns="${parts}/relationships"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `${head}<workbook xmlns="${namespace}/spreadsheetml/2006/main" xmlns:r="${office}"><sheets><sheet name="${title}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships xmlns="${parts}/relationships"><Relationship Id="rId1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${office}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': styles,
    'xl/worksheets/sheet1.xml': `${head}<worksheet xmlns="${namespace}/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols><col min="1" max="${Math.max(1, columns.length)}" width="18" customWidth="1"/></cols><sheetData>${lines.join('')}</sheetData></worksheet>`,
  }
  const packed = new Map<string, Buffer>()
  for (const [path, text] of Object.entries(files)) packed.set(path, await deflate(text))
  return zipOf(files, (_, path) => packed.get(path)!)
}

const deflate: (text: string) => Promise<Buffer> = promisify(deflateRaw)
const lineOf = (cells: readonly string[]): string => `<row>${cells.join('')}</row>`

const dayMilliseconds = 86_400_000
/** The day before the first of a workbook that counts 29 February 1900, as all do; what lies before March 1900 stays a text. */
const firstDay = Date.UTC(1899, 11, 30)
const [firstSerial, lastSerial] = [61, 2_958_466]
/** A workbook keeps so many digits of a number; an amount that has more stays a text, and loses none. */
const mostDigits = 15

function cellOf(value: unknown, type: string | undefined, reader: Reader): string {
  if (value === null || value === undefined || value === '') return '<c/>'
  if (typeof value === 'boolean') return `<c t="b"><v>${value ? 1 : 0}</v></c>`
  if (typeof value === 'number' || value instanceof Decimal) return numberCell(value)
  if (typeof value !== 'string') return textCell(JSON.stringify(value))
  const isDay = /^\d{4}-\d\d-\d\d$/.test(value)
  if (type === 'date' && isDay) return timeCell(value, `${value}T00:00Z`, dayStyle)
  if (type === 'datetime' && /^\d{4}-\d\d-\d\dT/.test(value))
    return timeCell(value, `${localText(value, reader)}Z`, momentStyle)
  return textCell(value)
}

function numberCell(value: number | Decimal): string {
  const text = String(value)
  const digits = text.replaceAll(/^[-+0.]+|\D/g, '').length
  if (value instanceof Decimal && digits > mostDigits) return textCell(text)
  const style = value instanceof Decimal && value.places === 2 ? ` s="${amountStyle}"` : ''
  return `<c${style}><v>${text}</v></c>`
}

function timeCell(text: string, time: string, style: number): string {
  const serial = (Date.parse(time) - firstDay) / dayMilliseconds
  return serial >= firstSerial && serial < lastSerial
    ? `<c s="${style}"><v>${serial}</v></c>`
    : textCell(text)
}

/** The most characters of a cell. */
const longest = 32_767

/** A text is never a formula in a workbook, whatever it begins with. */
function textCell(text: string, style = 0): string {
  return `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(text.slice(0, longest))}</t></is></c>`
}

/** Escapes a text, without the characters that XML cannot hold. */
function escaped(text: string): string {
  return text
    .replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
