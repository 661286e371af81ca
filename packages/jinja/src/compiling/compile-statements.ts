/** Statements to closures. */
import type { If, NodeOf, Output, SetBlock, Statement } from '../reading/ast.ts'
import {
  compileBlock,
  compileExtends,
  compileFromImport,
  compileImport,
  compileInclude,
} from './compile-inheritance.ts'
import { compileCondition, compileExpr } from './compile-expressions.ts'
import { isFolded } from './folded.ts'
import { compileFilter } from './compile-calls.ts'
import { compileFor } from './compile-for.ts'
import { compileCallBlock, compileMacro } from './compile-macro.ts'
import { compileTarget } from './compile-target.ts'
import {
  enterScope,
  innerLevel,
  placeOf,
  sequence,
  type Action,
  type Code,
  type Compiler,
  type Escape,
  type Level,
} from './compiler.ts'
import { truth } from '../python/iterate.ts'
import { Fault, type Place } from '../limits.ts'
import { escaped } from '../python/markup.ts'
import { str } from '../python/repr.ts'
import { Markup, textOf, typeName } from '../values.ts'

const NOTHING: Action = () => undefined

/** The statements of one body, in order. */
export function compileBody(compiler: Compiler, statements: readonly Statement[], level: Level): Action {
  return sequence(statements.map((node) => compileStatement(compiler, node, level))) ?? NOTHING
}

function compileStatement(compiler: Compiler, node: Statement, level: Level): Action {
  return (kinds[node.kind] as CompileNode)(compiler, node, level)
}

type CompileNode<Node = Statement> = (compiler: Compiler, node: Node, level: Level) => Action

/** What becomes of each kind of statement. */
const kinds: {
  readonly [Kind in Statement['kind']]: CompileNode<NodeOf<Statement, Kind>>
} = {
  output: compileOutput,
  for: compileFor,
  if: compileIf,
  set: (compiler, node, level) => {
    const value = compileExpr(compiler, node.value, level)
    const assign = compileTarget(compiler, node.target, level)
    return (frame) => assign(frame, value(frame))
  },
  setblock: compileSetBlock,
  with: compileWith,
  macro: compileMacro,
  callblock: compileCallBlock,
  filterblock: compileFilterBlock,
  autoescape: compileAutoescape,
  block: compileBlock,
  extends: compileExtends,
  include: compileInclude,
  import: compileImport,
  from: compileFromImport,
}

function compileOutput(compiler: Compiler, node: Output, level: Level): Action {
  if (level.checkOutput && compiler.knownExtends) {
    // Compiled all the same: an unknown filter is a fault even where nothing is written.
    return NOTHING
  }
  const write = compileWrite(compiler, node, level)
  if (!level.checkOutput) return write
  const { parentSlot } = compiler
  return (frame) => {
    if (rootSlot(frame, parentSlot) === undefined) write(frame)
  }
}

/** The parent template, kept in the root's frame, seen from a routine inside it. */
function rootSlot(frame: { up: unknown; slots: unknown[] }, slot: number): unknown {
  let root = frame as { up: { up: unknown; slots: unknown[] } | undefined; slots: unknown[] }
  while (root.up) root = root.up as typeof root
  return root.slots[slot]
}

/** Text and expressions in turn, joined first so that the output grows once. */
function compileWrite(compiler: Compiler, node: Output, level: Level): Action {
  const convert = textMaker(level.escape)
  const plain = level.escape === 'off'
  const codes: Code[] = []
  const places: Place[] = []
  // The text before the first expression, then the text after each.
  const texts = ['']
  for (const item of node.items) {
    if (typeof item === 'string') texts[texts.length - 1] += item
    else {
      codes.push(compileExpr(compiler, item, isFolded(item) ? { ...level, folded: true } : level))
      places.push(placeOf(compiler, item.at))
      texts.push('')
    }
  }
  const [head] = texts
  if (codes.length === 0) return (frame) => frame.run.write(head!)
  if (codes.length === 1) {
    const [code] = codes
    const [place] = places
    const tail = texts[1]!
    return (frame) => {
      const { run } = frame
      const value = code!(frame)
      run.at = place
      run.write(head! + (plain && typeof value === 'string' ? value : convert(frame, value)) + tail)
    }
  }
  return (frame) => {
    const { run } = frame
    let text = head!
    for (let i = 0; i < codes.length; i++) {
      const value = codes[i]!(frame)
      run.at = places[i]
      text += plain && typeof value === 'string' ? value : convert(frame, value)
      text += texts[i + 1]!
    }
    run.write(text)
  }
}

type TextMaker = (frame: Parameters<Code>[0], value: ReturnType<Code>) => string

