/**
 * What people read and type: results as JSON, tables or facts, safe for a terminal, to standard output; everything else to
 * standard error.
 */
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { AppError } from '#leaf/errors.ts'
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
  if (Array.isArray(value) && value.length === 0) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const isList = Array.isArray(value) && typeof value[0] !== 'object'
  const text = isList ? value.map(cellText).join(', ') : plain(value)
  return pictured(text)
}

/** Returns a text as it is, and anything else as JSON. */
export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns a text of several lines, of which nothing but their ends and tabs moves a cursor. */
export function picturedLines(text: string): string {
  return text.replaceAll(/[^\n\t]+/g, pictured)
}

/** Tells what a verification found, a line each. */
export function foundText({ faults, notes }: Readonly<Record<'faults' | 'notes', readonly string[]>>) {
  const lines = [...faults.map((fault) => `  fault: ${fault}`), ...notes.map((note) => `  note: ${note}`)]
  return lines.map(pictured)
}

/** Formats counts by name: `links 2, api keys 1`. */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what.replaceAll('_', ' ')} ${count}`)
    .join(', ')
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

/** Prints a result as JSON, or as `text` formats it. */
export function print<Result>(json: boolean, result: Result, text: (result: Result) => string): void {
  process.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : `${text(result)}\n`)
}

/** Writes to standard output unchanged; settles when there is room for more. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** True when colours reach a person: on a terminal, unless NO_COLOR is set (no-color.org). */
export function colourful(stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
}

/** Returns a function that shows a line at a terminal in the place of the last, or takes it away; silent everywhere else. */
function lineShown(): (line?: string) => void {
  let shownAt = -Infinity
  return (line) => {
    const now = performance.now()
    // A terminal over a slow line must not slow the work.
    if (!process.stderr.isTTY || (line !== undefined && now - shownAt < 200)) return
    shownAt = now
    process.stderr.write(`\r${line ?? ''}\u001b[K`)
  }
}

/** Passes pieces on and shows a person at a terminal the progress. */
export async function* progress(what: string, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const show = lineShown()
  let bytes = 0
  for await (const piece of pieces) {
    bytes += Buffer.byteLength(piece)
    show(`${what}: ${megabytes(bytes)}`)
    yield piece
  }
  show()
}

/** Returns a function that draws how far work is: a bar, the rate and the time left. */
export function progressBar(what: string): (done: number, all: number, since?: number) => void {
  const show = lineShown()
  const began = performance.now()
  return (done, all, since = 0) =>
    show(done < all ? barText(what, { done, all, since }, performance.now() - began) : undefined)
}

/** Returns the words of a bar: `import [#####-----] 50 %, 10000 of 20000, 5000 a second, 2 s left`. */
export function barText(
  what: string,
  { done, all, since }: { readonly done: number; readonly all: number; readonly since: number },
  milliseconds: number,
): string {
  const width = 20
  const full = Math.floor((width * done) / all)
  const rate = ((done - since) * 1000) / Math.max(1, milliseconds)
  const left = rate > 0 ? Math.ceil((all - done) / rate) : 0
  const time = left < 120 ? `${left} s` : `${Math.ceil(left / 60)} min`
  const bar = '#'.repeat(full) + '-'.repeat(width - full)
  return `${what} [${bar}] ${Math.floor((100 * done) / all)} %, ${done} of ${all}, ${Math.round(rate)} a second, ${time} left`
}

/** Shows the person at the terminal something that is not a result; names and messages of others may be in it. */
export function tell(text: string): void {
  process.stderr.write(`${picturedLines(text)}\n`)
}

/** Reads a secret from the first line of standard input: other users of the machine could read it as an argument. */
export async function readSecret(what: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  const line = Buffer.concat(chunks).toString('utf8').split(/\r?\n/)[0] ?? ''
  if (line === '') throw new AppError('invalid', `standard input has no ${what}`)
  return line
}

/** Asks for a new secret twice, as it is typed blindly. */
export async function askTwice(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new AppError('invalid', 'standard input is not a terminal; use --password-stdin')
  const first = await askHidden(question)
  if (first !== (await askHidden('again: '))) throw new AppError('invalid', 'the two passwords differ')
  return first
}

/** Asks on the terminal without showing what is typed. */
async function askHidden(question: string): Promise<string> {
  const output = new Writable({ write: (_shown, _encoding, done) => done() })
  // From here on the terminal itself shows nothing either.
  const asking = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  // The question goes to standard error, so that the result can be piped.
  process.stderr.write(question)
  try {
    return await Promise.race([
      asking.question(''),
      once(asking, 'close').then(() => Promise.reject(new Error())),
    ])
  } catch (error) {
    throw new AppError('invalid', 'interrupted', { cause: error })
  } finally {
    asking.close()
    process.stderr.write('\n')
  }
}

/** Asks a question that `y` agrees to. */
export async function agreed(question: string): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await asking.question(`${question} [y/N] `)
  asking.close()
  return /^y(es)?$/i.test(answer.trim())
}
