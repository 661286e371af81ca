/** How results are printed: JSON when asked for, tables for people. Results go to standard output, everything else to standard error. */
import process from 'node:process'

/** Prints a result as JSON, or as `text` says. */
export function print<Result>(json: boolean, result: Result, text: (result: Result) => string): void {
  write(json ? `${JSON.stringify(result, null, 2)}\n` : `${text(result)}\n`)
}

/** Writes to standard output as it stands. */
export function write(text: string): void {
  process.stdout.write(text)
}

/** Tells the person at the terminal something that is not a result. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** A table with a header; columns as wide as their widest cell. */
export function table(header: readonly string[], rows: readonly (readonly unknown[])[]): string {
  if (rows.length === 0) return `no ${header[0]?.toLowerCase() ?? 'result'}s`
  const cells = [header.map((name) => name.toUpperCase()), ...rows.map((row) => row.map(cellText))]
  const widths = header.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** What a cell shows; control characters of stored text never reach a terminal. */
function cellText(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  const text = Array.isArray(value) ? value.map(cellText).join(', ') : String(value)
  return visible(text)
}

/** A text with control, bidirectional and zero-width characters spelled out. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Milliseconds since the epoch as local people read it, in UTC. */
export function when(milliseconds: number | undefined | null): string {
  return milliseconds === undefined || milliseconds === null
    ? '-'
    : new Date(milliseconds).toISOString().replace('T', ' ').slice(0, 19)
}
