// @ts-check
/** Reads Excel files (ECMA-376): the values of their cells, and facts that the values do not show. */
import { maxColumns } from './collected.mjs'
import { relationsOf } from './office.mjs'
import { parseXml } from './xml.mjs'
import { FileFault } from './zip.mjs'

/** @typedef {import('./zip.mjs').Zip} Zip */
/** @typedef {import('./collected.mjs').Collected} Collected */
/** @typedef {'date' | 'duration'} TimeKind */
/** @typedef {{ dates: Map<number, TimeKind>, codes: Map<number, string> }} Styles */

/** The most lines that may stand above a table. */
const maxTitles = 5

/** @typedef {Styles & { strings: string[], from1904: boolean, sheets: { name: string, part: string, isHidden: boolean }[] }} Book */

/** @param {Zip} zip @returns {Promise<Book>} */
async function openBook(zip) {
  const relations = await relationsOf(zip, 'xl/workbook.xml')
  /** @type {Book['sheets']} */
  const sheets = []
  let from1904 = false
  await parseXml(await zip.read('xl/workbook.xml'), {
    open: (name, attributes) => {
      if (name === 'workbookPr') from1904 = ['1', 'true'].includes(attributes['date1904'] ?? '')
      const part = name === 'sheet' ? relations.get(attributes['r:id'] ?? '') : undefined
      const isHidden = ['hidden', 'veryHidden'].includes(attributes['state'] ?? '')
      if (part !== undefined && zip.has(part))
        sheets.push({ name: attributes['name'] ?? part, part, isHidden })
    },
  })
  const strings = zip.has('xl/sharedStrings.xml') ? await sharedStrings(zip) : []
  const styles = zip.has('xl/styles.xml') ? await readStyles(zip) : { dates: new Map(), codes: new Map() }
  return { sheets, strings, from1904, ...styles }
}

/**
 * Returns the rows of one sheet, each behind its number; without a name, of the first one that is not hidden.
 * A cell without a value that can be relied on is `{ fault }`.
 * @param {Zip} zip @param {string | undefined} wanted
 * @returns {Promise<{ sheet: string, sheets: string[], rows: [number, unknown[]][] }>}
 */
export async function sheetRows(zip, wanted) {
  const book = await openBook(zip)
  const sheets = book.sheets.map(({ name }) => name)
  const found = book.sheets.find(({ name, isHidden }) => (wanted === undefined ? !isHidden : name === wanted))
  if (!found) {
    const which = wanted === undefined ? '' : ` named ${JSON.stringify(wanted)}`
    throw new FileFault(`has no sheet${which}; its sheets are ${sheets.slice(0, 50).join(', ')}`)
  }
  /** @type {[number, unknown[]][]} */
  const rows = []
  await readSheet(zip, found.part, { ...book, faults: true }, (row, number) => {
    if (row.length > 0) rows.push([number, Array.from(row, (value) => value ?? null)])
  })
  return { sheet: found.name, sheets, rows }
}

/** @param {Zip} zip @param {Collected} out */
export async function readXlsx(zip, out) {
  const book = await openBook(zip)
  for (const { name: given, part, isHidden } of book.sheets) {
    const name = `${given}${isHidden ? ' (hidden)' : ''}`
    const sheet = sheetTable(name, out)
    const seen = await readSheet(zip, part, book, (row) => sheet.row(row))
    const header = sheet.end()
    for (const [column, code] of seen.codes)
      out.note(`${name}: column ${JSON.stringify(header[column] ?? column + 1)} is shown as ${code}`)
    if (seen.formulas.length > 0) {
      const { length } = seen.formulas
      const what = length === 1 ? 'a formula' : `${length} formulas`
      out.note(`${name}!${seen.formulas[0]}: ${what} that nobody has computed yet, said as it stands`)
    }
    if (seen.long.length > 0)
      out.note(`${name}!${seen.long[0]}: a number of more than 15 digits; spreadsheets keep no more of it`)
    if (seen.merged.length > 0)
      out.note(
        `${name}: merged cells ${seen.merged.slice(0, 20).join(', ')}, whose value stands in the first`,
      )
  }
}

