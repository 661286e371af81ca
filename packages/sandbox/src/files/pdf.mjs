// @ts-check
/** Reads PDF: the text of its pages, and tables as far as its layout shows them. Scripts and links in it are never followed. */
import { getDocumentProxy } from 'unpdf'
import { gridsOf } from './pdf-grids.mjs'
import { blocksOf, textOf } from './pdf-layout.mjs'
import { rulingsOf, times } from './pdf-rulings.mjs'
import { FileFault } from './zip.mjs'

// pdf.js calls this when it reads a font; Node has it from version 21 on.
const buffers = /** @type {any} */ (ArrayBuffer.prototype)
buffers.transferToFixedLength ??=
  /** @this {ArrayBuffer} */
  function (length = this.byteLength) {
    const copy = new Uint8Array(length)
    copy.set(new Uint8Array(this, 0, Math.min(length, this.byteLength)))
    return copy.buffer
  }

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
    const { lines, tables } = await readPage(page, number, out)
    out.page(lines.join('\n'))
    for (const rows of tables) out.table({ name: `table ${out.tableCount + 1}`, page: number }, rows)
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
      // Images are not decoded: only the lines around them matter.
      maxImageSize: 1,
    })
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    throw new FileFault(name === 'PasswordException' ? 'is protected by a password' : 'is not a readable PDF')
  }
}

/**
 * @param {any} page @param {number} number @param {import('./collected.mjs').Collected} out
 * @returns {Promise<{ lines: string[], tables: string[][][] }>}
 */
async function readPage(page, number, out) {
  const { transform, height } = page.getViewport({ scale: 1 })
  const { items } = await page.getTextContent()
  const { level, turned } = piecesOf(items, transform)
  const rulings = await rulingsOf(page, transform).catch(() => {
    out.note(`page ${number}: the lines on it could not be read, so tables follow the spacing of the text`)
    return { across: [], down: [] }
  })
  const { grids, rest } = gridsOf(rulings, level, textOf)
  const blocks = [...blocksOf(rest, grids), ...turned.map((text) => ({ text, top: height, rows: undefined }))]
  for (const block of blocks) {
    const place = `page ${number}, at ${Math.round((block.top / height) * 100)} % of its height`
    if ('columns' in block && block.columns)
      out.note(`${place}: read as ${block.columns} columns of text, one after the other`)
    if ('unruled' in block && block.unruled)
      out.note(`${place}: a table with no lines around its cells; its columns follow the spacing of the text`)
  }
  if (turned.length > 0) out.note(`page ${number}: text that stands upright or slanted is at the end`)
  return {
    lines: blocks.filter(({ text }) => text !== '').map(({ text }) => text),
    tables: blocks.flatMap(({ rows }) => (rows ? [rows] : [])),
  }
}

/** Places pieces of text on the page; returns the texts of turned ones. @param {any[]} items @param {number[]} toPage */
function piecesOf(items, toPage) {
  /** @type {import('./pdf-grids.mjs').Piece[]} */
  const level = []
  /** @type {string[]} */
  const turned = []
  for (const item of items) {
    if (typeof item.str !== 'string' || item.str.trim() === '') continue
    const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = times(toPage, item.transform)
    const size = Math.hypot(c, d) || item.height || 10
    if (Math.abs(b) > Math.abs(a) * 0.1) turned.push(item.str.trim())
    else level.push({ text: item.str, x, end: x + item.width, y, size })
  }
  return { level, turned }
}
