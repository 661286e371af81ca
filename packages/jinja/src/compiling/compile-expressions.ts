/** Expressions to closures. */
import { children, type BinaryOperator, type Expr, type NodeOf, type TestNode } from '../reading/ast.ts'
import { compileCall, compileFilter, compileTest } from './compile-calls.ts'
import { isFolded, kept } from './folded.ts'
import { placeOf, reader, type Code, type Compiler, type Level } from './compiler.ts'
import { contains, equals, ordered } from '../python/compare.ts'
import { truth } from '../python/iterate.ts'
import { Fault, type Place } from '../limits.ts'
import { escaped } from '../python/markup.ts'
import { attribute, item, slice, sliceable } from '../python/members.ts'
import * as operators from '../python/operators.ts'
import { str } from '../python/repr.ts'
import { LoopState } from '../loop-state.ts'
import type { Frame } from '../runtime.ts'
import { dictMethods } from '../python/methods-containers.ts'
import { Dict, Markup, Tuple, Undefined, type Value } from '../values.ts'

/** A condition: the truth of an expression. */
export type Condition = (frame: Frame) => boolean

/** The code of an expression. */
export function compileExpr(compiler: Compiler, node: Expr, level: Level): Code {
  if (level.folded === undefined && slicesConstant(node)) return compileFolded(compiler, node, level)
  return compileKind(compiler, node, level)
}

/** Jinja2 keeps what it computed when compiling unless it is undefined; then the template runs it again. */
function compileFolded(compiler: Compiler, node: Expr, level: Level): Code {
  const folded = compileKind(compiler, node, { ...level, folded: true })
  const again = compileKind(compiler, node, { ...level, folded: false })
  return (frame) => {
    const value = folded(frame)
    return value instanceof Undefined ? again(frame) : value
  }
}

/**
 * Whether a slice is among what Jinja2 computes when compiling; a literal by itself has nothing to
 * compute.
 */
function slicesConstant(node: Expr): boolean {
  const literal = ['const', 'name', 'list', 'tuple', 'dict'].includes(node.kind)
  return !literal && isFolded(node) && hasSlice(node)
}

function hasSlice(node: Expr): boolean {
  return node.kind === 'slice' || children(node).some(hasSlice)
}

function compileKind(compiler: Compiler, node: Expr, level: Level): Code {
  return (kinds[node.kind] as CompileNode)(compiler, node, level)
}

type CompileNode<Node = Expr> = (compiler: Compiler, node: Node, level: Level) => Code

/** What becomes of each kind of expression. */
const kinds: { readonly [Kind in Expr['kind']]: CompileNode<NodeOf<Expr, Kind>> } = {
  const:
    (_compiler, { value }) =>
    () =>
      value,
  name: (_compiler, { name }, level) => compileName(name, level),
  tuple: (compiler, node, level) => {
    const items = compileAll(compiler, node.items, level)
    return (frame) => new Tuple(items.map((code) => code(frame)))
  },
  list: (compiler, node, level) => {
    const items = compileAll(compiler, node.items, level)
    return (frame) => items.map((code) => code(frame))
  },
  dict: compileDict,
  condition: compileInlineIf,
  binary: (compiler, node, level) => kept(node, compileBinary(compiler, node, level)),
  // The value of `and` and `or` is one of their operands, as in Python, and no boolean.
  and: (compiler, node, level) => {
    const [left, right] = compileAll(compiler, [node.left, node.right], level)
    return (frame) => {
      const value = left!(frame)
      return truth(frame.run, value) ? right!(frame) : value
    }
  },
  or: (compiler, node, level) => {
    const [left, right] = compileAll(compiler, [node.left, node.right], level)
    return (frame) => {
      const value = left!(frame)
      return truth(frame.run, value) ? value : right!(frame)
    }
  },
  not: (compiler, { node }, level) => {
    const condition = compileCondition(compiler, node, level)
    return (frame) => !condition(frame)
  },
  negative: (compiler, node, level) => compileSign(compiler, node, level, operators.negate),
  positive: (compiler, node, level) => compileSign(compiler, node, level, operators.positive),
  // Jinja2 joins what it knows when compiling as plain text, even where output is escaped.
  concat: (compiler, node, level) =>
    compileConcat(compileAll(compiler, node.items, level), level.escape === 'on' && !isFolded(node)),
  compare: compileCompare,
  attribute: (compiler, { node, name, at }, level) =>
    compileAttribute(compileExpr(compiler, node, level), name, placeOf(compiler, at)),
  item: compileItem,
  call: (compiler, node, level) => compileCall(compiler, node, level),
  filter: (compiler, node, level) => kept(node, compileFilter(compiler, node, level)),
  test: compileTest,
  // `x[1:2, 3]` means something to numeric libraries only.
  slice: (_compiler, { at }) => refuse('a slice among several subscripts is not supported', at),
  nsref: (_compiler, { at }) => refuse('a namespace attribute cannot be read this way', at),
}