/** Collects a sheet as a table; lines above it are its title, and not its header. @param {string} name @param {Collected} out */
function sheetTable(name, out) {
  const table = out.openTable({ name })
  /** @type {unknown[][]} */
  const above = []
  /** @type {unknown[]} */
  let header = []
  let begun = false
  const begin = (/** @type {unknown[][]} */ rows) => {
    begun = true
    header = rows[0] ?? []
    for (const row of rows) table.row(row)
  }
  return {
    row: (/** @type {unknown[]} */ row) => {
      const full = row.filter((value) => value !== null && value !== undefined).length
      if (begun) table.row(row)
      else if (full === 1 && above.length < maxTitles) above.push(row)
      else if (full > 0) {
        for (const title of full > 1 ? above : [])
          out.note(`${name}: above the table stands ${JSON.stringify(title.find((value) => value !== null))}`)
        begin(full > 1 ? [row] : [...above, row])
      }
    },
    end: () => {
      if (!begun) begin(above)
      table.end()
      return header
    },
  }
}

/**
 * @param {Zip} zip @param {string} part
 * @param {Book & { faults?: boolean }} book @param {(row: unknown[], number: number) => void} take
 */
async function readSheet(zip, part, { strings, dates, codes, from1904, faults = false }, take) {
  /** Facts that the values do not show: number formats, formulas without a computed value, merged cells. */
  const seen = {
    codes: new Map(),
    formulas: /** @type {string[]} */ ([]),
    merged: /** @type {string[]} */ ([]),
    long: /** @type {string[]} */ ([]),
  }
  let at = ''
  let number = 0
  /** @type {unknown[]} */
  let row = []
  let type = ''
  let style = -1
  let column = -1
  let value = ''
  let formula = ''
  /** The part of a cell that text belongs to: `v`, `f` or none. */
  let within = ''
  await parseXml(await zip.read(part), {
    open: (name, attributes) => {
      if (name === 'row') {
        row = []
        column = -1
        number = Number(attributes['r'] ?? number + 1)
      } else if (name === 'c') {
        at = attributes['r'] ?? ''
        const letters = /^([A-Z]{1,3})\d+$/.exec(at)?.[1]
        column = letters === undefined ? column + 1 : columnNumber(letters)
        if (column > 16_384) throw new FileFault('has cells beyond the last column')
        type = attributes['t'] ?? 'n'
        style = Number(attributes['s'] ?? -1)
        value = ''
        formula = ''
      } else if (name === 'v' || name === 't') within = 'v'
      else if (name === 'f') within = 'f'
      else if (name === 'mergeCell' && attributes['ref']) seen.merged.push(attributes['ref'])
    },
    text: (text) => {
      if (within === 'v') value += text
      else if (within === 'f') formula += text
    },
    close: (name) => {
      if (name === 'v' || name === 't' || name === 'f') within = ''
      // Cells beyond `maxColumns` are dropped: in a row as wide as its last cell, a few cells could fill the memory.
      else if (name === 'c' && value + formula !== '' && column < maxColumns) {
        while (row.length < column) row.push(null)
        row[column] = faults ? faultOf(value, type) : undefined
        // A formula that nobody has computed yet is shown as it is.
        row[column] ??=
          value === '' ? `=${formula}` : cellOf(value, type, dates.get(style), strings, from1904)
        if (value === '') seen.formulas.push(at)
        if (type === 'n' && Math.abs(Number(value)) >= 1e15 && dates.get(style) === undefined)
          seen.long.push(at)
        if (type === 'n' && codes.has(style)) seen.codes.set(column, codes.get(style))
      } else if (name === 'row') take(row, number)
    },
  })
  return seen
}

/** Returns why a cell has no value to rely on; undefined for all others. @param {string} value @param {string} type */
function faultOf(value, type) {
  if (value === '') return { fault: 'is a formula that nobody has computed yet' }
  return type === 'e' ? { fault: `is the error ${value}` } : undefined
}

