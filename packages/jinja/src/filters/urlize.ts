/** Links for the addresses in escaped text. */
import { Fault, type Run } from '../limits.ts'
import { escapeText } from '../python/markup.ts'
import { SPACE, chars, isPlain } from '../python/text.ts'

interface Options {
  readonly limit: number | undefined
  readonly rel: string
  readonly target: string | undefined
  readonly schemes: readonly string[]
}

const WORD = '[\\p{L}\\p{N}_]'
const HTTP = new RegExp(
  '^(?:(?:https?://|www\\.)(?:(?:[\\p{L}\\p{N}_%-]+\\.)+)?(?:[a-z]{2,63}|xn--[\\p{L}\\p{N}_%]{2,59})' +
    '|(?:[\\p{L}\\p{N}_%-]{2,63}\\.)+(?:com|net|int|edu|gov|org|info|mil)' +
    '|https?://(?:\\d{1,3}(?:\\.\\d{1,3}){3}|\\[(?:[\\da-f]{0,4}:){2}(?:[\\da-f]{0,4}:?){1,6}\\]))' +
    `(?::\\d{1,5})?(?:[/?#][^${SPACE}]*)?$`,
  'iu',
)
const EMAIL = new RegExp(`^[^${SPACE}]+@${WORD}[\\p{L}\\p{N}_.-]*\\.${WORD}+$`, 'u')
const BREAKS = new RegExp(`([${SPACE}]+)`)
const HEAD = /^(?:[(<]|&lt;)+/
const TAIL_ENDS = [')', '>', '.', ',', '\n', '&gt;']
const PAIRS = [
  ['(', ')'],
  ['<', '>'],
  ['&lt;', '&gt;'],
] as const

/** A word longer than this is no address, and patterns need not look at it. */
const LONGEST = 4_096

/** The text with links; it must be escaped already. */
export function urlize(run: Run, text: string, options: Options): string {
  const rel = ` rel="${escapeText(options.rel)}"`
  const target = options.target ? ` target="${escapeText(options.target)}"` : ''
  return text
    .split(BREAKS)
    .map((word) => {
      run.tick(1 + word.length)
      return word.length > LONGEST ? word : linkWord(word, options, rel + target)
    })
    .join('')
}

function linkWord(word: string, options: Options, attributes: string): string {
  const head = HEAD.exec(word)?.[0] ?? ''
  let middle = word.slice(head.length)
  let tail = ''
  for (let end = tailEnd(middle); end !== undefined; end = tailEnd(middle)) {
    tail = end + tail
    middle = middle.slice(0, -end.length)
  }
  for (const [open, close] of PAIRS) {
    const opened = count(middle, open)
    if (opened <= count(middle, close)) continue
    for (let i = Math.min(opened, count(tail, close)); i > 0; i--) {
      const at = tail.indexOf(close) + close.length
      middle += tail.slice(0, at)
      tail = tail.slice(at)
    }
  }
  return head + link(middle, options, attributes) + tail
}

function tailEnd(text: string): string | undefined {
  return TAIL_ENDS.find((end) => text.endsWith(end))
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}

function link(middle: string, options: Options, attributes: string): string {
  if (HTTP.test(middle)) {
    const full = middle.startsWith('https://') || middle.startsWith('http://') ? middle : `https://${middle}`
    return `<a href="${full}"${attributes}>${shortened(middle, options.limit)}</a>`
  }
  if (middle.startsWith('mailto:') && EMAIL.test(middle.slice(7)))
    return `<a href="${middle}">${middle.slice(7)}</a>`
  const address = middle.includes('@') && !middle.startsWith('www.') && !middle.includes(':')
  if (address && !middle.startsWith('@') && EMAIL.test(middle))
    return `<a href="mailto:${middle}">${middle}</a>`
  let result = middle
  for (const scheme of options.schemes) {
    if (result !== scheme && result.startsWith(scheme))
      result = `<a href="${result}"${attributes}>${result}</a>`
  }
  return result
}

function shortened(text: string, limit: number | undefined): string {
  if (limit === undefined) return text
  if (limit < 0 && !isPlain(text)) throw new Fault('ValueError', 'a negative limit needs plain text')
  const all = chars(text)
  return all.length > limit ? `${all.slice(0, limit).join('')}...` : text
}
