/** Translates asked words to text queries of the database. */
import type { AskedWord } from '../../questions/words.ts'

/** Returns a `tsquery` for the word itself in one of the fields. */
export function sameWord(word: string, paths: readonly string[]): string {
  return paths.map((path) => `'${path}=${word}'`).join(' | ')
}

/** Returns a `tsquery` for words that begin with the word, and for its substitutes. */
export function nearWord({ word, instead }: AskedWord, paths: readonly string[]): string {
  const begins = word.length > 1 ? ':*' : ''
  return paths
    .flatMap((path) => [`'${path}=${word}'${begins}`, ...instead.map((other) => `'${path}=${other}'`)])
    .join(' | ')
}
