/** Messages about unknown names, with the most likely intended one. */
import { atOnce, Slice, type Slices } from './slices.ts'

/** Returns a message such as `unknown role "Sales Usr"; did you mean "Sales User"?` */
export function unknownName(kind: string, name: string, known: Iterable<string>): string {
  const shown = name.length > 100 ? `${name.slice(0, 99)}…` : name
  return `unknown ${kind} "${shown}"${didYouMean(name, known)}`
}

/** Returns the same message for callers who have not seen the names: where none is near, it lists them. */
export function unknownAmong(kind: string, name: string, known: readonly string[]): string {
  return `${unknownName(kind, name, [])}${meantOrKnown(name, known)}`
}

/** Returns `; did you mean "Sales User"?`; where none is near, `; there are HR User, Sales User`. */
export function meantOrKnown(name: string, known: readonly string[]): string {
  return didYouMean(name, known) || (known.length > 0 ? `; there are ${listed(known)}` : '')
}

/** Joins problems; what there is, and several of them would say, is said once. */
export function joined(problems: readonly string[]): string {
  const said = new Set<string>()
  const once = (list: string): string => (said.has(list) ? '' : (said.add(list), list))
  return problems.map((problem) => problem.replace(/; there are .*$/, once)).join('; ')
}

/** The most names that a message lists. */
const mostListed = 25

/** Joins names, of many the first. */
export function listed(names: readonly string[], most = mostListed): string {
  const more = names.length - most
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Returns `; did you mean "Sales User"?`, or the empty text when no candidate is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates)
  return near === undefined ? '' : `; did you mean "${near}"?`
}

const foldings: Readonly<Record<string, string>> = { ß: 'ss', æ: 'a', œ: 'o', ø: 'o', ł: 'l', đ: 'd', ı: 'i' }

/** Returns a text in the one spelling of all that people write for it: without case and marks, `ue` and `ü` as `u`, `ß` as `ss`. */
export function fold(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[ßæœøłđı]/g, (letter) => foldings[letter]!)
    .replace(/([aou])e/g, '$1')
}

/** Longer texts are compared with nothing: letter by letter, that takes their length squared for each candidate. */
const longestNear = 100

/** Returns the candidate that a person who wrote `word` most likely meant, if any is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  return atOnce(nearestOf(word, candidates))
}

/** Finds the same among very many candidates, in slices. */
export function* nearestOf(word: string, candidates: Iterable<string>): Slices<string | undefined> {
  if (word.length > longestNear) return undefined
  const slice = new Slice()
  let best: string | undefined
  const [written, folded] = [word.toLowerCase(), fold(word)]
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    // As written too: folding takes letters away, and a swap of two of them is then too much of what is left.
    const distance =
      candidate.length > 2 * longestNear
        ? least
        : Math.min(
            editDistance(folded, fold(candidate), least),
            editDistance(written, candidate.toLowerCase(), least),
          )
    if (distance < least) {
      least = distance
      best = candidate
    }
    if (slice.isOver()) yield* slice.pause()
  }
  return best
}

/** Counts the letters to insert, remove, replace or swap with their neighbour; stops counting at the limit. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    // What two rows have in common is never fewer again.
    if (Math.min(...previous) >= limit && (i < 2 || Math.min(...before) >= limit)) return limit
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(previous[j]! + 1, current[j - 1]! + 1, previous[j - 1]! + change)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, before[j - 2]! + 1)
      }
      current.push(least)
    }
    before = previous
    previous = current
  }
  return previous[b.length]!
}
