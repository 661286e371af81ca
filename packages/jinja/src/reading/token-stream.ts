/** The parser's view of the tokens: one at a time, with a look at the next. */
import { Fault } from '../limits.ts'
import { MAX_DEPTH, type Token } from './lexer.ts'

const DESCRIPTIONS = new Map([
  ['block_begin', 'begin of statement block'],
  ['block_end', 'end of statement block'],
  ['variable_begin', 'begin of print statement'],
  ['variable_end', 'end of print statement'],
  ['data', 'template data / text'],
  ['eof', 'end of template'],
])

/** What a token is called in messages. */
export function describeToken(token: Token): string {
  return token.type === 'name' ? token.text : (DESCRIPTIONS.get(token.type) ?? token.type)
}

/** Tokens with a current one, and where in the nesting of tags the parser is. */
export class TokenStream {
  current: Token
  /** The tags that are open, innermost last. */
  readonly tags: string[] = []
  /** The tags that would end each open block, innermost last. */
  readonly ends: (readonly string[])[] = []
  private readonly tokens: readonly Token[]
  private index = 0
  private depth = 0

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
    this.current = tokens[0]!
  }

  get type(): string {
    return this.current.type
  }

  /** Moves on and returns the token passed. */
  next(): Token {
    const token = this.current
    if (token.type !== 'eof') this.current = this.tokens[++this.index]!
    return token
  }

  /** The token behind the current one. */
  look(): Token {
    return this.tokens[this.index + 1] ?? this.current
  }

  isName(name: string): boolean {
    return this.current.type === 'name' && this.current.text === name
  }

  /** Passes a token of this type, and tells whether there was one. */
  skip(type: string): boolean {
    if (this.current.type !== type) return false
    this.next()
    return true
  }

  skipName(name: string): boolean {
    if (!this.isName(name)) return false
    this.next()
    return true
  }

  /** Passes a token that must be of this type; a fault names what stands there instead. */
  expect(type: string): Token {
    return this.current.type === type ? this.next() : this.unexpected(DESCRIPTIONS.get(type) ?? type)
  }

  expectName(name: string): Token {
    return this.isName(name) ? this.next() : this.unexpected(name)
  }

  /** Runs one level deeper. */
  nested<T>(parse: () => T): T {
    if (++this.depth > MAX_DEPTH) this.fail(`nested deeper than ${MAX_DEPTH} levels`)
    const result = parse()
    this.depth--
    return result
  }

  fail(message: string, at = this.current.at): never {
    throw new Fault('TemplateSyntaxError', message, at)
  }

  private unexpected(wanted: string): never {
    if (this.current.type === 'eof') this.fail(`unexpected end of template, expected '${wanted}'`)
    this.fail(`expected token '${wanted}', got '${describeToken(this.current)}'`)
  }
}
