/** Strings as Python counts them: by code point, with Python's ideas of space, line and case. */

const SURROGATE = /[\ud800-\udfff]/

/** Python's white space (`str.isspace`), for use inside a character class. */
export const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000'

const LEADING = new RegExp(`^[${SPACE}]+`)
const ALL_SPACE = new RegExp(`^[${SPACE}]+$`)
const SPACE_CHAR = new RegExp(`[${SPACE}]`)
const LINE = /\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/g
/** Letters with a title case of their own, which JavaScript does not know. */
const TITLECASE: Record<string, string> = { ǆ: 'ǅ', Ǆ: 'ǅ', ǉ: 'ǈ', Ǉ: 'ǈ', ǌ: 'ǋ', Ǌ: 'ǋ', ǳ: 'ǲ', Ǳ: 'ǲ' }

/** Whether every character is one UTF-16 unit, so that plain indexes are right. */
export function isPlain(text: string): boolean {
  return !SURROGATE.test(text)
}

/** `len(text)`: code points, where JavaScript counts UTF-16 units. */
export function lengthOf(text: string): number {
  if (isPlain(text)) return text.length
  let count = 0
  for (const _ of text) count++
  return count
}

/** The characters, one string for each code point. */
export function chars(text: string): string[] {
  return isPlain(text) ? text.split('') : Array.from(text)
}

/** The character at an index that may count from the end; undefined when there is none. */
export function charAt(text: string, index: number): string | undefined {
  if (isPlain(text)) return text.charAt(index < 0 ? index + text.length : index) || undefined
  const all = Array.from(text)
  return all[index < 0 ? index + all.length : index]
}

/** `str.isspace`: nothing but white space, and some of it. */
export function isSpace(text: string): boolean {
  return ALL_SPACE.test(text)
}

/** `str.lstrip`: takes white space, or the characters of a set, off the start. */
export function stripStart(text: string, set?: string): string {
  if (set === undefined) return text.replace(LEADING, '')
  const members = new Set(chars(set))
  const all = chars(text)
  let from = 0
  while (from < all.length && members.has(all[from]!)) from++
  return all.slice(from).join('')
}

/** `str.rstrip`: the same at the end. */
export function stripEnd(text: string, set?: string): string {
  if (set === undefined) {
    // By hand: a pattern anchored at the end looks from every space on, which is quadratic.
    let to = text.length
    while (to > 0 && SPACE_CHAR.test(text[to - 1]!)) to--
    return text.slice(0, to)
  }
  const members = new Set(chars(set))
  const all = chars(text)
  let to = all.length
  while (to > 0 && members.has(all[to - 1]!)) to--
  return all.slice(0, to).join('')
}

/** `str.strip`: the same at both ends. */
export function strip(text: string, set?: string): string {
  return stripEnd(stripStart(text, set), set)
}

/** `str.splitlines`: without the empty line after a final line break. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = []
  let from = 0
  for (const match of text.matchAll(LINE)) {
    const end = match.index + match[0].length
    lines.push(text.slice(from, keepEnds ? end : match.index))
    from = end
  }
  if (from < text.length) lines.push(text.slice(from))
  return lines
}

const SPACE_RUN = new RegExp(`[${SPACE}]+`)

/** `str.split()` without a separator: all words, or at most `limit` splits from the left. */
export function splitWords(text: string, limit = -1): string[] {
  let rest = stripStart(text)
  if (limit < 0) {
    rest = stripEnd(rest)
    return rest === '' ? [] : rest.split(SPACE_RUN)
  }
  const words: string[] = []
  while (rest !== '' && words.length < limit) {
    const end = rest.search(SPACE_CHAR)
    if (end < 0) break
    words.push(rest.slice(0, end))
    rest = stripStart(rest.slice(end))
  }
  if (rest !== '') words.push(rest)
  return words
}

