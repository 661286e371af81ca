/** Opens a file of rows: finds out its form, its columns and how many rows it has. */
import { isObject } from '#leaf/as-json.ts'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { isAvailable, openFilesAlone, type Sheet } from '#sandbox/sandbox.ts'
import type { SandboxSettings } from '#sandbox/settings.ts'
import { AppError } from '#leaf/errors.ts'
import { JsonFault, parseStrict } from '#leaf/strict-json.ts'
import { csvFormOf, decoderFor, readCsv } from './read-csv.ts'
import {
  CellFault,
  type ImportSource,
  type SourceFormat,
  type SourceOptions,
  type SourceRow,
} from './source.ts'

/** The longest line of JSON, in characters. */
const longestLine = 16 << 20
const deepestJson = 20
const longNumber = /\d{16,}/

/** Opens a file. AppError `not_found` without one, `invalid` with its place when it is not of its form. */
export async function openSource(
  path: string,
  options: SourceOptions,
  settings: SandboxSettings['files'],
): Promise<ImportSource> {
  const facts = await stat(path).catch(() => undefined)
  if (!facts?.isFile()) throw new AppError('not_found', `there is no file ${path}`)
  const format = options.format ?? formatOf(path)
  const digest = await digestOf(path)
  if (format === 'csv') return await openCsv(path, options, digest)
  if (format === 'jsonl') return await openJsonLines(path, digest)
  const sheet = await sheetOf(path, options.sheet, settings)
  return sourceOf('xlsx', digest, { sheet: sheet.sheet }, () => rowsOfSheet(sheet))
}

function formatOf(path: string): SourceFormat {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  if (['csv', 'tsv', 'txt'].includes(ending)) return 'csv'
  if (['jsonl', 'ndjson'].includes(ending)) return 'jsonl'
  if (ending === 'xlsx') return 'xlsx'
  throw new AppError('invalid', `${path}: say what it is with --format csv, jsonl or xlsx`)
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer)
  return hash.digest('hex')
}

async function openCsv(path: string, options: SourceOptions, digest: string): Promise<ImportSource> {
  const form = await csvFormOf(path, options)
  const { encoding, delimiter } = form
  const shown = { encoding, delimiter: delimiter === '\t' ? 'tab' : delimiter }
  return await sourceOf('csv', digest, shown, () => readCsv(path, form))
}

/** Makes a source of rows whose first one is the header. */
async function sourceOf(
  format: SourceFormat,
  digest: string,
  form: ImportSource['form'],
  read: () => AsyncIterable<SourceRow>,
): Promise<ImportSource> {
  let columns: readonly string[] | undefined
  let count = 0
  for await (const row of read()) {
    if (columns) count++
    else columns = headerOf(row)
  }
  if (!columns) throw new AppError('invalid', 'the file is empty: its first row must name the columns')
  const width = columns.length
  const rows = async function* (): AsyncGenerator<SourceRow> {
    let isHeader = true
    for await (const row of read()) {
      if (!isHeader) yield wellFormed(row, width)
      isHeader = false
    }
  }
  return { format, digest, form, columns, count, rows }
}

function headerOf({ cells, line }: SourceRow): readonly string[] {
  const names = cells.map((cell) =>
    typeof cell === 'string' || typeof cell === 'number' ? String(cell).trim() : '',
  )
  while (names.at(-1) === '') names.pop()
  for (const [index, name] of names.entries()) {
    if (name === '') throw new AppError('invalid', `line ${line}: column ${index + 1} has no name`)
    if (names.indexOf(name) !== index)
      throw new AppError('invalid', `line ${line}: two columns are named "${name}"`)
  }
  return names
}

/** Returns the row, or its fault when it has more cells than there are columns, or fewer. */
function wellFormed(row: SourceRow, width: number): SourceRow {
  const given = row.cells.findLastIndex((cell) => cell !== '' && cell !== null) + 1
  // Excel ends rows early, or with empty cells; a cell beyond the header means that one before it was torn apart.
  if (given <= width) return row
  const message = `has ${given} cells, but there are ${width} columns`
  return { ...row, cells: [], fault: { ...row.placeOf(width), message } }
}

async function openJsonLines(path: string, digest: string): Promise<ImportSource> {
  const known = new Map<string, number>()
  let count = 0
  for await (const row of readJsonLines(path, known, true)) if (row) count++
  const rows = (): AsyncIterable<SourceRow> => readJsonLines(path, known, false)
  return { format: 'jsonl', digest, form: {}, columns: [...known.keys()], count, rows }
}

async function* readJsonLines(
  path: string,
  known: Map<string, number>,
  learns: boolean,
): AsyncGenerator<SourceRow> {
  let line = 0
  const input = createReadStream(path)
  const decoder = decoderFor('utf-8')
  // Each line is decoded by itself, so that a fault has its place.
  for await (const bytes of createInterface({ input: input.setEncoding('latin1'), crlfDelay: Infinity })) {
    line++
    const row = jsonRow(Buffer.from(bytes, 'latin1'), decoder)
    if (!row) continue
    if (learns)
      for (const key of Object.keys(row.object ?? {})) if (!known.has(key)) known.set(key, known.size)
    yield {
      line,
      cells: row.object ? Array.from(known.keys(), (key) => row.object![key]) : [],
      ...(row.fault !== undefined && { fault: { line, column: 1, message: row.fault } }),
      placeOf: (column) => {
        const key = [...known.keys()][column] ?? ''
        return { line, column: Math.max(0, row.text.indexOf(`${JSON.stringify(key)}:`)) + 1 }
      },
      original: () => row.object ?? { text: row.text.slice(0, 1000) },
    }
  }
}

interface JsonRow {
  readonly text: string
  readonly object?: Readonly<Record<string, unknown>>
  readonly fault?: string
}

function jsonRow(bytes: Buffer, decoder: ReturnType<typeof decoderFor>): JsonRow | undefined {
  if (bytes.length > longestLine) return { text: '', fault: `is longer than ${longestLine} bytes` }
  let text = ''
  try {
    text = decoder.decode(bytes)
    if (text.trim() === '') return undefined
    // What JavaScript would round must come as a text.
    if (longNumber.test(text) && longNumber.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '')))
      return { text, fault: 'has a number of more than 15 digits; write it as a text, in quotes' }
    const value = parseStrict(text, deepestJson)
    if (isObject(value)) return { text, object: value }
    return { text, fault: 'must be an object, one in each line' }
  } catch (error) {
    if (error instanceof JsonFault) return { text, fault: `is not JSON that is read: ${error.message}` }
    return { text, fault: 'is not UTF-8 text' }
  }
}

async function sheetOf(
  path: string,
  sheet: string | undefined,
  settings: SandboxSettings['files'],
): Promise<Sheet> {
  const files = await openFilesAlone(settings)
  if (!isAvailable(files))
    throw new AppError(
      'unavailable',
      `Excel files cannot be read here: ${files.unavailable} (${files.mend}); save it as CSV`,
    )
  try {
    const { signal } = new AbortController()
    return await files.readSheet(path, await readFile(path), sheet, { user: 'command line', signal })
  } finally {
    await files.close()
  }
}

async function* rowsOfSheet({ rows }: Sheet): AsyncGenerator<SourceRow> {
  for (const [line, given] of rows) {
    const cells = given.map((cell) =>
      typeof cell === 'object' && cell !== null ? new CellFault((cell as CellFault).fault) : cell,
    )
    const original = () => cells.map((cell) => (cell instanceof CellFault ? null : cell))
    yield { line, cells, placeOf: (column) => ({ line, column: column + 1 }), original }
  }
}
