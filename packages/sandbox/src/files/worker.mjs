// @ts-check
/** The process that reads one file of unknown intent and answers with its text and tables. */
import { DaemonChannel } from '../isolation/frames.mjs'
import { Collected } from './collected.mjs'
import { readDocx, readPptx } from './office.mjs'
import { readPdf } from './pdf.mjs'
import { readXlsx, sheetRows } from './spreadsheet.mjs'
import { decode, readCsv, readJson } from './plain.mjs'
import { FileFault, openZip } from './zip.mjs'

/** @typedef {import('./collected.mjs').Job} Job */

/** The most bytes of rows in one message, but for a row that is longer. */
const rowBytes = 100_000

const channel = new DaemonChannel()
channel.say({ ready: true })
/** @type {Job | undefined} */
let job
for await (const heard of channel.heard()) {
  if (!job) {
    job = heard
    continue
  }
  try {
    if (job.rows) await tellRows(heard, job)
    else channel.say(await extract(heard, job))
  } catch (error) {
    channel.say({
      fault:
        error instanceof FileFault
          ? error.message
          : `cannot be read: ${error instanceof Error ? error.message : 'unknown fault'}`.slice(0, 2000),
    })
  }
  break
}
channel.end()

/** Says the rows of a sheet in messages of modest size, then their number. @param {Buffer} bytes @param {Job} job */
async function tellRows(bytes, job) {
  if (kindOf(bytes, job.name) !== 'zip') throw new FileFault('is not an Excel file (xlsx)')
  const zip = await openZip(bytes, job.maxUnpacked)
  if (!zip.has('xl/workbook.xml')) throw new FileFault('is not an Excel file (xlsx)')
  const { sheet, sheets, rows } = await sheetRows(zip, job.sheet)
  /** @type {typeof rows} */
  let part = []
  let size = 0
  const say = () => {
    if (part.length > 0) channel.say({ rows: part })
    part = []
    size = 0
  }
  for (const row of rows) {
    const { length } = JSON.stringify(row)
    if (size + length > rowBytes) say()
    part.push(row)
    size += length
  }
  say()
  channel.say({ sheet, sheets: sheets.slice(0, 100), count: rows.length })
}

/** @param {Buffer} bytes @param {Job} job */
async function extract(bytes, job) {
  const kind = kindOf(bytes, job.name)
  const out = new Collected(job)
  switch (kind) {
    case 'pdf':
      await readPdf(bytes, job, out)
      return out.result('pdf')
    case 'zip':
      return out.result(await readOffice(bytes, job, out))
    case 'image':
      return { kind }
    case 'ole':
      throw new FileFault(
        'is in the format of Office before 2007, or encrypted; save it as docx, xlsx or pptx without a password',
      )
    default: {
      const text = decode(bytes)
      if (kind === 'csv') readCsv(text, out)
      else if (kind === 'json') readJson(text, out)
      else out.page(text)
      return out.result(kind)
    }
  }
}

/** @param {Buffer} bytes @param {Job} job @param {Collected} out */
async function readOffice(bytes, job, out) {
  const zip = await openZip(bytes, job.maxUnpacked)
  if (zip.has('word/document.xml')) {
    await readDocx(zip, out)
    return 'docx'
  }
  if (zip.has('xl/workbook.xml')) {
    await readXlsx(zip, out)
    return 'xlsx'
  }
  if (zip.has('ppt/presentation.xml')) {
    await readPptx(zip, out)
    return 'pptx'
  }
  throw new FileFault('is an archive, but not a Word, Excel or PowerPoint file')
}

/** Returns the kind of a file by its first bytes; text files also by their name. @param {Buffer} bytes @param {string} name */
function kindOf(bytes, name) {
  const head = bytes.subarray(0, 1024).toString('latin1')
  if (head.includes('%PDF-')) return 'pdf'
  if (head.startsWith('PK\u0003\u0004') || head.startsWith('PK\u0005\u0006')) return 'zip'
  if (head.startsWith('\u00d0\u00cf\u0011\u00e0')) return 'ole'
  if (/^(\u0089PNG|\u00ff\u00d8\u00ff|GIF8|BM|II\*\0|MM\0\*)/.test(head) || /^RIFF.{4}WEBP/s.test(head))
    return 'image'
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase()
  if (ending === 'csv' || ending === 'tsv') return 'csv'
  return ending === 'json' ? 'json' : 'txt'
}
