/**
 * The expressions of the site's YAML: row conditions, computed fields, validation rules, workflow
 * conditions. A language of our own, so that nothing in the site reaches JavaScript: parsed once,
 * bounded in size, total (a wrong type gives null, never an exception), own properties only.
 *
 *   doc.status = "Open" and (doc.owner = user.id or has_role("Sales Manager"))
 *   round(sum(items.amount) * (1 - coalesce(discount, 0) / 100), 2)
 */
import { AppError } from '../core/errors.ts'
import { nearest } from '../core/schema.ts'
import { type Evaluate, functions, type Scope } from './expression-functions.ts'
import { add, compare, contains, divide, equal, numeric, truthy } from './expression-values.ts'

/** A parsed expression. */
export interface Expression {
  readonly text: string
  /** The fields of the document it reads: `status`, `items.amount`. */
  readonly fields: readonly string[]
  /** Whether it depends on who asks. */
  readonly usesUser: boolean
  evaluate(scope: Scope): unknown
}

/** Whether an expression holds; whatever is not clearly true does not. */
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
  const evaluate = parser.whole()
  return { text, fields: [...parser.fields], usesUser: parser.usesUser, evaluate }
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

  whole(): Evaluate {
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

  #or(): Evaluate {
    if (++this.#depth > maxDepth) throw fault(`nested deeper than ${maxDepth}`, this.#next.at)
    let left = this.#and()
    while (this.#accept('or')) {
      const [a, b] = [left, this.#and()]
      left = (scope) => truthy(a(scope)) || truthy(b(scope))
    }
    this.#depth--
    return left
  }

  #and(): Evaluate {
    let left = this.#not()
    while (this.#accept('and')) {
      const [a, b] = [left, this.#not()]
      left = (scope) => truthy(a(scope)) && truthy(b(scope))
    }
    return left
  }

  #not(): Evaluate {
    // Counted for the same reason as the signs of `#unary`.
    let negations = 0
    while (this.#accept('not')) negations++
    const value = this.#comparison()
    if (negations === 0) return value
    return negations % 2 === 1 ? (scope) => !truthy(value(scope)) : (scope) => truthy(value(scope))
  }

  #comparison(): Evaluate {
    const left = this.#sum()
    if (this.#accept('in')) {
      const right = this.#sum()
      return (scope) => contains(right(scope), left(scope))
    }
    if (this.#next.text === 'not' && this.#tokens[this.#position + 1]?.text === 'in') {
      this.#position += 2
      const right = this.#sum()
      return (scope) => !contains(right(scope), left(scope))
    }
    const sign = this.#next.kind === 'sign' && comparisons.has(this.#next.text) ? this.#next.text : undefined
    if (sign === undefined) return left
    this.#position++
    const right = this.#sum()
    // What cannot be compared is in no order: each of these is then false.
    switch (sign) {
      case '=':
      case '==':
        return (scope) => equal(left(scope), right(scope))
      case '!=':
        return (scope) => !equal(left(scope), right(scope))
      case '<':
        return (scope) => (compare(left(scope), right(scope)) ?? 0) < 0
      case '<=':
        return (scope) => (compare(left(scope), right(scope)) ?? 1) <= 0
      case '>':
        return (scope) => (compare(left(scope), right(scope)) ?? 0) > 0
      default:
        return (scope) => (compare(left(scope), right(scope)) ?? -1) >= 0
    }
  }

  #sum(): Evaluate {
    let left = this.#product()
    for (;;) {
      const sign = this.#accept('+', '-')
      if (sign === undefined) return left
      const [a, b] = [left, this.#product()]
      left =
        sign === '+'
          ? (scope) => add(a(scope), b(scope))
          : (scope) => numeric(a(scope), b(scope), (x, y) => x - y)
    }
  }

  #product(): Evaluate {
    let left = this.#unary()
    for (;;) {
      const sign = this.#accept('*', '/', '%')
      if (sign === undefined) return left
      const [a, b] = [left, this.#unary()]
      if (sign === '*') left = (scope) => numeric(a(scope), b(scope), (x, y) => x * y)
      else if (sign === '/') left = (scope) => divide(a(scope), b(scope))
      else left = (scope) => numeric(a(scope), b(scope), (x, y) => (y === 0 ? NaN : x % y))
    }
  }

  #unary(): Evaluate {
    // Counted, not nested: a long row of signs must not recurse.
    let signs = 0
    while (this.#accept('-')) signs++
    const value = this.#primary()
    if (signs === 0) return value
    return (scope) => numeric(0, value(scope), (_, x) => (signs % 2 === 1 ? -x : x))
  }

  #primary(): Evaluate {
    const token = this.#next
    this.#position++
    if (token.kind === 'number') return constant(Number(token.text))
    if (token.kind === 'string') return constant(token.text.slice(1, -1))
    if (token.text === '(') {
      const inner = this.#or()
      this.#expect(')')
      return inner
    }
    if (token.text === '[') return this.#list()
    if (token.kind !== 'name') throw fault(`unexpected "${token.text}"`, token.at)
    if (token.text === 'true' || token.text === 'false') return constant(token.text === 'true')
    if (token.text === 'null') return constant(null)
    if (this.#next.text === '(' && this.#next.kind === 'sign') return this.#call(token)
    return this.#path(token)
  }

  #list(): Evaluate {
    const items: Evaluate[] = []
    while (this.#accept(']') === undefined) {
      if (items.length > 0) this.#expect(',')
      items.push(this.#or())
    }
    return (scope) => items.map((item) => item(scope))
  }

  #call(name: Token): Evaluate {
    const known = functions.get(name.text)
    if (!known) throw fault(unknownFunction(name.text), name.at)
    this.#expect('(')
    const args: Evaluate[] = []
    while (this.#accept(')') === undefined) {
      if (args.length > 0) this.#expect(',')
      args.push(this.#or())
    }
    if (args.length < known.least || args.length > known.most)
      throw fault(`${name.text}() takes ${known.usage}`, name.at)
    if (name.text === 'has_role') this.usesUser = true
    return known.build(args)
  }

  #path(token: Token): Evaluate {
    const parts = token.text.split('.')
    if (parts[0] === 'user') {
      this.usesUser = true
      const property = parts[1]
      if (parts.length !== 2 || (property !== 'id' && property !== 'full_name' && property !== 'roles'))
        throw fault(`a user has id, full_name and roles, not "${token.text}"`, token.at)
      if (property === 'roles') return (scope) => [...scope.user.roles]
      return (scope) => (property === 'id' ? scope.user.id : scope.user.fullName)
    }
    const path = parts[0] === 'doc' ? parts.slice(1) : parts
    if (path.length < 1 || path.length > 2) throw fault(`"${token.text}" is not a field`, token.at)
    this.fields.add(path.join('.'))
    const [field, column] = path
    if (column === undefined) return (scope) => own(scope.doc, field!)
    // Of a table, the column of every row: `items.amount` is a list.
    return (scope) => {
      const rows = own(scope.doc, field!)
      return Array.isArray(rows) ? rows.map((row: unknown) => own(row, column)) : null
    }
  }
}

function constant(value: unknown): Evaluate {
  return () => value
}

/** Own properties only: no name in the site's YAML may reach what JavaScript objects inherit. */
function own(from: unknown, key: string): unknown {
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, key)) return null
  return (from as Record<string, unknown>)[key] ?? null
}