function refuse(message: string, at: number): never {
  throw new Fault('TemplateSyntaxError', message, at)
}

function compileSign(
  compiler: Compiler,
  { node, at }: NodeOf<Expr, 'negative'>,
  level: Level,
  operate: (value: Value) => Value,
): Code {
  const inner = compileExpr(compiler, node, level)
  const place = placeOf(compiler, at)
  return (frame) => {
    const value = inner(frame)
    frame.run.at = place
    return operate(value)
  }
}

function compileAll(compiler: Compiler, nodes: readonly Expr[], level: Level): Code[] {
  return nodes.map((node) => compileExpr(compiler, node, level))
}

function compileName(name: string, level: Level): Code {
  // One for all renderings: it holds nothing of any.
  const missing = new Undefined(`'${name}' is undefined`)
  const ref = level.scope.findRef(name)!
  const { slot } = ref
  if (ref.routine === level.routine) {
    return (frame) => {
      const value = frame.slots[slot]
      return value === undefined ? missing : value
    }
  }
  const read = reader(level.routine, ref)
  return (frame) => {
    const value = read(frame)
    return value === undefined ? missing : value
  }
}

function compileDict(compiler: Compiler, node: Expr & { kind: 'dict' }, level: Level): Code {
  const at = placeOf(compiler, node.at)
  const pairs = node.items.map(({ key, value }) => ({
    key: compileExpr(compiler, key, level),
    value: compileExpr(compiler, value, level),
  }))
  return (frame) => {
    const dict = new Dict()
    for (const { key, value } of pairs) {
      const k = key(frame)
      const v = value(frame)
      frame.run.at = at
      dict.set(k, v)
    }
    return dict
  }
}

function compileInlineIf(compiler: Compiler, node: Expr & { kind: 'condition' }, level: Level): Code {
  // Both sides may name what is not there, as long as it is not reached.
  const soft = { ...level, soft: true }
  const test = compileCondition(compiler, node.test, soft)
  const chosen = compileExpr(compiler, node.chosen, soft)
  if (!node.otherwise) {
    const missing = new Undefined(
      'the inline if-expression evaluated to false and no else section was defined.',
    )
    return (frame) => (test(frame) ? chosen(frame) : missing)
  }
  const otherwise = compileExpr(compiler, node.otherwise, soft)
  return (frame) => (test(frame) ? chosen(frame) : otherwise(frame))
}

const OPERATORS = {
  '+': operators.add,
  '-': operators.subtract,
  '*': operators.multiply,
  '/': operators.divide,
  '//': operators.floorDivide,
  '%': operators.modulo,
  '**': operators.power,
} satisfies Record<BinaryOperator, unknown>

function compileBinary(compiler: Compiler, node: Expr & { kind: 'binary' }, level: Level): Code {
  const left = compileExpr(compiler, node.left, level)
  const right = compileExpr(compiler, node.right, level)
  const at = placeOf(compiler, node.at)
  const operate = OPERATORS[node.operator]
  return (frame) => {
    const a = left(frame)
    const b = right(frame)
    frame.run.at = at
    return operate(frame.run, a, b)
  }
}

function compileConcat(items: Code[], escaping: boolean): Code {
  if (escaping) {
    return (frame) => {
      const values = items.map((code) => code(frame))
      // Only where something is safe already are the other parts made safe, and the whole with them.
      if (!values.some((value) => value instanceof Markup)) return joined(frame, values)
      let text = ''
      for (const value of values) text += escaped(frame.run, value)
      frame.run.text(text.length)
      return new Markup(text)
    }
  }
  const [a, b] = items
  if (items.length === 2) {
    return (frame) => {
      const left = a!(frame)
      const right = b!(frame)
      const text =
        (typeof left === 'string' ? left : str(frame.run, left)) +
        (typeof right === 'string' ? right : str(frame.run, right))
      frame.run.text(text.length)
      return text
    }
  }
  return (frame) =>
    joined(
      frame,
      items.map((code) => code(frame)),
    )
}

function joined(frame: Frame, values: Value[]): string {
  let text = ''
  for (const value of values) {
    text += str(frame.run, value)
    frame.run.text(text.length)
  }
  return text
}

