/** Statements and the text between them. */
import type { Expr, If, Name, Signature, Statement, Target } from './ast.ts'
import { tokenize } from './lexer.ts'
import { isSpace } from '../python/text.ts'
import { parseExpression, parseFilter, parseFilters, parseTuple } from './parse-expressions.ts'
import { TokenStream } from './token-stream.ts'

type Parser = (tokens: TokenStream) => Statement

/** By the first word of a tag. Words that end a block are not here: they end the body around them. */
const PARSERS = new Map<string, Parser>([
  ['for', parseFor],
  ['if', parseIf],
  ['set', parseSet],
  ['with', parseWith],
  ['macro', parseMacro],
  ['call', parseCallBlock],
  ['filter', parseFilterBlock],
  ['autoescape', parseAutoescape],
  ['block', parseBlock],
  ['extends', parseExtends],
  ['include', parseInclude],
  ['import', parseImport],
  ['from', parseFrom],
  ['print', parsePrint],
])

/** The statements of a template's source, which must be normalized (`normalize`). */
export function parse(source: string): Statement[] {
  return parseBody(new TokenStream(tokenize(source)))
}

/** Statements to the end of the source, or to one of the tags that end the block around them. */
function parseBody(tokens: TokenStream, ends?: readonly string[]): Statement[] {
  const body: Statement[] = []
  let items: (string | Expr)[] = []
  let at = tokens.current.at
  const flush = (): void => {
    if (items.length > 0) body.push({ kind: 'output', items, at })
    items = []
  }
  // A stack, so that a fault can name every tag that is still open.
  if (ends) tokens.ends.push(ends)
  while (tokens.type !== 'eof') {
    if (items.length === 0) at = tokens.current.at
    if (tokens.type === 'data') items.push(tokens.next().text)
    else if (tokens.skip('variable_begin')) {
      items.push(parseTuple(tokens))
      tokens.expect('variable_end')
    } else {
      flush()
      tokens.expect('block_begin')
      if (ends && tokens.type === 'name' && ends.includes(tokens.current.text)) {
        tokens.ends.pop()
        return body
      }
      body.push(tokens.nested(() => parseStatement(tokens)))
      tokens.expect('block_end')
    }
  }
  flush()
  if (ends) unexpectedEnd(tokens)
  return body
}

/** The body of a tag up to one of its end tags, which becomes the current token. */
function parseUntil(tokens: TokenStream, ...ends: string[]): Statement[] {
  tokens.skip(':')
  tokens.expect('block_end')
  return parseBody(tokens, ends)
}

/** The body of a tag, and past the one tag that can end it. */
function parseTo(tokens: TokenStream, end: string): Statement[] {
  const body = parseUntil(tokens, end)
  tokens.next()
  return body
}

function parseStatement(tokens: TokenStream): Statement {
  const token = tokens.current
  if (token.type !== 'name') tokens.fail('tag name expected')
  // The open tags are kept for messages only.
  const parser = PARSERS.get(token.text)
  if (!parser) return unknownTag(tokens)
  tokens.tags.push(token.text)
  const statement = parser(tokens)
  tokens.tags.pop()
  return statement
}

function unknownTag(tokens: TokenStream): never {
  const name = tokens.current.text
  const message = [`Encountered unknown tag '${name}'.`]
  if (tokens.ends.length > 0) {
    // A tag that an outer one waits for shows where the nesting went wrong.
    const known = tokens.ends.some((ends) => ends.includes(name))
    message.push(
      known
        ? `You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for ${wanted(tokens)}.`
        : `Jinja was looking for the following tags: ${wanted(tokens)}.`,
    )
  }
  return tokens.fail([...message, ...innermost(tokens)].join(' '))
}

function unexpectedEnd(tokens: TokenStream): never {
  const message = `Unexpected end of template. Jinja was looking for the following tags: ${wanted(tokens)}.`
  return tokens.fail([message, ...innermost(tokens)].join(' '))
}

