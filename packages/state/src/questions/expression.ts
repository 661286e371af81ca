/**
 * The expressions of the site's YAML: row conditions, computed fields, validation rules, workflow
 * conditions. A language of our own, so that nothing in the site reaches JavaScript: parsed once,
 * bounded in size, total (a wrong type gives null, never an exception), own properties only.
 *
 *   doc.status = "Open" and (doc.owner = user.id or has_role("Sales Manager"))
 *   round(sum(items.amount) * (1 - coalesce(discount, 0) / 100), 2)
 */
import { nearest } from '#leaf/names.ts'
import { AppError } from '#leaf/errors.ts'
import { evaluator, type Term } from './conditions.ts'
import { functions, type Scope } from './expression-functions.ts'

/** A parsed expression. */
export interface Expression {
  readonly text: string
  /** The fields of the document that it reads: `status`, `items.amount`. */
  readonly fields: readonly string[]
  /** True if it depends on the caller. */
  readonly usesUser: boolean
  readonly term: Term
  evaluate(scope: Scope): unknown
}

/** True if the expression clearly holds. */
export function holds(expression: Expression, scope: Scope): boolean {
  return expression.evaluate(scope) === true
}

/** Bounds of one expression: it is evaluated for every row of a list, and parsed by recursion. */
const maxLength = 2000
const maxTokens = 500
const maxDepth = 40

type Token = {
  readonly kind: 'number' | 'string' | 'name' | 'sign' | 'end'
  readonly text: string
  readonly at: number
}

/** Parses an expression. AppError `invalid` says what is wrong and at which character. */
export function parseExpression(text: string): Expression {
  if (text.length > maxLength)
    throw new AppError('invalid', `an expression has at most ${maxLength} characters`)
  const parser = new Parser(tokenize(text))
  const term = parser.whole()
  return { text, fields: [...parser.fields], usesUser: parser.usesUser, term, evaluate: evaluator(term) }
}

const tokenPattern =
  /\s*(?:(?<number>\d+(?:\.\d+)?)|(?<string>"[^"\\]*"|'[^'\\]*')|(?<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)|(?<sign><=|>=|!=|==|[-+*/%=<>(),[\]]))/y

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  const end = text.trimEnd().length
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < end) {
    const at = tokenPattern.lastIndex
    const match = tokenPattern.exec(text)
    if (!match?.groups) throw fault(`cannot read "${text.slice(at).trim().slice(0, 10)}"`, at)
    const [kind, value] = Object.entries(match.groups).find(([, value]) => value !== undefined)!
    tokens.push({ kind: kind as Token['kind'], text: value, at: tokenPattern.lastIndex - value.length })
    if (tokens.length > maxTokens) throw fault(`more than ${maxTokens} words`, at)
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length })
  return tokens
}

function unknownFunction(name: string): string {
  const near = nearest(name, functions.keys())
  return `unknown function "${name}"${near === undefined ? '' : ` (did you mean "${near}"?)`}`
}

function fault(message: string, at: number): AppError {
  return new AppError('invalid', `expression: ${message} at character ${at + 1}`)
}

const comparisons = new Set(['=', '==', '!=', '<', '<=', '>', '>='])

class Parser {
  readonly fields = new Set<string>()
  usesUser = false
  readonly #tokens: readonly Token[]
  #position = 0
  #depth = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  whole(): Term {
    const result = this.#or()
    if (this.#next.kind !== 'end') throw fault(`unexpected "${this.#next.text}"`, this.#next.at)
    return result
  }

