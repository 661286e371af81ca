// @ts-check
/** PDF: the text of its pages, and tables as far as its layout shows them. Scripts and links in it are never followed. */
import { getDocumentProxy } from 'unpdf'
import { FileFault } from './zip.mjs'

/** @typedef {{ text: string, x: number, end: number, size: number }} Piece */

/**
 * @param {Buffer} bytes @param {{ firstPage: number, lastPage: number }} range
 * @param {import('./collected.mjs').Collected} out
 */
export async function readPdf(bytes, { firstPage, lastPage }, out) {
  const pdf = await open(bytes)
  out.pageCount = pdf.numPages
  for (let number = 1; number <= pdf.numPages; number++) {
    if (number < firstPage || number > lastPage) {
      out.skipPage()
      continue
    }
    const page = await pdf.getPage(number)
    const { items } = await page.getTextContent()
    const lines = linesOf(items)
    out.page(lines.map(textOf).join('\n'))
    for (const rows of tablesIn(lines)) out.table({ name: `table ${out.tableCount + 1}`, page: number }, rows)
    page.cleanup()
  }
}

/** @param {Buffer} bytes */
async function open(bytes) {
  try {
    return await getDocumentProxy(new Uint8Array(bytes), {
      isEvalSupported: false,
      useSystemFonts: false,
      disableFontFace: true,
      verbosity: 0,
    })
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    throw new FileFault(name === 'PasswordException' ? 'is protected by a password' : 'is not a readable PDF')
  }
}

/** Text pieces that stand at one height are a line, from left to right. @param {any[]} items */
function linesOf(items) {
  /** @type {Map<number, Piece[]>} */
  const lines = new Map()
  for (const item of items) {
    if (typeof item.str !== 'string' || item.str.trim() === '') continue
    const [, , , scale = 10, x = 0, y = 0] = item.transform
    const height = Math.round(y / 3) * 3
    const piece = { text: item.str, x, end: x + item.width, size: Math.abs(scale) || item.height || 10 }
    const line = lines.get(height) ?? lines.get(height + 3) ?? lines.get(height - 3)
    if (line) line.push(piece)
    else lines.set(height, [piece])
  }
  return [...lines.entries()].sort(([a], [b]) => b - a).map(([, line]) => line.sort((a, b) => a.x - b.x))
}

/** @param {Piece[]} line */
function textOf(line) {
  return cellsOf(line).join('\t')
}

/** A gap wider than a letter and a half parts cells. @param {Piece[]} line */
function cellsOf(line) {
  /** @type {string[]} */
  const cells = []
  let end = Number.NEGATIVE_INFINITY
  for (const { text, x, end: until, size } of line) {
    const gap = x - end
    if (cells.length === 0 || gap > size * 1.5) cells.push(text)
    else cells.push(joined(cells.pop() ?? '', text, gap > size * 0.15))
    end = until
  }
  return cells.map((cell) => cell.trim())
}

/** @param {string} before @param {string} after @param {boolean} apart */
function joined(before, after, apart) {
  return before + (apart && !before.endsWith(' ') ? ' ' : '') + after
}

/** Three or more lines in a row with the same number of cells, at least two, are a table. @param {Piece[][]} lines */
function tablesIn(lines) {
  /** @type {string[][][]} */
  const tables = []
  /** @type {string[][]} */
  let rows = []
  for (const line of [...lines, []]) {
    const cells = cellsOf(line)
    if (cells.length >= 2 && (rows.length === 0 || rows[0]?.length === cells.length)) {
      rows.push(cells)
      continue
    }
    if (rows.length >= 3) tables.push(rows)
    rows = cells.length >= 2 ? [cells] : []
  }
  return tables
}
