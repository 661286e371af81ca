/** Wrapping a line at word boundaries, with the rules of Python's textwrap. */
import { Fault, type Run } from '../limits.ts'
import { chars, isSpace, lengthOf } from '../python/text.ts'

interface Options {
  readonly width: number
  readonly breakLongWords: boolean
  readonly breakOnHyphens: boolean
}

const LETTER = '[\\p{L}\\p{M}\\p{Nl}\\p{No}_]'
const WORD = '[\\p{L}\\p{N}_]'
const PUNCTUATED = '[\\p{L}\\p{N}_!"\'&.,?]'
const BLANK = '[\\t\\n\\x0b\\x0c\\r ]'
/**
 * Words with the blanks between them; a word may be divided behind a hyphen that has letters on both
 * sides.
 */
const CHUNK = new RegExp(
  `${BLANK}+` +
    `|(?<=${PUNCTUATED})-{2,}(?=${WORD})` +
    `|[^\\t\\n\\x0b\\x0c\\r ]+?(?:-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${LETTER}-))(?=${LETTER}-?${LETTER})` +
    `|(?=${BLANK}|$)|(?<=${PUNCTUATED})(?=-{2,}${WORD}))`,
  'gu',
)
const SIMPLE = new RegExp(`${BLANK}+|[^\\t\\n\\x0b\\x0c\\r ]+`, 'gu')

/** The lines of one paragraph. */
export function wrapLine(run: Run, line: string, options: Options): string[] {
  const { width } = options
  if (width <= 0) throw new Fault('ValueError', `invalid width ${width} (must be > 0)`)
  run.text(line.length)
  // The pattern looks ahead over runs of dashes at each place in them.
  for (const [dashes] of line.matchAll(/-{16,}/g)) run.tick(Math.floor(dashes.length ** 2 / 16))
  const chunks = (line.match(options.breakOnHyphens ? CHUNK : SIMPLE) ?? []).reverse()
  const lines: string[] = []
  while (chunks.length > 0) {
    if (lines.length > 0 && isBlank(chunks.at(-1)!)) chunks.pop()
    const current = takeLine(run, chunks, options)
    if (current.length > 0 && isBlank(current.at(-1)!)) current.pop()
    if (current.length > 0) lines.push(current.join(''))
    run.tick(1)
  }
  return lines
}

function isBlank(chunk: string): boolean {
  return chunk === '' || isSpace(chunk)
}

function takeLine(run: Run, chunks: string[], { width, breakLongWords, breakOnHyphens }: Options): string[] {
  const current: string[] = []
  let used = 0
  for (let chunk = chunks.at(-1); chunk !== undefined; chunk = chunks.at(-1)) {
    const length = lengthOf(chunk)
    if (used + length > width) break
    current.push(chunks.pop()!)
    used += length
  }
  const next = chunks.at(-1)
  if (next === undefined) return current
  // What is left of a long word is gone through for each line that is cut off it.
  run.tick(next.length >> 4)
  if (lengthOf(next) <= width) return current
  if (breakLongWords) {
    const letters = chars(next)
    const end = breakAt(letters, width - used, breakOnHyphens)
    current.push(letters.slice(0, end).join(''))
    chunks[chunks.length - 1] = letters.slice(end).join('')
  } else if (current.length === 0) current.push(chunks.pop()!)
  return current
}

/** Where to cut a word that is too long: after its last hyphen that fits, else where the line ends. */
function breakAt(letters: string[], room: number, onHyphens: boolean): number {
  if (!onHyphens || letters.length <= room) return room
  const hyphen = letters.slice(0, room).lastIndexOf('-')
  return hyphen > 0 && letters.slice(0, hyphen).some((letter) => letter !== '-') ? hyphen + 1 : room
}
