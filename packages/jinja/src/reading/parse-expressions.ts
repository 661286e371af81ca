/** Expressions, in Jinja2's order of precedence (which is not quite Python's). */
import {
  bounded,
  type Arguments,
  type BinaryOperator,
  type CallNode,
  type CompareOperator,
  type Expr,
  type FilterNode,
} from './ast.ts'
import { describeToken, type TokenStream } from './token-stream.ts'

const CONSTANTS = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
])
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>='])
/** Tokens that start the argument of a test written without parentheses. */
const TEST_ARGUMENTS = new Set(['name', 'string', 'integer', 'float', '(', '[', '{'])

/** What a tuple may hold, and what ends it, depends on where it stands. */
export interface TupleOptions {
  /** Only names and literals: the target of an assignment. */
  simplified?: boolean
  /** Leave a trailing `if` alone: it belongs to the statement. */
  noCondition?: boolean
  /** A name that ends the tuple. */
  end?: string
  /** Inside parentheses, where an empty tuple is one. */
  parenthesized?: boolean
  /** `ns.name` is a target too. */
  namespaces?: boolean
}

/** An expression, or a tuple where commas separate several. */
export function parseTuple(tokens: TokenStream, options: TupleOptions = {}): Expr {
  const at = tokens.current.at
  const items: Expr[] = []
  let isTuple = false
  for (;;) {
    if (items.length > 0) tokens.expect(',')
    if (endsTuple(tokens, options.end)) break
    items.push(parseTupleItem(tokens, options))
    if (tokens.type !== ',') break
    isTuple = true
  }
  if (!isTuple) {
    if (items.length > 0) return items[0]!
    if (!options.parenthesized) tokens.fail(`Expected an expression, got '${describeToken(tokens.current)}'`)
  }
  return bounded({ kind: 'tuple', items, at })
}

function parseTupleItem(tokens: TokenStream, options: TupleOptions): Expr {
  if (options.simplified) return parsePrimary(tokens, options.namespaces)
  return options.noCondition ? parseOr(tokens) : parseExpression(tokens)
}

function endsTuple(tokens: TokenStream, end: string | undefined): boolean {
  const { type } = tokens
  if (type === 'variable_end' || type === 'block_end' || type === ')') return true
  return end !== undefined && tokens.isName(end)
}

/** One expression, inline `if` included. */
export function parseExpression(tokens: TokenStream): Expr {
  return tokens.nested(() => {
    let chosen = parseOr(tokens)
    for (;;) {
      const at = tokens.current.at
      if (!tokens.skipName('if')) return chosen
      const test = parseOr(tokens)
      const otherwise = tokens.skipName('else') ? parseExpression(tokens) : undefined
      chosen = bounded({ kind: 'condition', test, chosen, otherwise, at })
    }
  })
}

function parseOr(tokens: TokenStream): Expr {
  let left = parseAnd(tokens)
  for (;;) {
    const at = tokens.current.at
    if (!tokens.skipName('or')) return left
    left = bounded({ kind: 'or', left, right: parseAnd(tokens), at })
  }
}

function parseAnd(tokens: TokenStream): Expr {
  let left = parseNot(tokens)
  for (;;) {
    const at = tokens.current.at
    if (!tokens.skipName('and')) return left
    left = bounded({ kind: 'and', left, right: parseNot(tokens), at })
  }
}

function parseNot(tokens: TokenStream): Expr {
  const at = tokens.current.at
  if (tokens.skipName('not')) {
    return tokens.nested(() => bounded({ kind: 'not', node: parseNot(tokens), at }))
  }
  return parseCompare(tokens)
}

function parseCompare(tokens: TokenStream): Expr {
  const left = parseSum(tokens)
  const operands: { operator: CompareOperator; right: Expr }[] = []
  const at = tokens.current.at
  for (;;) {
    const operator = comparison(tokens)
    if (operator === undefined) break
    operands.push({ operator, right: parseSum(tokens) })
  }
  return operands.length === 0 ? left : bounded({ kind: 'compare', left, operands, at })
}

function comparison(tokens: TokenStream): CompareOperator | undefined {
  if (COMPARISONS.has(tokens.type)) return tokens.next().type as CompareOperator
  if (tokens.skipName('in')) return 'in'
  const next = tokens.look()
  if (tokens.isName('not') && next.type === 'name' && next.text === 'in') {
    tokens.next()
    tokens.next()
    return 'not in'
  }
  return undefined
}

function parseSum(tokens: TokenStream): Expr {
  return leftAssociative(tokens, parseConcat, ['+', '-'])
}

function parseConcat(tokens: TokenStream): Expr {
  const at = tokens.current.at
  const items = [parseProduct(tokens)]
  while (tokens.skip('~')) items.push(parseProduct(tokens))
  return items.length === 1 ? items[0]! : bounded({ kind: 'concat', items, at })
}