/** How values become output, decided when compiling as far as it can be. */
function textMaker(escape: Escape): TextMaker {
  if (escape === 'off') return (frame, value) => (typeof value === 'string' ? value : str(frame.run, value))
  if (escape === 'on') return (frame, value) => escaped(frame.run, value)
  return (frame, value) => (frame.escape.on ? escaped(frame.run, value) : str(frame.run, value))
}

function compileIf(compiler: Compiler, node: If, outer: Level): Action {
  // No scope of its own: what is set inside an `if` stays set behind it.
  const level = { ...outer, rootlevel: false, soft: true }
  const branches = node.branches.map(({ test, body }) => ({
    test: compileCondition(compiler, test, level),
    body: compileBody(compiler, body, level),
  }))
  const otherwise = compileBody(compiler, node.otherwise, level)
  // The usual `if` without `elif` needs no loop.
  const [first] = branches
  if (branches.length === 1) {
    const { test, body } = first!
    return (frame) => (test(frame) ? body(frame) : otherwise(frame))
  }
  return (frame) => {
    for (const { test, body } of branches) if (test(frame)) return body(frame)
    return otherwise(frame)
  }
}

function compileSetBlock(compiler: Compiler, node: SetBlock, level: Level): Action {
  const inner = innerLevel(level, { checkOutput: false })
  inner.scope.visitAll(node.body)
  if (node.filter) inner.scope.visitExpr(node.filter)
  const enter = enterScope(compiler, inner.scope) ?? NOTHING
  const body = compileBody(compiler, node.body, inner)
  const assign = compileTarget(compiler, node.target, level)
  const text = capture(body)
  const value: Code = node.filter
    ? compileFilter(compiler, node.filter, inner, marked(text, inner.escape))
    : text
  return (frame) => {
    enter(frame)
    const result = value(frame)
    assign(frame, frame.escape.on ? new Markup(textOf(result) ?? str(frame.run, result)) : result)
  }
}

/** Runs a body for its text. */
function capture(body: Action): Code {
  return (frame) => {
    const outer = frame.run.capture()
    body(frame)
    return frame.run.release(outer)
  }
}

/** Text that filters get as Markup while output is being escaped. */
function marked(text: Code, escape: Escape): Code {
  if (escape === 'off') return text
  return (frame) => {
    const value = text(frame)
    return escape === 'on' || frame.escape.on ? new Markup(value as string) : value
  }
}

function compileWith(compiler: Compiler, node: Statement & { kind: 'with' }, level: Level): Action {
  const inner = innerLevel(level)
  for (const target of node.targets) inner.scope.visitTarget(target, true)
  inner.scope.visitAll(node.body)
  // In the outer scope: the variables do not see each other.
  const values = node.values.map((value) => compileExpr(compiler, value, level))
  const assigns = node.targets.map((target) => compileTarget(compiler, target, inner))
  const enter = enterScope(compiler, inner.scope) ?? NOTHING
  const body = compileBody(compiler, node.body, inner)
  return (frame) => {
    enter(frame)
    for (let i = 0; i < values.length; i++) assigns[i]!(frame, values[i]!(frame))
    body(frame)
  }
}

function compileFilterBlock(
  compiler: Compiler,
  node: Statement & { kind: 'filterblock' },
  level: Level,
): Action {
  const inner = innerLevel(level)
  inner.scope.visitAll(node.body)
  inner.scope.visitExpr(node.filter)
  const enter = enterScope(compiler, inner.scope) ?? NOTHING
  const text = marked(capture(compileBody(compiler, node.body, inner)), level.escape)
  const filtered = compileFilter(compiler, node.filter, inner, text)
  return (frame) => {
    enter(frame)
    writeRaw(frame, filtered(frame))
  }
}

/** Writes what must be text already: the result of a filter block or call block. */
function writeRaw(frame: Parameters<Code>[0], value: ReturnType<Code>): void {
  const text = textOf(value)
  if (text === undefined) throw new Fault('TypeError', `expected str instance, ${typeName(value)} found`)
  frame.run.write(text)
}

function compileAutoescape(
  compiler: Compiler,
  node: Statement & { kind: 'autoescape' },
  outer: Level,
): Action {
  const scoped = innerLevel(outer)
  scoped.scope.visitExpr(node.on)
  scoped.scope.visitAll(node.body)
  const on = compileExpr(compiler, node.on, scoped)
  const known: Escape = node.on.kind === 'const' ? (node.on.value ? 'on' : 'off') : 'dynamic'
  const enter = enterScope(compiler, scoped.scope) ?? NOTHING
  const body = compileBody(compiler, node.body, { ...scoped, escape: known })
  return (frame) => {
    enter(frame)
    const before = frame.escape.on
    frame.escape.on = truth(frame.run, on(frame))
    body(frame)
    frame.escape.on = before
  }
}
