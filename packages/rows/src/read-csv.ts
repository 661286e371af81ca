/** Reads CSV as PostgreSQL and Excel write it, one row at a time. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { parse } from 'csv-parse'
import { AppError } from '#leaf/errors.ts'
import { placeIn } from '#leaf/places.ts'
import type { SourceOptions, SourceRow } from './source.ts'

/** The form of a file of CSV. */
export interface CsvForm {
  readonly encoding: string
  readonly delimiter: string
  /** The line of the header: Excel's `sep=;` may stand before it. */
  readonly headerLine: number
}

/** The most bytes of one row: a larger one is a quote that nobody closed. */
const mostOfRow = 16 << 20
const delimiters = [',', ';', '\t', '|']
const sniffed = 65_536

/** Finds out the form of a file, as far as nobody said it. */
export async function csvFormOf(path: string, { encoding, delimiter }: SourceOptions): Promise<CsvForm> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(sniffed), length: sniffed })
    const head = buffer.subarray(0, bytesRead)
    const found = encoding ?? (await encodingOf(path, head))
    const text = decoderFor(found).decode(head, { stream: true })
    const said = /^sep=(.)\r?\n/i.exec(text)
    return {
      encoding: found,
      delimiter: delimiter ?? said?.[1] ?? delimiterOf(said ? text.slice(said[0].length) : text),
      headerLine: said ? 2 : 1,
    }
  } finally {
    await file.close()
  }
}

/** Yields the cells of every row, those of the header first. AppError `invalid` names the line that is not CSV. */
export async function* readCsv(
  path: string,
  { encoding, delimiter, headerLine }: CsvForm,
): AsyncGenerator<SourceRow> {
  const parser = parse({
    delimiter,
    from_line: headerLine,
    info: true,
    raw: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: mostOfRow,
  })
  // What goes wrong ends the parser, which says so.
  pipeline(textOf(path, encoding), parser).catch(() => undefined)
  try {
    for await (const one of parser as AsyncIterable<Parsed>) yield rowOf(one, delimiter)
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new AppError('invalid', `${path}: is not ${encoding} text`, { cause: error })
    if (!(error instanceof Error) || !('lines' in error)) throw error
    throw new AppError('invalid', `${path}:${String(error.lines)}: ${error.message}`, { cause: error })
  }
}

interface Parsed {
  readonly record: readonly string[]
  readonly raw: string
  readonly info: { readonly lines: number }
}

function rowOf({ record, raw, info }: Parsed, delimiter: string): SourceRow {
  // The text of a row begins with the empty lines before it, and ends with its own line end.
  const own = raw.replace(/^(\r?\n)+/, '').replace(/\r?\n$/, '')
  const line = info.lines - (own.split('\n').length - 1)
  return {
    line,
    cells: record,
    placeOf: (column) => {
      const place = placeIn(own, startOf(own, column, delimiter))
      return { ...place, line: line + place.line - 1 }
    },
    original: () => record,
  }
}

/** Returns where the cell begins in the text of its row. */
function startOf(text: string, column: number, delimiter: string): number {
  let left = column
  let quoted = false
  for (let at = 0; at < text.length && left > 0; at++) {
    if (text[at] === '"') quoted = !quoted
    if (!quoted && text.startsWith(delimiter, at) && --left === 0) return at + delimiter.length
  }
  return left === 0 ? 0 : text.length
}

async function* textOf(path: string, encoding: string): AsyncGenerator<string> {
  const decoder = decoderFor(encoding)
  for await (const bytes of createReadStream(path)) yield decoder.decode(bytes as Buffer, { stream: true })
  yield decoder.decode()
}

/** Returns a decoder, which drops a byte order mark. AppError `invalid` for an encoding that nobody knows. */
export function decoderFor(encoding: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(encoding, { fatal: true })
  } catch (error) {
    throw new AppError('invalid', `--encoding: "${encoding}" is not known`, { cause: error })
  }
}

/** Returns the encoding by the byte order mark, else UTF-8 if all of it is, else the one of Excel in the West. */
async function encodingOf(path: string, head: Buffer): Promise<string> {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const bytes of createReadStream(path)) decoder.decode(bytes as Buffer, { stream: true })
    decoder.decode()
    return 'utf-8'
  } catch {
    return 'windows-1252'
  }
}

/** Returns the mark that occurs most often in every one of the first lines, outside of quotes. */
function delimiterOf(text: string): string {
  const lines = text
    .replace(/"[^"]*"/g, '')
    .split(/\r?\n/)
    .slice(0, 20)
    // Of a row whose cells are all in quotes, nothing but the marks is left, which may be tabs.
    .filter((line) => /[^ ]/.test(line))
  const counted = delimiters.map((mark) => {
    const counts = lines.slice(0, Math.max(1, lines.length - 1)).map((line) => line.split(mark).length - 1)
    return { mark, least: Math.min(...counts), all: counts.reduce((sum, one) => sum + one, 0) }
  })
  return counted.sort((a, b) => b.least - a.least || b.all - a.all)[0]!.mark
}
