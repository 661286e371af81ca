/** Prints results: JSON when asked for, tables for people. Results go to standard output, everything else to standard error. */
import { once } from 'node:events'
import process from 'node:process'
import { megabytes } from '../control/text.ts'

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

/** Passes pieces on and shows a person at a terminal the progress; silent everywhere else. */
export async function* progress(what: string, pieces: AsyncIterable<string>): AsyncGenerator<string> {
  const { stderr } = process
  let bytes = 0
  let shown = 0
  for await (const piece of pieces) {
    bytes += Buffer.byteLength(piece)
    // One message for each megabyte: a terminal over a slow line must not slow the work.
    if (stderr.isTTY && bytes - shown > 1_048_576) {
      shown = bytes
      stderr.write(`\r${what}: ${megabytes(bytes)}`)
    }
    yield piece
  }
  if (shown > 0) stderr.write('\r\u001b[K')
}

/** Returns a function that draws how far work is: a bar, the rate and the time left; silent but at a terminal. */
export function progressBar(what: string): (done: number, all: number, since?: number) => void {
  const { stderr } = process
  const began = performance.now()
  let shownAt = -Infinity
  return (done, all, since = 0) => {
    const now = performance.now()
    // A terminal over a slow line must not slow the work.
    if (!stderr.isTTY || (now - shownAt < 200 && done < all)) return
    shownAt = now
    stderr.write(done < all ? `\r${barText(what, { done, all, since }, now - began)}\u001b[K` : '\r\u001b[K')
  }
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

/** Shows the person at the terminal something that is not a result. */
export function tell(text: string): void {
  process.stderr.write(`${text}\n`)
}
