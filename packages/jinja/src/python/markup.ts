/** Text that is safe in HTML: escaping, and undoing it. */
import { entity, isLegacy } from './entities.ts'
import type { Run } from '../limits.ts'
import { printf } from './printf.ts'
import { repr, str } from './repr.ts'
import { splitWords } from './text.ts'
import { isThing, Markup, type Value } from '../values.ts'

const SPECIAL = /[&<>"']/
const SPECIALS = /[&<>"']/g
const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' }

/** Text with the five characters escaped that mean something in HTML. */
export function escapeText(text: string): string {
  return SPECIAL.test(text) ? text.replace(SPECIALS, (char) => ESCAPES[char]!) : text
}

/** `escape(value)`: Markup stays as it is. */
export function escape(run: Run, value: Value): Markup {
  if (value instanceof Markup) return value
  if (typeof value === 'string') {
    run.text(value.length)
    return new Markup(escapeText(value))
  }
  if (typeof value === 'number' || typeof value === 'boolean') return new Markup(str(run, value))
  if (isThing(value) && value.html) return new Markup(value.html())
  return new Markup(escapeText(str(run, value)))
}

/** The text an escaped value contributes to output. */
export function escaped(run: Run, value: Value): string {
  if (typeof value === 'string') return escapeText(value)
  return escape(run, value).text
}

/** `Markup % values`: values are escaped as they go in. */
export function markupFormat(run: Run, format: string, values: Value): Markup {
  return new Markup(
    printf(run, format, values, {
      str: (run, value) => escaped(run, value),
      repr: (run, value) => escapeText(repr(run, value)),
    }),
  )
}

/** Without comments and tags, white space made single, references resolved. */
export function stripTags(run: Run, text: string): string {
  run.text(text.length)
  return unescape(splitWords(without(without(text, '<!--', '-->'), '<', '>')).join(' '))
}

/** Removes each stretch from `open` to the next `close`; one that never closes stays. */
function without(text: string, open: string, close: string): string {
  let result = ''
  let at = 0
  for (;;) {
    const from = text.indexOf(open, at)
    const to = from < 0 ? -1 : text.indexOf(close, from + open.length)
    if (to < 0) return result + text.slice(at)
    result += text.slice(at, from)
    at = to + close.length
  }
}

const REFERENCE = /&(#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)/g

// What browsers read for the references to Windows-1252's codes (WHATWG HTML §13.2.5.80).
const WINDOWS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** `html.unescape`. */
export function unescape(text: string): string {
  return text.includes('&') ? text.replace(REFERENCE, (whole, body: string) => resolve(whole, body)) : text
}

function resolve(whole: string, body: string): string {
  if (body.startsWith('#')) {
    const digits = body.replace(';', '')
    const code = /^#x/i.test(digits) ? Number.parseInt(digits.slice(2), 16) : Number(digits.slice(1))
    return numeric(code)
  }
  if (body.endsWith(';')) {
    const found = entity(body.slice(0, -1))
    if (found !== undefined) return found
  } else if (isLegacy(body)) return entity(body)!
  for (let length = body.length - 1; length > 1; length--) {
    const name = body.slice(0, length)
    if (isLegacy(name)) return entity(name)! + body.slice(length)
  }
  return whole
}

function numeric(code: number): string {
  if (code >= 0x80 && code < 0xa0) return WINDOWS[code - 0x80]!
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return '\ufffd'
  if (code === 0x0d) return '\r'
  const control = (code < 0x20 && !(code === 9 || code === 10 || code === 12)) || code === 0x7f
  const nonCharacter = (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) === 0xfffe
  return control || code === 0x0b || nonCharacter ? '' : String.fromCodePoint(code)
}
