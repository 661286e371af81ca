/**
 * A strict reader for JSON from outside: bounded depth, no duplicate keys in an object, no `__proto__`.
 * Two readers could otherwise disagree about what a text says, and the one that checks permissions
 * might not be the one that acts.
 */

/** The error for a refused text: it is not JSON at all (`syntax`), or JSON that is refused here. */
export class JsonFault extends Error {
  readonly kind: 'syntax' | 'refused'

  constructor(kind: 'syntax' | 'refused', message: string) {
    super(message)
    this.name = 'JsonFault'
    this.kind = kind
  }
}

const quote = 34
const backslash = 92
/** What a request may cost to parse, check, redact and record, in units of about 0.1 µs. A document with a thousand rows of twenty fields costs two thirds. */
const mostCost = 150_000
/** The costs of a text's parts, all paid from one budget: a value, what a member of an object costs beyond it, and letters of a unit. */
const costs = { value: 1, member: 4, letters: 200 }
/** An object or list costs as much more with each so many levels of depth. */
const levels = 10
const tooMuch = `more than is read at once: a value counts ${costs.value}, the name of a member ${costs.member}, ${costs.letters} letters 1, depth more, and all together at most ${mostCost}`
const deepestInText = 20

/** What may still be read of JSON; texts that one request holds share it. */
export interface JsonBudget {
  left: number
}

export function newJsonBudget(): JsonBudget {
  return { left: mostCost }
}

/** Reads a text as JSON, since many write JSON into a text; undefined when it is not JSON. */
export function jsonIn(text: string, budget?: JsonBudget): unknown {
  try {
    return parseStrict(text, deepestInText, budget)
  } catch {
    return undefined
  }
}

/** Reads a text as JSON. JsonFault `syntax` when it is not JSON, `refused` when it is too deep or large or repeats a key. */
export function parseStrict(text: string, maxDepth: number, budget = newJsonBudget()): unknown {
  const keys = countKeys(text, maxDepth, budget)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new JsonFault('syntax', error instanceof Error ? error.message : 'not JSON')
  }
  // JSON.parse keeps the last of two equal keys, so there are fewer keys in the value than in the text.
  if (ownKeys(value) !== keys) throw new JsonFault('refused', 'an object has the same key twice')
  return value
}

/** Counts the keys of all objects in a text and pays for the text, without building anything; throws beyond the limits. */
function countKeys(text: string, maxDepth: number, budget: JsonBudget): number {
  let depth = 0
  let keys = 0
  budget.left -= text.length / costs.letters
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at)
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth) throw new JsonFault('refused', `nested deeper than ${maxDepth} levels`)
        budget.left -= depth / levels
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      case 0x3a: // :
        keys++
        budget.left -= costs.member
        break
      case 0x2c: // ,
        budget.left -= costs.value
        break
      default:
    }
    if (budget.left < 0) throw new JsonFault('refused', tooMuch)
  }
  return keys
}

/** Returns the index of the quote that ends the string that begins at `from`; the end of the text when none does. */
function endOfString(text: string, from: number): number {
  const first = text.indexOf('"', from + 1)
  if (first < 0) return text.length
  if (text.charCodeAt(first - 1) !== backslash) return first
  // It goes letter by letter: to search for each of very many quotes in a text takes ten times as long.
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at++
    else if (code === quote) return at
  }
  return text.length
}

function ownKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += ownKeys(item)
    return count
  }
  for (const key in value) {
    if (key === '__proto__') throw new JsonFault('refused', 'the key "__proto__" is not allowed')
    count += 1 + ownKeys((value as Record<string, unknown>)[key])
  }
  return count
}

/** Writes a JSON value as text that is equal for equal values, whatever the order of keys. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}