function parseProduct(tokens: TokenStream): Expr {
  return leftAssociative(tokens, parsePower, ['*', '/', '//', '%'])
}

/** Unlike Python's, Jinja2's `**` groups to the left. */
function parsePower(tokens: TokenStream): Expr {
  return leftAssociative(tokens, (inner) => parseUnary(inner, true), ['**'])
}

/** Operators of one rank, which group to the left. */
function leftAssociative(
  tokens: TokenStream,
  parse: (tokens: TokenStream) => Expr,
  operators: string[],
): Expr {
  let left = parse(tokens)
  while (operators.includes(tokens.type)) {
    const { type, at } = tokens.next()
    left = bounded({ kind: 'binary', operator: type as BinaryOperator, left, right: parse(tokens), at })
  }
  return left
}

function parseUnary(tokens: TokenStream, withFilters: boolean): Expr {
  const { type, at } = tokens.current
  let node: Expr
  if (type === '-' || type === '+') {
    tokens.next()
    const inner = tokens.nested(() => parseUnary(tokens, false))
    node = bounded({ kind: type === '-' ? 'negative' : 'positive', node: inner, at })
  } else node = parsePrimary(tokens)
  // What follows belongs to the signed value: `-1|abs` is 1.
  node = parsePostfix(tokens, node)
  return withFilters ? parseFilterTail(tokens, node) : node
}

function parsePrimary(tokens: TokenStream, namespaces = false): Expr {
  const token = tokens.current
  const { at } = token
  switch (token.type) {
    case 'name': {
      tokens.next()
      const constant = CONSTANTS.get(token.text)
      if (constant !== undefined) return { kind: 'const', value: constant, at }
      if (namespaces && tokens.skip('.')) {
        return { kind: 'nsref', name: token.text, attribute: tokens.expect('name').text, at }
      }
      return { kind: 'name', name: token.text, at }
    }
    case 'string': {
      let value = ''
      // Neighbouring literals are one, as in Python.
      while (tokens.type === 'string') value += tokens.next().text
      return { kind: 'const', value, at }
    }
    case 'integer':
    case 'float':
      return { kind: 'const', value: tokens.next().value!, at }
    case '(': {
      tokens.next()
      const node = tokens.nested(() => parseTuple(tokens, { parenthesized: true }))
      tokens.expect(')')
      return node
    }
    case '[':
      return parseList(tokens)
    case '{':
      return parseDict(tokens)
    default:
      return tokens.fail(`unexpected '${describeToken(token)}'`)
  }
}

function parseList(tokens: TokenStream): Expr {
  const { at } = tokens.expect('[')
  const items: Expr[] = []
  while (tokens.type !== ']') {
    if (items.length > 0) tokens.expect(',')
    if (tokens.type === ']') break
    items.push(parseExpression(tokens))
  }
  tokens.expect(']')
  return bounded({ kind: 'list', items, at })
}

function parseDict(tokens: TokenStream): Expr {
  const { at } = tokens.expect('{')
  const items: { key: Expr; value: Expr }[] = []
  while (tokens.type !== '}') {
    if (items.length > 0) tokens.expect(',')
    if (tokens.type === '}') break
    const key = parseExpression(tokens)
    tokens.expect(':')
    items.push({ key, value: parseExpression(tokens) })
  }
  tokens.expect('}')
  return bounded({ kind: 'dict', items, at })
}

/** Members, subscripts and calls behind a value, any number of them. */
function parsePostfix(tokens: TokenStream, node: Expr): Expr {
  for (;;) {
    if (tokens.type === '.') node = parseAttribute(tokens, node)
    else if (tokens.type === '[') node = parseSubscript(tokens, node)
    else if (tokens.type === '(') node = parseCall(tokens, node)
    else return node
  }
}

/** Filters and tests behind a value, and calls of what they gave. */
function parseFilterTail(tokens: TokenStream, node: Expr): Expr {
  for (;;) {
    if (tokens.type === '|') node = parseFilters(tokens, node)!
    else if (tokens.isName('is')) node = parseTest(tokens, node)
    else if (tokens.type === '(') node = parseCall(tokens, node)
    else return node
  }
}

function parseAttribute(tokens: TokenStream, node: Expr): Expr {
  const { at } = tokens.next()
  const token = tokens.next()
  if (token.type === 'name') return bounded({ kind: 'attribute', node, name: token.text, at })
  if (token.type !== 'integer') tokens.fail('expected name or number', token.at)
  return bounded({ kind: 'item', node, key: { kind: 'const', value: token.value!, at: token.at }, at })
}