/** `str.rsplit()` without a separator: at most `limit` splits, from the right. */
export function splitWordsFromEnd(text: string, limit: number): string[] {
  const words: string[] = []
  let rest = stripEnd(text)
  while (rest !== '' && words.length < limit) {
    let at = rest.length
    while (at > 0 && !SPACE_CHAR.test(rest[at - 1]!)) at--
    if (at === 0) break
    words.unshift(rest.slice(at))
    rest = stripEnd(rest.slice(0, at))
  }
  if (rest !== '') words.unshift(rest)
  return words
}

function titleChar(char: string): string {
  const special = TITLECASE[char]
  if (special !== undefined) return special
  const upper = char.toUpperCase()
  // ß is SS in upper case, but Ss at the start of a word.
  return upper.length > char.length ? upper.charAt(0) + upper.slice(1).toLowerCase() : upper
}

/** `str.capitalize`: the first letter in title case, the rest in lower case. */
export function capitalize(text: string): string {
  const first = charAt(text, 0)
  return first === undefined ? '' : titleChar(first) + text.slice(first.length).toLowerCase()
}

const CASED = /\p{Cased}/u

/** `str.title`: a letter after anything that is not one starts a word. */
export function titleCase(text: string): string {
  let inside = false
  let result = ''
  let at = 0
  for (const char of text) {
    const cased = CASED.test(char)
    result += cased && inside ? lowerAt(text, at, char) : cased ? titleChar(char) : char
    inside = cased
    at += char.length
  }
  return result
}

/** `str.swapcase`: each letter in its other case. */
export function swapCase(text: string): string {
  let result = ''
  let at = 0
  for (const char of text) {
    const lower = lowerAt(text, at, char)
    result += lower === char ? char.toUpperCase() : lower
    at += char.length
  }
  return result
}

/** A character in lower case; a capital sigma ends a word differently. */
function lowerAt(text: string, at: number, char: string): string {
  if (char !== 'Σ') return char.toLowerCase()
  const next = text.codePointAt(at + 1)
  const ends =
    at > 0 && CASED.test(text[at - 1]!) && (next === undefined || !CASED.test(String.fromCodePoint(next)))
  return ends ? 'ς' : 'σ'
}

/** `str.islower`: some letter with a case, and no other case than lower. */
export function isLower(text: string): boolean {
  return /\p{Lowercase}/u.test(text) && !/\p{Uppercase}|\p{Lt}/u.test(text)
}

/** `str.isupper`: some letter with a case, and no other case than upper. */
export function isUpper(text: string): boolean {
  return /\p{Uppercase}/u.test(text) && !/\p{Lowercase}|\p{Lt}/u.test(text)
}

/** `str.istitle`: capitals only where a word starts, and nowhere left out. */
export function isTitle(text: string): boolean {
  let inside = false
  let found = false
  for (const char of text) {
    if (/\p{Uppercase}|\p{Lt}/u.test(char)) {
      if (inside) return false
      inside = found = true
    } else if (/\p{Lowercase}/u.test(char)) {
      if (!inside) return false
      found = true
    } else inside = false
  }
  return found
}

/** Less than, by code point (JavaScript compares UTF-16 units). */
export function textLess(a: string, b: string): boolean {
  if (isPlain(a) && isPlain(b)) return a < b
  const left = Array.from(a)
  const right = Array.from(b)
  for (let i = 0; i < left.length && i < right.length; i++) {
    if (left[i] !== right[i]) return left[i]!.codePointAt(0)! < right[i]!.codePointAt(0)!
  }
  return left.length < right.length
}

/** Pads on both sides as `str.center` does: the odd one goes left when the width is odd. */
export function center(text: string, width: number, fill = ' '): string {
  const missing = width - lengthOf(text)
  if (missing <= 0) return text
  const left = Math.floor(missing / 2) + (missing & width & 1)
  return fill.repeat(left) + text + fill.repeat(missing - left)
}