/** The tags that would end the innermost block. */
function wanted(tokens: TokenStream): string {
  const ends = tokens.ends.at(-1)!
  return ends.map((end) => `'${end}'`).join(' or ')
}

function innermost(tokens: TokenStream): string[] {
  const tag = tokens.tags.at(-1)
  return tag === undefined ? [] : [`The innermost block that needs to be closed is '${tag}'.`]
}

function parseFor(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  // `in` and `if` are the loop's own here, no operator and no inline condition.
  const target = parseTarget(tokens, { end: 'in' })
  tokens.expectName('in')
  const iterable = parseTuple(tokens, { noCondition: true, end: 'recursive' })
  const test = tokens.skipName('if') ? parseExpression(tokens) : undefined
  const recursive = tokens.skipName('recursive')
  const body = parseUntil(tokens, 'endfor', 'else')
  const otherwise = tokens.next().text === 'else' ? parseTo(tokens, 'endfor') : []
  return { kind: 'for', target, iterable, test, recursive, body, otherwise, at }
}

function parseIf(tokens: TokenStream): If {
  const { at } = tokens.next()
  const branches: { test: Expr; body: Statement[] }[] = []
  for (;;) {
    const test = parseTuple(tokens, { noCondition: true })
    const body = parseUntil(tokens, 'elif', 'else', 'endif')
    branches.push({ test, body })
    const end = tokens.next().text
    if (end === 'elif') continue
    const otherwise = end === 'else' ? parseTo(tokens, 'endif') : []
    return { kind: 'if', branches, otherwise, at }
  }
}

function parseSet(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const target = parseTarget(tokens, { namespaces: true })
  // Without a value, what stands up to `endset` is the value.
  if (tokens.skip('=')) return { kind: 'set', target, value: parseTuple(tokens), at }
  const filter = parseFilters(tokens, undefined)
  const body = parseTo(tokens, 'endset')
  return { kind: 'setblock', target, filter, body, at }
}

function parseWith(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const targets: Target[] = []
  const values: Expr[] = []
  while (tokens.type !== 'block_end') {
    if (targets.length > 0) tokens.expect(',')
    targets.push(parseTarget(tokens))
    tokens.expect('=')
    values.push(parseExpression(tokens))
  }
  const body = parseTo(tokens, 'endwith')
  return { kind: 'with', targets, values, body, at }
}

function parseMacro(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const { name } = parseName(tokens)
  const signature = parseSignature(tokens)
  const body = parseTo(tokens, 'endmacro')
  return { kind: 'macro', name, ...signature, body, at }
}

function parseCallBlock(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const signature = tokens.type === '(' ? parseSignature(tokens) : { params: [], defaults: [] }
  const call = parseExpression(tokens)
  if (call.kind !== 'call') tokens.fail('expected call', at)
  const body = parseTo(tokens, 'endcall')
  return { kind: 'callblock', ...signature, call, body, at }
}

function parseSignature(tokens: TokenStream): Signature {
  const params: Name[] = []
  const defaults: Expr[] = []
  tokens.expect('(')
  while (tokens.type !== ')') {
    if (params.length > 0) tokens.expect(',')
    const param = parseName(tokens)
    if (params.some(({ name }) => name === param.name)) {
      tokens.fail(`duplicate argument '${param.name}' in function definition`, param.at)
    }
    if (tokens.skip('=')) defaults.push(parseExpression(tokens))
    else if (defaults.length > 0) tokens.fail('non-default argument follows default argument')
    params.push(param)
  }
  tokens.expect(')')
  return { params, defaults }
}

function parseFilterBlock(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const first = parseFilter(tokens, undefined)
  const filter = parseFilters(tokens, first) ?? first
  const body = parseTo(tokens, 'endfilter')
  return { kind: 'filterblock', filter, body, at }
}

function parseAutoescape(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const on = parseExpression(tokens)
  const body = parseTo(tokens, 'endautoescape')
  return { kind: 'autoescape', on, body, at }
}