  get #next(): Token {
    return this.#tokens[this.#position]!
  }

  #accept(...texts: string[]): string | undefined {
    const { kind, text } = this.#next
    if ((kind !== 'sign' && kind !== 'name') || !texts.includes(text)) return undefined
    this.#position++
    return text
  }

  #expect(text: string): void {
    if (this.#accept(text) === undefined)
      throw fault(`expected "${text}", not "${this.#next.text}"`, this.#next.at)
  }

  #or(): Term {
    if (++this.#depth > maxDepth) throw fault(`nested deeper than ${maxDepth}`, this.#next.at)
    const term = this.#joined('or', () => this.#joined('and', () => this.#not()))
    this.#depth--
    return term
  }

  #joined(word: 'or' | 'and', part: () => Term): Term {
    const parts = [part()]
    while (this.#accept(word)) parts.push(part())
    return parts.length === 1 ? parts[0]! : { call: word, of: parts }
  }

  #not(): Term {
    // Counted for the same reason as the signs of `#unary`.
    let negations = 0
    while (this.#accept('not')) negations++
    const value = this.#comparison()
    if (negations === 0) return value
    const negated: Term = { call: 'not', of: [value] }
    return negations % 2 === 1 ? negated : { call: 'not', of: [negated] }
  }

  #comparison(): Term {
    const left = this.#sum()
    if (this.#accept('in')) return { call: 'in', of: [left, this.#sum()] }
    if (this.#next.text === 'not' && this.#tokens[this.#position + 1]?.text === 'in') {
      this.#position += 2
      return { call: 'not', of: [{ call: 'in', of: [left, this.#sum()] }] }
    }
    const sign = this.#next.kind === 'sign' && comparisons.has(this.#next.text) ? this.#next.text : undefined
    if (sign === undefined) return left
    this.#position++
    return { call: sign === '==' ? '=' : sign, of: [left, this.#sum()] }
  }

  #sum(): Term {
    return this.#chain(['+', '-'], () => this.#chain(['*', '/', '%'], () => this.#unary()))
  }

  #chain(signs: readonly string[], part: () => Term): Term {
    let left = part()
    for (;;) {
      const sign = this.#accept(...signs)
      if (sign === undefined) return left
      left = { call: sign, of: [left, part()] }
    }
  }

  #unary(): Term {
    // Counted, not nested: a long row of signs must not recurse.
    let signs = 0
    while (this.#accept('-')) signs++
    const value = this.#primary()
    if (signs === 0) return value
    return signs % 2 === 1
      ? { call: '-', of: [{ value: 0 }, value] }
      : { call: '+', of: [{ value: 0 }, value] }
  }

  #primary(): Term {
    const token = this.#next
    this.#position++
    if (token.kind === 'number') return { value: Number(token.text) }
    if (token.kind === 'string') return { value: token.text.slice(1, -1) }
    if (token.text === '(') {
      const inner = this.#or()
      this.#expect(')')
      return inner
    }
    if (token.text === '[') return { call: 'list', of: this.#terms(']') }
    if (token.kind !== 'name') throw fault(`unexpected "${token.text}"`, token.at)
    if (token.text === 'true' || token.text === 'false') return { value: token.text === 'true' }
    if (token.text === 'null') return { value: null }
    if (this.#next.text === '(' && this.#next.kind === 'sign') return this.#call(token)
    return this.#path(token)
  }

  /** Reads terms with commas between them, up to the closing sign. */
  #terms(end: string): Term[] {
    const of: Term[] = []
    while (this.#accept(end) === undefined) {
      if (of.length > 0) this.#expect(',')
      of.push(this.#or())
    }
    return of
  }

  #call(name: Token): Term {
    const known = functions.get(name.text)
    if (!known) throw fault(unknownFunction(name.text), name.at)
    this.#expect('(')
    const of = this.#terms(')')
    if (of.length < known.least || of.length > known.most)
      throw fault(`${name.text}() takes ${known.usage}`, name.at)
    if (name.text === 'has_role') this.usesUser = true
    return { call: name.text, of }
  }

  #path(token: Token): Term {
    const parts = token.text.split('.')
    if (parts[0] === 'user') {
      this.usesUser = true
      const property = parts[1]
      if (parts.length !== 2 || (property !== 'id' && property !== 'full_name' && property !== 'roles'))
        throw fault(`a user has id, full_name and roles, not "${token.text}"`, token.at)
      return { user: property }
    }
    const path = parts[0] === 'doc' ? parts.slice(1) : parts
    if (path.length < 1 || path.length > 2) throw fault(`"${token.text}" is not a field`, token.at)
    this.fields.add(path.join('.'))
    const [field = '', column] = path
    // For a table, the column of every row: `items.amount` is a list.
    return column === undefined ? { field } : { field, column }
  }
}
