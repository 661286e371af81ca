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

/** A number written with a fraction or an exponent whose value is integral, such as `1.0`: JavaScript alone cannot tell it from `1`. */
export class JsonFloat {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/**
 * What `parseLossless` gives: integers beyond 2^53 are bigints, `1.0` is a `JsonFloat`, objects are
 * Maps in the order of the text.
 */
export type LosslessValue =
  null | boolean | number | bigint | string | JsonFloat | LosslessValue[] | Map<string, LosslessValue>

const quote = 34
const backslash = 92

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

/** Reads a text that `parseStrict` accepted once more, keeping what JavaScript's own numbers and objects lose. */
export function parseLossless(text: string): LosslessValue {
  const reader = { text, at: 0 }
  return readValue(reader)
}

/** Counts the keys of all objects in a text, without building anything, and stops at too much depth. */
function countKeys(text: string, maxDepth: number): number {
  let depth = 0
  let keys = 0
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

interface Reader {
  readonly text: string
  at: number
}

const token = /[^\s,:\]}]+/y

function readValue(reader: Reader): LosslessValue {
  skipSpace(reader)
  const first = reader.text[reader.at]
  if (first === '{') return readObject(reader)
  if (first === '[') return readArray(reader)
  if (first === '"') return readString(reader)
  token.lastIndex = reader.at
  const word = token.exec(reader.text)?.[0] ?? ''
  reader.at += word.length
  return scalar(word)
}

function scalar(word: string): LosslessValue {
  if (word === 'true') return true
  if (word === 'false') return false
  if (word === 'null') return null
  const value = Number(word)
  if (/[.eE]/.test(word)) return Number.isInteger(value) ? new JsonFloat(value) : value
  return Number.isSafeInteger(value) ? value : BigInt(word)
}

function readObject(reader: Reader): Map<string, LosslessValue> {
  const object = new Map<string, LosslessValue>()
  reader.at++
  for (;;) {
    const mark = nextMark(reader)
    if (mark === '}') break
    if (mark === ',') continue
    reader.at--
    const key = readString(reader)
    nextMark(reader) // the colon
    object.set(key, readValue(reader))
  }
  return object
}

function readArray(reader: Reader): LosslessValue[] {
  const array: LosslessValue[] = []
  reader.at++
  for (;;) {
    const mark = nextMark(reader)
    if (mark === ']') break
    if (mark === ',') continue
    reader.at--
    array.push(readValue(reader))
  }
  return array
}

function readString(reader: Reader): string {
  const end = endOfString(reader.text, reader.at)
  const raw = reader.text.slice(reader.at, end + 1)
  reader.at = end + 1
  return JSON.parse(raw) as string
}

function nextMark(reader: Reader): string {
  skipSpace(reader)
  const mark = reader.text[reader.at++]
  if (mark === undefined) throw new JsonFault('syntax', 'the text ends too early')
  return mark
}

function skipSpace(reader: Reader): void {
  while (reader.text.charCodeAt(reader.at) <= 32) reader.at++
}
