/** Matches `like` patterns, in a time that no pattern and no text makes long. */

/** The most steps for the matcher that backtracks; beyond it one that never does is used. */
const mostSteps = 100_000

/**
 * True when a text matches a `like` pattern, `%` for anything and `_` for one character. It backtracks only to
 * the last `%`: no pattern takes exponential time, as one turned into a regular expression could. A long
 * pattern on a long text would still backtrack often.
 */
export function wildcard(text: string, pattern: string): boolean {
  if (text.length * pattern.length > mostSteps) return longWildcard(text, pattern)
  let [t, p, star, mark] = [0, 0, -1, 0]
  while (t < text.length) {
    if (pattern[p] === '%') [star, mark] = [p++, t]
    else if (p < pattern.length && (pattern[p] === '_' || pattern[p] === text[t])) [t, p] = [t + 1, p + 1]
    else if (star >= 0) [p, t] = [star + 1, ++mark]
    else return false
  }
  while (pattern[p] === '%') p++
  return p === pattern.length
}

/** Does the same by following all states of the pattern at once, one bit each: the time is the same for all texts. */
function longWildcard(text: string, pattern: string): boolean {
  const states = pattern.replace(/%+/g, '%')
  const width = (states.length >> 5) + 1
  const sets = new Map<string, Uint32Array>()
  const any = new Uint32Array(width)
  const stays = new Uint32Array(width)
  for (const [at, letter] of states.split('').entries()) {
    if (letter === '%') stays[at >> 5]! |= 1 << (at & 31)
    else if (letter === '_') any[at >> 5]! |= 1 << (at & 31)
    else sets.set(letter, new Uint32Array(width))
  }
  for (const set of sets.values()) set.set(any)
  for (const [at, letter] of states.split('').entries())
    if (letter !== '%' && letter !== '_') sets.get(letter)![at >> 5]! |= 1 << (at & 31)
  let now = new Uint32Array(width)
  let next = new Uint32Array(width)
  now[0] = 1
  passStars(now, stays)
  for (const letter of text.split('')) {
    const takes = sets.get(letter) ?? any
    let carry = 0
    let alive = 0
    for (let word = 0; word < width; word++) {
      const taken = now[word]! & takes[word]!
      const value = (taken << 1) | carry | (now[word]! & stays[word]!)
      carry = taken >>> 31
      next[word] = value
      alive |= value
    }
    if (alive === 0) return false
    passStars(next, stays)
    ;[now, next] = [next, now]
  }
  return (now[states.length >> 5]! & (1 << (states.length & 31))) !== 0
}

/** Lets a `%` match nothing: where one is reached, so is the state after it. No two stand side by side. */
function passStars(reached: Uint32Array, stays: Uint32Array): void {
  let carry = 0
  for (let word = 0; word < reached.length; word++) {
    const passed = reached[word]! & stays[word]!
    reached[word]! |= (passed << 1) | carry
    carry = passed >>> 31
  }
}
