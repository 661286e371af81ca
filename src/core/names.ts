/** Names that mean nothing, and which one was most likely meant. */

/** `unknown role "Sales Usr"; did you mean "Sales User"?` */
export function unknownName(kind: string, name: string, known: Iterable<string>): string {
  const shown = name.length > 100 ? `${name.slice(0, 99)}…` : name
  return `unknown ${kind} "${shown}"${didYouMean(name, known)}`
}

/** `; did you mean "Sales User"?`, or nothing when no candidate is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates)
  return near === undefined ? '' : `; did you mean "${near}"?`
}

/** The candidate that a person who wrote `word` most likely meant, if any is near. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), least)
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** Letters to insert, remove, replace or swap with their neighbour; stops counting at the limit. */
export function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
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