function parseSubscript(tokens: TokenStream, node: Expr): Expr {
  const { at } = tokens.next()
  const parts: Expr[] = []
  while (tokens.type !== ']') {
    if (parts.length > 0) tokens.expect(',')
    parts.push(parseSubscribed(tokens))
  }
  tokens.expect(']')
  // `x[1, 2]` is looked up by a tuple.
  const key: Expr = parts.length === 1 ? parts[0]! : bounded({ kind: 'tuple', items: parts, at })
  return bounded({ kind: 'item', node, key, at })
}

/** An index, or a slice any part of which may be left out. */
function parseSubscribed(tokens: TokenStream): Expr {
  const { at } = tokens.current
  let start: Expr | undefined
  if (tokens.type !== ':') {
    start = parseExpression(tokens)
    if (tokens.type !== ':') return start
  }
  tokens.expect(':')
  const ended = (): boolean => tokens.type === ']' || tokens.type === ','
  const stop = tokens.type === ':' || ended() ? undefined : parseExpression(tokens)
  const step = tokens.skip(':') && !ended() ? parseExpression(tokens) : undefined
  return bounded({ kind: 'slice', start, stop, step, at })
}

function parseCall(tokens: TokenStream, callee: Expr): CallNode {
  const { at } = tokens.current
  return bounded({ kind: 'call', callee, given: parseArguments(tokens), at })
}

const NONE: Arguments = { args: [], kwargs: [], dynArgs: undefined, dynKwargs: undefined }

function parseArguments(tokens: TokenStream): Arguments {
  const open = tokens.expect('(')
  const args: Expr[] = []
  const kwargs: { name: string; value: Expr }[] = []
  let dynArgs: Expr | undefined
  let dynKwargs: Expr | undefined
  let first = true
  // As in Python: nothing by place behind a name or `*`, and nothing at all behind `**`.
  const ensure = (right: boolean): void => {
    if (!right) tokens.fail('invalid syntax for function call expression', open.at)
  }
  while (tokens.type !== ')') {
    if (!first) {
      tokens.expect(',')
      if (tokens.type === ')') break
    }
    first = false
    if (tokens.skip('*')) {
      ensure(!dynArgs && !dynKwargs)
      dynArgs = parseExpression(tokens)
    } else if (tokens.skip('**')) {
      ensure(!dynKwargs)
      dynKwargs = parseExpression(tokens)
    } else if (tokens.type === 'name' && tokens.look().type === '=') {
      ensure(!dynKwargs)
      const { text, at } = tokens.next()
      tokens.next()
      if (kwargs.some(({ name }) => name === text)) tokens.fail(`keyword argument repeated: ${text}`, at)
      kwargs.push({ name: text, value: parseExpression(tokens) })
    } else {
      ensure(!dynArgs && !dynKwargs && kwargs.length === 0)
      args.push(parseExpression(tokens))
    }
  }
  tokens.expect(')')
  return { args, kwargs, dynArgs, dynKwargs }
}

/** `| a | b(…)` after an expression, or after nothing in a block set. */
export function parseFilters(tokens: TokenStream, node: Expr | undefined): FilterNode | undefined {
  let result = node
  while (tokens.skip('|')) result = parseFilter(tokens, result)
  return result === node ? undefined : (result as FilterNode)
}

/** One filter with its arguments, the `|` already behind. */
export function parseFilter(tokens: TokenStream, node: Expr | undefined): FilterNode {
  const { text, at } = tokens.expect('name')
  const name = dotted(tokens, text)
  const given = tokens.type === '(' ? parseArguments(tokens) : NONE
  return bounded({ kind: 'filter', node, name, given, at })
}

/** Names of filters and tests may have dots in them. */
function dotted(tokens: TokenStream, first: string): string {
  let name = first
  while (tokens.skip('.')) name += `.${tokens.expect('name').text}`
  return name
}

function parseTest(tokens: TokenStream, node: Expr): Expr {
  const { at } = tokens.next()
  const negated = tokens.skipName('not')
  const name = dotted(tokens, tokens.expect('name').text)
  let given = NONE
  // Without parentheses one operand may follow: `is divisibleby 3`.
  if (tokens.type === '(') given = parseArguments(tokens)
  else if (TEST_ARGUMENTS.has(tokens.type) && !['else', 'or', 'and'].some((word) => tokens.isName(word))) {
    if (tokens.isName('is')) tokens.fail('You cannot chain multiple tests with is')
    const argument = tokens.nested(() => parsePostfix(tokens, parsePrimary(tokens)))
    given = { ...NONE, args: [argument] }
  }
  const test = bounded({ kind: 'test', node, name, given, at } as const)
  return negated ? bounded({ kind: 'not', node: test, at }) : test
}