/** @param {string} value @param {string} type @param {TimeKind | undefined} time @param {string[]} strings @param {boolean} from1904 */
function cellOf(value, type, time, strings, from1904) {
  switch (type) {
    case 's':
      return strings[Number(value)] ?? null
    case 'b':
      return value === '1'
    case 'n': {
      const number = Number(value)
      // Numbers with more digits than a float holds stay text.
      if (!Number.isFinite(number) || /^-?\d{16,}$/.test(value)) return value
      if (time === undefined) return number
      return time === 'date' && number >= 1 ? dateOf(number, from1904) : timeOf(number)
    }
    default:
      return value
  }
}

/** Formats a length of time, or a time of day: `30:05:00`. @param {number} days */
function timeOf(days) {
  const seconds = Math.round(Math.abs(days) * 86_400)
  const two = (/** @type {number} */ number) => String(Math.floor(number)).padStart(2, '0')
  return `${days < 0 ? '-' : ''}${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`
}

/** @param {number} serial @param {boolean} from1904 */
function dateOf(serial, from1904) {
  // Day 60 of the 1900 calendar never existed.
  const days = from1904 ? serial + 1462 : serial < 60 ? serial + 1 : serial
  const date = new Date(Math.round((days - 25_569) * 86_400_000))
  if (Number.isNaN(date.getTime())) return serial
  const text = date.toISOString()
  return Number.isInteger(serial) ? text.slice(0, 10) : text.replace('.000Z', '')
}

/** @param {Zip} zip */
async function sharedStrings(zip) {
  /** @type {string[]} */
  const strings = []
  let current = ''
  let inText = false
  let phonetic = 0
  await parseXml(await zip.read('xl/sharedStrings.xml'), {
    open: (name) => {
      if (name === 'si') current = ''
      else if (name === 'rPh') phonetic += 1
      else if (name === 't') inText = phonetic === 0
    },
    text: (text) => {
      if (inText) current += text
    },
    close: (name) => {
      if (name === 't') inText = false
      else if (name === 'rPh') phonetic -= 1
      else if (name === 'si') strings.push(current)
    },
  })
  return strings
}

/** Returns the cell styles of dates, and those of other formats. @param {Zip} zip @returns {Promise<Styles>} */
async function readStyles(zip) {
  /** @type {Map<number, TimeKind>} */
  const formats = new Map([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 47].map((id) => [id, 'date']))
  formats.set(46, 'duration')
  const shown = new Map([
    [9, '0%'],
    [10, '0.00%'],
  ])
  /** @type {Map<number, string>} */
  const codes = new Map()
  /** @type {Map<number, TimeKind>} */
  const styles = new Map()
  let inCells = false
  let index = 0
  await parseXml(await zip.read('xl/styles.xml'), {
    open: (name, attributes) => {
      if (name === 'numFmt') {
        const whole = (attributes['formatCode'] ?? '').replace(/"[^"]*"|\\./g, '')
        const code = whole.replace(/\[[^\]]*\]/g, '')
        const id = Number(attributes['numFmtId'])
        // Hours in brackets go on beyond a day.
        if (/\[(h+|m+|s+)\]/i.test(whole)) formats.set(id, 'duration')
        else if (/[dmyhs]/i.test(code)) formats.set(id, 'date')
        // The format of a percentage, a currency or a unit.
        else if (/%|"|\[\$|[€$£¥]/.test(attributes['formatCode'] ?? ''))
          shown.set(id, attributes['formatCode'] ?? '')
      } else if (name === 'cellXfs') inCells = true
      else if (name === 'xf' && inCells) {
        const kind = formats.get(Number(attributes['numFmtId']))
        if (kind) styles.set(index, kind)
        const code = shown.get(Number(attributes['numFmtId']))
        if (code) codes.set(index, code)
        index += 1
      }
    },
    close: (name) => {
      if (name === 'cellXfs') inCells = false
    },
  })
  return { dates: styles, codes }
}

/** @param {string} letters */
function columnNumber(letters) {
  let number = 0
  for (const letter of letters) number = number * 26 + letter.charCodeAt(0) - 64
  return number - 1
}
