/**
 * What a search means, for every store. A text's words are what lies between separators, in small letters; of a text the
 * first 10,000 characters count, of a word forty. A document has a word that is asked for when one of its own is the same
 * or, from two letters on, begins with it, or is one of those that stand in for it. Its score is the sum over the words
 * of the weight of the heaviest field that has it, half of it where the word is not the same.
 */
import { editDistance } from './names.ts'

/** A word that is asked for, and what stands in for it where it may be mistyped. */
export interface AskedWord {
  readonly word: string
  readonly instead: readonly string[]
}

/** Which documents are looked for, best first. */
export interface WordQuestion {
  readonly words: readonly AskedWord[]
  /** Whether a document needs all of the words, or any. */
  readonly all: boolean
  /** Where: a field, or a column of rows as `items.item`, with what a word in it weighs. */
  readonly fields: readonly { readonly path: string; readonly weight: number }[]
}

/** A document that was found, read when somebody wants it. */
export interface WordHit<T = unknown> {
  readonly id: string
  readonly score: number
  readonly document: () => T
}

/** A page of what was found, best first and then by id. */
export interface WordAnswer<T = unknown> {
  readonly found: readonly WordHit<T>[]
  readonly total: number
}

/** What sorts hits. */
export function bestFirst(a: WordHit, b: WordHit): number {
  return b.score - a.score || (a.id < b.id ? -1 : 1)
}

/** Characters between words, as a class that JavaScript and PostgreSQL read alike. */
export const separators = String.raw`\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f\ufdd0\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65`
const between = new RegExp(`[\\0${separators}]+`)

export const longestText = 10_000
export const longestWord = 40
/** Fields that no search is of. */
export const unsearched = ['owner', 'creation', 'modified', 'modified_by']

/** The words of a text. */
export function splitWords(text: string): string[] {
  return text
    .slice(0, longestText)
    .toLowerCase()
    .split(between)
    .filter((word) => word !== '')
    .map((word) => word.slice(0, longestWord))
}

/** What makes a document's score; 0 for one that is not found. */
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

/** 1 for the same word, a half for one that begins with it or stands in for it. */
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

/** How a word may be mistyped, the first letters excepted: codes and short words have to match. */
export function mistyped(
  word: string,
): { readonly begins: string; matches(other: string): boolean } | undefined {
  if (word.length < 5 || /\d/.test(word)) return undefined
  const most = word.length < 8 ? 1 : 2
  return { begins: word.slice(0, 3), matches: (other) => editDistance(word, other, most + 1) <= most }
}
