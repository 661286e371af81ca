/** Words that are asked for, as the database's queries of texts. */
import type { AskedWord } from '../core/words.ts'

/** The word itself in one of the fields, for `tsquery`. */
export function sameWord(word: string, paths: readonly string[]): string {
  return paths.map((path) => `'${path}=${word}'`).join(' | ')
}

/** What begins with a word, and what stands in for it. */
export function nearWord({ word, instead }: AskedWord, paths: readonly string[]): string {
  const begins = word.length > 1 ? ':*' : ''
  return paths
    .flatMap((path) => [`'${path}=${word}'${begins}`, ...instead.map((other) => `'${path}=${other}'`)])
    .join(' | ')
}