/** An expression used for its truth only. */
export function compileCondition(compiler: Compiler, node: Expr, level: Level): Condition {
  if (node.kind === 'and' || node.kind === 'or') {
    // Nobody gets the operands back here, so no value has to be kept.
    const left = compileCondition(compiler, node.left, level)
    const right = compileCondition(compiler, node.right, level)
    return node.kind === 'and'
      ? (frame) => left(frame) && right(frame)
      : (frame) => left(frame) || right(frame)
  }
  if (node.kind === 'not') {
    const inner = compileCondition(compiler, node.node, level)
    return (frame) => !inner(frame)
  }
  if (node.kind === 'test') {
    const defined = definedTest(compiler, node, level)
    if (defined) return defined
  }
  const code = compileExpr(compiler, node, level)
  return (frame) => {
    const value = code(frame)
    return typeof value === 'boolean' ? value : truth(frame.run, value)
  }
}

/** `is defined` without the detour of a call. */
function definedTest(compiler: Compiler, node: TestNode, level: Level): Condition | undefined {
  if (node.name !== 'defined' || node.given.args.length > 0 || node.given.kwargs.length > 0) return undefined
  if (node.given.dynArgs || node.given.dynKwargs) return undefined
  const inner = compileExpr(compiler, node.node, level)
  return (frame) => !(inner(frame) instanceof Undefined)
}

function compileCompare(compiler: Compiler, node: Expr & { kind: 'compare' }, level: Level): Code {
  const left = compileExpr(compiler, node.left, level)
  const steps = node.operands.map(({ operator, right }) => ({
    compare: comparison(operator),
    right: compileExpr(compiler, right, level),
  }))
  const at = placeOf(compiler, node.at)
  if (steps.length === 1) {
    const { compare, right } = steps[0]!
    return (frame) => {
      const a = left(frame)
      const b = right(frame)
      frame.run.at = at
      return compare(frame, a, b)
    }
  }
  return (frame) => {
    // Each operand is evaluated once, and none after the first that fails.
    let a = left(frame)
    for (const { compare, right } of steps) {
      const b = right(frame)
      frame.run.at = at
      if (!compare(frame, a, b)) return false
      a = b
    }
    return true
  }
}

type Comparison = (frame: Frame, a: Value, b: Value) => boolean

function comparison(operator: (Expr & { kind: 'compare' })['operands'][number]['operator']): Comparison {
  switch (operator) {
    case '==':
      return (frame, a, b) => equals(frame.run, a, b)
    case '!=':
      return (frame, a, b) => !equals(frame.run, a, b)
    case 'in':
      return (frame, a, b) => contains(frame.run, b, a)
    case 'not in':
      return (frame, a, b) => !contains(frame.run, b, a)
    case '<':
      return (frame, a, b) =>
        typeof a === 'number' && typeof b === 'number' ? a < b : ordered(frame.run, a, b, operator)
    case '>':
      return (frame, a, b) =>
        typeof a === 'number' && typeof b === 'number' ? a > b : ordered(frame.run, a, b, operator)
    default:
      return (frame, a, b) => ordered(frame.run, a, b, operator)
  }
}

function compileAttribute(node: Code, name: string, at: Place): Code {
  // A dict's own method wins over its key, so only other names may take the short way.
  const isKey = !dictMethods.has(name) && !name.startsWith('_') && !name.startsWith('\0')
  return (frame) => {
    const value = node(frame)
    if (value instanceof Dict) {
      if (isKey) {
        const entry = value.entries.get(name)
        if (entry !== undefined) return entry
      }
    } else if (value instanceof LoopState) {
      const member = value.attribute(name)
      if (member !== undefined) return member
    }
    frame.run.at = at
    return attribute(frame, value, name)
  }
}

function compileItem(compiler: Compiler, node: Expr & { kind: 'item' }, level: Level): Code {
  const object = compileExpr(compiler, node.node, level)
  const at = placeOf(compiler, node.at)
  if (node.key.kind === 'slice') {
    const part = (child: Expr | undefined): Code => (child ? compileExpr(compiler, child, level) : () => null)
    const [start, stop, step] = [part(node.key.start), part(node.key.stop), part(node.key.step)]
    return (frame) => {
      const value = object(frame)
      const [from, to, by] = [start(frame), stop(frame), step(frame)]
      frame.run.at = at
      if (level.folded && !sliceable(value) && !(value instanceof Undefined))
        return new Undefined('the value cannot be sliced')
      return slice(frame, value, from, to, by)
    }
  }
  const key = compileExpr(compiler, node.key, level)
  return (frame) => {
    const value = object(frame)
    const k = key(frame)
    // The two usual lookups, without the rules for the rest.
    if (value instanceof Dict && typeof k === 'string') {
      const entry = value.get(k)
      if (entry !== undefined) return entry
    } else if (Array.isArray(value) && typeof k === 'number') {
      const entry = value[k]
      if (entry !== undefined) return entry
    }
    frame.run.at = at
    return item(frame, value, k)
  }
}
