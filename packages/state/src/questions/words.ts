/**
 * The meaning of a word search, for every store. A text is split into words at separators, in lower case; only the first
 * 10,000 characters of a text and forty of a word count. A document matches an asked word when one of its own is the same,
 * begins with it (from two letters on), or is among its substitutes. Its score is the sum over the asked words of the
 * weight of the heaviest field that has it, half of that where the word is not the same.
 */
import { editDistance, fold } from '#leaf/names.ts'

/** An asked word, and its substitutes where it may be mistyped. */
export interface AskedWord {
  readonly word: string
  readonly instead: readonly string[]
}

/** A word search, whose results come best first. */
export interface WordQuestion {
  readonly words: readonly AskedWord[]
  /** True when a document needs all of the words, false when any will do. */
  readonly all: boolean
  /** The fields searched: a field, or a column of rows such as `items.item`, with the weight of a word in it. */
  readonly fields: readonly { readonly path: string; readonly weight: number }[]
}

/** A hit; its document is read on demand. */
export interface WordHit<T = unknown> {
  readonly id: string
  readonly score: number
  readonly document: () => T
}

/** A page of hits, best first and then by id. */
export interface WordAnswer<T = unknown> {
  readonly found: readonly WordHit<T>[]
  readonly total: number
}

/** Compares hits for sorting: by score, then by id. */
export function bestFirst(a: WordHit, b: WordHit): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

/** The separators of words, as a character class that JavaScript and PostgreSQL read alike. */
export const separators = String.raw`\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\ufdd0\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65`
const between = new RegExp(`[\\0${separators}]+`)

export const longestText = 10_000
export const longestWord = 40
/** Fields that are never searched. */
export const unsearched = ['owner', 'creation', 'modified', 'modified_by']

/** Splits a text into its words. */
export function splitWords(text: string): string[] {
  return text
    .slice(0, longestText)
    .toLowerCase()
    .split(between)
    .filter((word) => word !== '')
    .map((word) => word.slice(0, longestWord))
}

/** Returns a function that scores a document; 0 for one that does not match. */
export function scorer({ words, all, fields }: WordQuestion): (document: object) => number {
  return (document) => {
    let sum = 0
    const texts = fields.map(({ path, weight }) => ({
      words: textsAt(document, path).flatMap(splitWords),
      weight,
    }))
    for (const asked of words) {
      const score = Math.max(0, ...texts.map((text) => text.weight * likeness(text.words, asked)))
      if (score === 0 && all) return 0
      sum += score
    }
    return sum
  }
}

/** Rates a match: 1 for the same word, 0.5 for one that begins with it or is a substitute, else 0. */
function likeness(words: readonly string[], { word, instead }: AskedWord): number {
  if (words.includes(word)) return 1
  const near = (one: string): boolean =>
    (word.length > 1 && one.startsWith(word)) || (instead.length > 0 && instead.includes(one))
  return words.some(near) ? 0.5 : 0
}

function textsAt(document: object, path: string): string[] {
  const [field, column] = path.split('.') as [string, string | undefined]
  const value = Object.hasOwn(document, field) ? (document as Record<string, unknown>)[field] : null
  const values =
    column === undefined
      ? [value]
      : (Array.isArray(value) ? value : []).map((row: Record<string, unknown> | null) => row?.[column])
  return values.filter((one): one is string => typeof one === 'string')
}

/** Matches the other spellings of a word (`fold`), which begin in one of several ways; none of a word of two letters. */
export function respelt(word: string): {
  readonly begins: readonly string[]
  matches(other: string): boolean
} {
  const folded = fold(word)
  const [first, second] = [folded[0]!, folded[1]!].map((letter) => [
    letter,
    ...(marked[letter] ?? '').split(''),
  ])
  const begins =
    folded.length < 3
      ? []
      : [
          ...first!.flatMap((one) => second!.map((two) => one + two)),
          ...(/[aou]/.test(folded[0]!) ? [`${folded[0]!}e`] : []),
        ]
  return { begins, matches: (other) => fold(other).startsWith(folded) }
}

const marked: Readonly<Record<string, string>> = {
  a: 'äáàåâ',
  c: 'çč',
  e: 'éèêë',
  i: 'íîï',
  l: 'ł',
  n: 'ñ',
  o: 'öóôø',
  s: 'šś',
  u: 'üúû',
  z: 'ž',
}

/** Matches the typing errors of a word beyond its first three letters; undefined for codes and short words, which must match. */
export function mistyped(
  word: string,
): { readonly begins: string; matches(other: string): boolean } | undefined {
  if (word.length < 5 || /\d/.test(word)) return undefined
  const most = word.length < 8 ? 1 : 2
  return { begins: word.slice(0, 3), matches: (other) => editDistance(word, other, most + 1) <= most }
}
