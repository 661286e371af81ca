/**
 * JSON read without loss: 1.0 stays a float (`Float`), an integer beyond 2^53 becomes a bigint,
 * and objects become Maps, which keep the order of keys such as "10" and "9". Accepts exactly
 * what RFC 8259 does.
 */
import { Float } from './values.ts'

/** What the reader makes. */
export type Lossless = null | boolean | number | bigint | string | Float | Lossless[] | Map<string, Lossless>

/** The reader recurses; no honest argument is nested so deep. */
const MAX_DEPTH = 200
const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const STRING = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y
const WORDS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Reads a JSON text; SyntaxError with the offset of the fault. */
export function parseLossless(text: string): Lossless {
  const reader = new Reader(text)
  const value = reader.value(0)
  reader.end()
  return value
}

class Reader {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  value(depth: number): Lossless {
    if (depth > MAX_DEPTH) this.fail(`nested deeper than ${MAX_DEPTH} levels`)
    this.space()
    const char = this.text[this.at]
    if (char === '{') return this.object(depth)
    if (char === '[') return this.array(depth)
    if (char === '"') return this.string()
    if (char !== undefined && (char === '-' || (char >= '0' && char <= '9'))) return this.number()
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length
        return value
      }
    }
    return this.fail('a value is expected')
  }

  end(): void {
    this.space()
    if (this.at < this.text.length) this.fail('nothing more is expected')
  }

  private object(depth: number): Map<string, Lossless> {
    const map = new Map<string, Lossless>()
    this.at++
    if (this.skip('}')) return map
    do {
      this.space()
      if (this.text[this.at] !== '"') this.fail('a key is expected')
      const key = this.string()
      if (!this.skip(':')) this.fail('":" is expected')
      map.set(key, this.value(depth + 1))
    } while (this.skip(','))
    if (!this.skip('}')) this.fail('"," or "}" is expected')
    return map
  }

  private array(depth: number): Lossless[] {
    const items: Lossless[] = []
    this.at++
    if (this.skip(']')) return items
    do items.push(this.value(depth + 1))
    while (this.skip(','))
    if (!this.skip(']')) this.fail('"," or "]" is expected')
    return items
  }

  private string(): string {
    const raw = this.match(STRING)?.[0]
    if (raw === undefined) return this.fail('the string is not valid')
    return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  }

  private number(): number | bigint | Float {
    const found = this.match(NUMBER)
    if (!found) return this.fail('the number is not valid')
    const [text, fraction, exponent] = found
    const value = Number(text)
    if (fraction !== undefined || exponent !== undefined)
      return Number.isInteger(value) ? new Float(value) : value
    if (Number.isSafeInteger(value)) return value + 0
    if (text.length > 4300) this.fail('the integer has more than 4300 digits')
    return BigInt(text)
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found) this.at += found[0].length
    return found
  }

  private space(): void {
    this.match(SPACE)
  }

  private skip(char: string): boolean {
    this.space()
    if (this.text[this.at] !== char) return false
    this.at++
    return true
  }

  private fail(message: string): never {
    throw new SyntaxError(`not JSON at offset ${this.at}: ${message}`)
  }
}
