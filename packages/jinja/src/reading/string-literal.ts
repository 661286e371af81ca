/** Escapes in string literals, as Python's `unicode-escape` reads them. */
import { characterNamed } from './character-names.ts'
import { Fault } from '../limits.ts'
import { escapeChar } from '../python/repr.ts'

const ESCAPE =
  /\\(\n|[0-7]{1,3}|x[\da-fA-F]{0,2}|u[\da-fA-F]{0,4}|U[\da-fA-F]{0,8}|N(?:\{[^}]{0,100}\})?|[^])/gu
const SIMPLE = new Map([
  ['\n', ''],
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
])
const LENGTHS = new Map([
  ['x', 2],
  ['u', 4],
  ['U', 8],
])

/** The text that the inside of a string literal stands for; `at` is where the literal starts. */
export function unescapeString(body: string, at: number): string {
  if (!body.includes('\\')) return body
  return body.replace(ESCAPE, (whole, escape: string) => resolve(whole, escape, at))
}

function resolve(whole: string, escape: string, at: number): string {
  const simple = SIMPLE.get(escape)
  if (simple !== undefined) return simple
  if (/^[0-7]/.test(escape)) return String.fromCharCode(Number.parseInt(escape, 8))
  const length = LENGTHS.get(escape[0]!)
  if (length !== undefined) {
    const code = Number.parseInt(escape.slice(1), 16)
    if (escape.length - 1 < length) throw new Fault('TemplateSyntaxError', `truncated ${whole} escape`, at)
    if (code > 0x10ffff) throw new Fault('TemplateSyntaxError', 'illegal Unicode character', at)
    return String.fromCodePoint(code)
  }
  if (escape.startsWith('N')) return named(escape.slice(2, -1), at)
  const code = escape.codePointAt(0)!
  // Python turns what is not ASCII into an escape first, so the backslash then escapes that one's.
  return code < 0x80 ? whole : `\\${escapeChar(code).slice(1)}`
}

function named(name: string, at: number): string {
  if (name === '') throw new Fault('TemplateSyntaxError', 'malformed \\N character escape', at)
  const char = characterNamed(name)
  if (char === undefined)
    throw new Fault('TemplateSyntaxError', `the character name '${name}' is not known`, at)
  return char
}