function parseBlock(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const name = tokens.expect('name').text
  const scoped = tokens.skipName('scoped')
  const required = tokens.skipName('required')
  if (tokens.type === '-') {
    tokens.fail(
      'Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead',
    )
  }
  const body = parseTo(tokens, 'endblock')
  const blank = body.every(
    (child) =>
      child.kind === 'output' && child.items.every((item) => typeof item === 'string' && isSpace(item)),
  )
  if (required && !blank) tokens.fail('Required blocks can only contain comments or whitespace')
  // `endblock` may repeat the name, for the reader.
  tokens.skipName(name)
  return { kind: 'block', name, scoped, required, body, at }
}

function parseExtends(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  return { kind: 'extends', template: parseExpression(tokens), at }
}

function parseInclude(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const template = parseExpression(tokens)
  const next = tokens.look()
  const ignoreMissing = tokens.isName('ignore') && next.type === 'name' && next.text === 'missing'
  if (ignoreMissing) {
    tokens.next()
    tokens.next()
  }
  // What is included sees the variables around it unless told otherwise; what is imported does not.
  return { kind: 'include', template, ignoreMissing, withContext: parseContext(tokens) ?? true, at }
}

function parseImport(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const template = parseExpression(tokens)
  tokens.expectName('as')
  const target = parseName(tokens).name
  return { kind: 'import', template, target, withContext: parseContext(tokens) ?? false, at }
}

function parseFrom(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const template = parseExpression(tokens)
  tokens.expectName('import')
  const names: { name: string; alias: string }[] = []
  let withContext: boolean | undefined
  for (;;) {
    if (names.length > 0) tokens.expect(',')
    if (tokens.type !== 'name') tokens.expect('name')
    withContext = parseContext(tokens)
    if (withContext !== undefined) break
    const { name, at: start } = parseName(tokens)
    // What begins with an underline is a template's own.
    if (name.startsWith('_')) tokens.fail('names starting with an underline can not be imported', start)
    names.push({ name, alias: tokens.skipName('as') ? parseName(tokens).name : name })
    withContext = parseContext(tokens)
    if (withContext !== undefined || tokens.type !== ',') break
  }
  return { kind: 'from', template, names, withContext: withContext ?? false, at }
}

/**
 * `with context` or `without context`; undefined where neither follows. No keywords: variables may have
 * these names.
 */
function parseContext(tokens: TokenStream): boolean | undefined {
  const next = tokens.look()
  if (
    !(tokens.isName('with') || tokens.isName('without')) ||
    next.type !== 'name' ||
    next.text !== 'context'
  ) {
    return undefined
  }
  const withContext = tokens.next().text === 'with'
  tokens.next()
  return withContext
}

function parsePrint(tokens: TokenStream): Statement {
  const { at } = tokens.next()
  const items: Expr[] = []
  while (tokens.type !== 'block_end') {
    if (items.length > 0) tokens.expect(',')
    items.push(parseExpression(tokens))
  }
  return { kind: 'output', items, at }
}

function parseTarget(tokens: TokenStream, options: { end?: string; namespaces?: boolean } = {}): Target {
  return assignable(tokens, parseTuple(tokens, { ...options, simplified: true }))
}

function parseName(tokens: TokenStream): Name {
  const { text, at } = tokens.expect('name')
  if (['true', 'false', 'none', 'True', 'False', 'None'].includes(text))
    tokens.fail("can't assign to 'name'", at)
  return { kind: 'name', name: text, at }
}

/**
 * A name, an attribute of a namespace, or a tuple of such; everything else that could be read here is
 * no target.
 */
function assignable(tokens: TokenStream, node: Expr): Target {
  if (node.kind === 'name' || node.kind === 'nsref') return node
  if (node.kind !== 'tuple') tokens.fail(`can't assign to '${node.kind}'`, node.at)
  for (const item of node.items) assignable(tokens, item)
  return node
}
