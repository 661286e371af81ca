/** How results are printed: JSON when asked for, tables for people. Results go to standard output, everything else to standard error. */
import { once } from 'node:events'
import process from 'node:process'

/** Prints a result as JSON, or as `text` says. */
export function print<Result>(json: boolean, result: Result, text: (result: Result) => string): void {
  process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : `${text(result)}\n`)
}

/** Writes to standard output as it stands; settles when there is room for more. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** Whether colours reach a person: on a terminal, unless NO_COLOR is set (no-color.org). */
export function colourful(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
}

/** Hands pieces on and tells a person at a terminal how far it is; silent everywhere else. */
export async function* progress(what: string, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const { stderr } = process
  let bytes = 0
  let shown = 0
  for await (const piece of pieces) {
    bytes += Buffer.byteLength(piece)
    // A megabyte a step: a terminal over a slow line must not slow the work.
    if (stderr.isTTY && bytes - shown > 1_048_576) {
      shown = bytes
      stderr.write(`\r${what}: ${megabytes(bytes)}`)
    }
    yield piece
  }
  if (shown > 0) stderr.write('\r\u001b[K')
}

/** Bytes as people read them. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}

/** Tells the person at the terminal something that is not a result. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}

/**
 * A table of what each row has under the names of its columns; columns are as wide as their widest cell. `none` is said
 * instead of an empty one.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: Readonly<Record<string, keyof Row | ((row: Row) => unknown)>>,
  none = `no ${Object.keys(columns)[0]}s`,
): string {
  // A header over nothing looks like a fault of the program.
  if (rows.length === 0) return none
  const header = Object.keys(columns)
  const cellOf = (row: Row, column: keyof Row | ((row: Row) => unknown)): string =>
    cellText(typeof column === 'function' ? column(row) : row[column])
  const cells = [
    header.map((name) => name.toUpperCase()),
    ...rows.map((row) => Object.values(columns).map((column) => cellOf(row, column))),
  ]
  const widths = header.map((_, column) =>
    Math.max(...cells.map((row) => Array.from(row[column] ?? '').length)),
  )
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Whether something is so, as a cell says it. */
export function yesOrNo(is: unknown): string {
  return is ? 'yes' : 'no'
}

/** What a cell shows; control characters of stored text never reach a terminal. */
function cellText(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  const text = Array.isArray(value) ? value.map(cellText).join(', ') : plain(value)
  return visible(text)
}

/** A text as it stands, and anything else as JSON. */
export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A text with control, bidirectional and zero-width characters spelled out. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
