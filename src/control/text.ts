/** Formats results for people: tables, facts, and texts that are safe for a terminal. */
import { pictured } from '#leaf/pictured.ts'

/** A column: a member of the row, one under another name (`client: client_id`), or a value computed from the row. */
export type TextColumn<Row> =
  | (keyof Row & string)
  | `${string}: ${keyof Row & string}`
  | readonly [name: string, of: (row: Row) => unknown]

type Split<Text> = Text extends `${infer First}, ${infer Rest}` ? First | Split<Rest> : Text

/** Parses columns in one line: `user, name: full_name, enabled`. */
export function columns<const Text extends string>(text: Text): readonly Split<Text>[] {
  return text.split(', ') as Split<Text>[]
}

/** Formats a table; columns are as wide as their widest cell. */
export function table<Row>(rows: readonly Row[], columns: readonly TextColumn<NoInfer<Row>>[]): string {
  const made = columns.map((column) => {
    if (typeof column !== 'string') return column
    const [name = '', member = name] = column.split(': ')
    return [name, (row: Row) => row[member as keyof Row]] as const
  })
  // A header over nothing looks like a fault of the program.
  if (rows.length === 0) return `no ${made[0]?.[0]}s`
  const head = made.map(([name]) => name.toUpperCase())
  const cells = [head, ...rows.map((row) => made.map(([, of]) => cellText(of(row))))]
  const widths = head.map((_, at) => Math.max(...cells.map((row) => Array.from(row[at]!).length)))
  const padded = cells.map((row) => row.map((cell, at) => cell.padEnd(widths[at]!)))
  return padded.map((row) => row.join('  ').trimEnd()).join('\n')
}

/** Returns the text of a cell; control characters of stored text never reach a terminal. */
function cellText(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const isList = Array.isArray(value) && typeof value[0] !== 'object'
  const text = isList ? value.map(cellText).join(', ') : plain(value)
  return pictured(text)
}

/** Returns a text as it is, and anything else as JSON. */
export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Tells what a verification found, a line each. */
export function foundText({ faults, notes }: Readonly<Record<'faults' | 'notes', readonly string[]>>) {
  const lines = [...faults.map((fault) => `  fault: ${fault}`), ...notes.map((note) => `  note: ${note}`)]
  return lines.map(pictured)
}

/** Formats a number of bytes as MB. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`
}

/** Formats an object, a line for each of its members. */
export function facts(one: object): string {
  const width = Math.max(...Object.keys(one).map((key) => key.length)) + 2
  return Object.entries(one)
    .map(([key, value]) => `${key.padEnd(width)}${cellText(value)}`)
    .join('\n')
}
