/**
 * JSON from outside, read strictly: bounded depth, no key twice in one object, no `__proto__`.
 * Two readers would otherwise disagree about what a text says, and the one that checks permissions
 * might not be the one that acts.
 */

/** Why a text was refused: it is no JSON at all, or JSON that is refused here. */
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
/** What follows a comma is built, and walked again: so many take some ten milliseconds, and no request needs them. */
const mostCommas = 100_000

/** Reads a text as JSON. JsonFault `syntax` when it is none, `refused` when it is too deep or a key stands twice. */
export function parseStrict(text: string, maxDepth: number): unknown {
  const keys = countKeys(text, maxDepth)
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

/** Counts the keys of all objects in a text, without building anything, and stops at too much depth. */
function countKeys(text: string, maxDepth: number): number {
  let depth = 0
  let keys = 0
  let commas = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        at = endOfString(text, at)
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > maxDepth) throw new JsonFault('refused', `nested deeper than ${maxDepth} levels`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      case 0x3a: // :
        keys++
        break
      case 0x2c: // ,
        if (++commas > mostCommas) throw new JsonFault('refused', `more than ${mostCommas} values`)
        break
      default:
    }
  }
  return keys
}

/** The index of the quote that ends the string that begins at `from`; the end of the text when none does. */
function endOfString(text: string, from: number): number {
  let at = from
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return at
  }
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
