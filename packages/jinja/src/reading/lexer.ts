/**
 * Source text to tokens, by Jinja2's rules of whitespace control, comments, raw blocks and
 * balanced brackets. One pass, always forward: no input makes it look at a character twice
 * more than a constant number of times.
 */
import { Fault } from '../limits.ts'
import { float, integer, type Value } from '../values.ts'
import { SPACE, stripEnd } from '../python/text.ts'
import { unescapeString } from './string-literal.ts'

/** `type` is the class of the token, and for operators and brackets the operator itself. */
export interface Token {
  readonly type: string
  readonly text: string
  /** Of a number literal. */
  readonly value?: Value
  readonly at: number
}

const BLANKS = new RegExp(`[${SPACE}]*`, 'y')
const RAW_OPEN = new RegExp(`\\{%[-+]?[${SPACE}]*raw[${SPACE}]*(?:-%\\}[${SPACE}]*|%\\})`, 'y')
const RAW_CLOSE = new RegExp(`\\{%([-+]?)[${SPACE}]*endraw[${SPACE}]*(?:\\+%\\}|-%\\}[${SPACE}]*|%\\})`, 'y')
const FLOAT = /\d(?:_?\d)*(?:(?:\.\d(?:_?\d)*)?e[+-]?\d(?:_?\d)*|\.\d(?:_?\d)*)/iy
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy
const NAME = /\p{XID_Continue}+/uy
const IDENTIFIER = /^[\p{XID_Start}_]\p{XID_Continue}*$/u
const OPERATOR = /\*\*|\/\/|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y
/** How deeply blocks and brackets may nest in a source. */
export const MAX_DEPTH = 200

const CLOSERS: Record<string, string> = { '(': ')', '[': ']', '{': '}' }

/** Newlines made `\n`, and one at the very end dropped: what all offsets refer to. */
export function normalize(source: string): string {
  const text = source.includes('\r') ? source.replace(/\r\n?/g, '\n') : source
  return text.endsWith('\n') ? text.slice(0, -1) : text
}

/** The tokens of a normalized source, ending with `eof`. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < source.length) {
    const open = nextTag(source, at)
    if (open < 0) {
      tokens.push({ type: 'data', text: source.slice(at), at })
      break
    }
    const sign = source[open + 2] === '-' || source[open + 2] === '+' ? source[open + 2]! : ''
    const text = source.slice(at, open)
    const data = sign === '-' ? stripEnd(text) : text
    if (data !== '') tokens.push({ type: 'data', text: data, at })
    const after = open + 2 + sign.length
    if (source[open + 1] === '#') at = skipComment(source, open, after)
    else if (source[open + 1] === '{') at = readTag(source, open, after, 'variable', tokens)
    else {
      // Raw blocks are found here: what is inside must not be read as tokens.
      const raw = stickyMatch(RAW_OPEN, source, open)
      at = raw ? readRaw(source, open + raw[0].length, tokens) : readTag(source, open, after, 'block', tokens)
    }
  }
  tokens.push({ type: 'eof', text: '', at: source.length })
  return tokens
}

function stickyMatch(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(source)
}

function nextTag(source: string, from: number): number {
  for (let at = source.indexOf('{', from); at >= 0; at = source.indexOf('{', at + 1)) {
    const next = source[at + 1]
    if (next === '{' || next === '%' || next === '#') return at
  }
  return -1
}

function skipBlanks(source: string, at: number): number {
  return at + stickyMatch(BLANKS, source, at)![0].length
}

function skipComment(source: string, open: number, from: number): number {
  const end = source.indexOf('#}', from)
  if (end < 0) throw new Fault('TemplateSyntaxError', 'Missing end of comment tag', open)
  return end > from && source[end - 1] === '-' ? skipBlanks(source, end + 2) : end + 2
}

function readRaw(source: string, from: number, tokens: Token[]): number {
  for (let at = source.indexOf('{%', from); at >= 0; at = source.indexOf('{%', at + 1)) {
    const close = stickyMatch(RAW_CLOSE, source, at)
    if (!close) continue
    const text = source.slice(from, at)
    const data = close[1] === '-' ? stripEnd(text) : text
    if (data !== '') tokens.push({ type: 'data', text: data, at: from })
    return at + close[0].length
  }
  throw new Fault('TemplateSyntaxError', 'Missing end of raw directive', from)
}

/** The inside of `{{ … }}` or `{% … %}`; returns where the text after it starts. */
function readTag(
  source: string,
  open: number,
  from: number,
  kind: 'variable' | 'block',
  tokens: Token[],
): number {
  const end = kind === 'variable' ? '}}' : '%}'
  const brackets: string[] = []
  tokens.push({ type: `${kind}_begin`, text: source.slice(open, from), at: open })
  let at = from
  for (;;) {
    if (at >= source.length) return at
    // Inside brackets `}}` may close two dicts.
    if (brackets.length === 0) {
      const close = closing(source, at, end, kind)
      if (close > 0) {
        tokens.push({ type: `${kind}_end`, text: end, at })
        return close
      }
    }
    const blank = skipBlanks(source, at)
    if (blank > at) {
      at = blank
      continue
    }
    const token = readToken(source, at)
    if (CLOSERS[token.type] !== undefined && token.text === token.type) {
      // Here already: the parser, which says the same, is asked only when all of the text has become tokens.
      if (brackets.length >= MAX_DEPTH)
        throw new Fault('TemplateSyntaxError', `nested deeper than ${MAX_DEPTH} levels`, token.at)
      brackets.push(CLOSERS[token.type]!)
    } else if (token.type === '}' || token.type === ')' || token.type === ']') closeBracket(brackets, token)
    tokens.push(token)
    at += token.type === 'string' ? rawLength(source, at) : token.text.length
  }
}

function closing(source: string, at: number, end: string, kind: string): number {
  if (source.startsWith(end, at)) return at + 2
  const sign = source[at]
  if (sign === '-' && source.startsWith(end, at + 1)) return skipBlanks(source, at + 3)
  return sign === '+' && kind === 'block' && source.startsWith(end, at + 1) ? at + 3 : -1
}

function closeBracket(brackets: string[], token: Token): void {
  const expected = brackets.pop()
  if (expected === undefined) throw new Fault('TemplateSyntaxError', `unexpected '${token.text}'`, token.at)
  if (expected !== token.text) {
    throw new Fault('TemplateSyntaxError', `unexpected '${token.text}', expected '${expected}'`, token.at)
  }
}

function readToken(source: string, at: number): Token {
  const char = source.charCodeAt(at)
  if (char >= 48 && char <= 57) return readNumber(source, at)
  if (char === 34 || char === 39) {
    const length = rawLength(source, at)
    if (length > 0)
      return { type: 'string', text: unescapeString(source.slice(at + 1, at + length - 1), at), at }
  }
  const name = stickyMatch(NAME, source, at)
  if (name) {
    if (!IDENTIFIER.test(name[0]))
      throw new Fault('TemplateSyntaxError', 'Invalid character in identifier', at)
    return { type: 'name', text: name[0], at }
  }
  const operator = stickyMatch(OPERATOR, source, at)
  if (operator) return { type: operator[0], text: operator[0], at }
  throw new Fault(
    'TemplateSyntaxError',
    `unexpected char '${String.fromCodePoint(source.codePointAt(at)!)}'`,
    at,
  )
}

function readNumber(source: string, at: number): Token {
  // Behind a dot it is a subscript: `x.1.2` asks twice, and is no float.
  const real = source[at - 1] === '.' ? null : stickyMatch(FLOAT, source, at)
  if (real) return { type: 'float', text: real[0], value: float(Number(real[0].replaceAll('_', ''))), at }
  const text = stickyMatch(INTEGER, source, at)![0]
  // Python's own bound, which also keeps the conversion cheap.
  if (text.length > 4300)
    throw new Fault('TemplateSyntaxError', 'an integer literal of more than 4300 digits', at)
  return { type: 'integer', text, value: integer(BigInt(text.replaceAll('_', ''))), at }
}

/** The length of the string literal at a quote, quotes included; 0 when it never ends. */
function rawLength(source: string, at: number): number {
  const quote = source[at]
  for (let i = at + 1; i < source.length; i++) {
    if (source[i] === '\\') i++
    else if (source[i] === quote) return i + 1 - at
  }
  return 0
}
