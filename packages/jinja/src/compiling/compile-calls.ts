/** Calls, filters and tests: arguments evaluated, then handed over in the cheapest way that is right. */
import type { Arguments, CallNode, Expr, FilterNode, TestNode } from '../reading/ast.ts'
import { invoke, type Native } from '../binding.ts'
import { placeOf, type Code, type Compiler, type Level } from './compiler.ts'
import { Fault } from '../limits.ts'
import { call, callMember, spread } from '../python/members.ts'
import { repr } from '../python/repr.ts'
import type { Frame } from '../runtime.ts'
import { charactersOf, Dict, typeName, type Kwargs, type Value } from '../values.ts'

/** A call of a macro, a method, a global: anything. */
export function compileCall(compiler: Compiler, node: CallNode, level: Level, caller?: Code): Code {
  const at = placeOf(compiler, node.at)
  const args = compilePositional(compiler, node.given, level)
  const kwargs = compileKwargs(compiler, node.given, level, caller)
  if (node.callee.kind === 'attribute') {
    const object = compiler.expr(node.callee.node, level)
    const { name } = node.callee
    return (frame) => {
      const value = object(frame)
      const given = args(frame)
      const named = kwargs?.(frame)
      // After the arguments, which have places of their own.
      frame.run.at = at
      frame.run.tick(1)
      return callMember(frame, value, name, given, named)
    }
  }
  const callee = compiler.expr(node.callee, level)
  return (frame) => {
    const value = callee(frame)
    const given = args(frame)
    const named = kwargs?.(frame)
    frame.run.at = at
    frame.run.tick(1)
    return call(frame, value, given, named)
  }
}

/** `value | name(…)`; a filter without a value is compiled by its block, which passes `subject`. */
export function compileFilter(compiler: Compiler, node: FilterNode, level: Level, subject?: Code): Code {
  const value = node.node ? inner(compiler, node.node, level, subject) : subject!
  return compileNative(compiler, compiler.filters, 'filter', node, level, value)
}

/** In a chain on a block, the innermost filter gets the block's text. */
function inner(compiler: Compiler, node: Expr, level: Level, subject: Code | undefined): Code {
  return subject && node.kind === 'filter'
    ? compileFilter(compiler, node, level, subject)
    : compiler.expr(node, level)
}

/** `value is name(…)`. */
export function compileTest(compiler: Compiler, node: TestNode, level: Level): Code {
  return compileNative(compiler, compiler.tests, 'test', node, level, compiler.expr(node.node, level))
}

function compileNative(
  compiler: Compiler,
  table: ReadonlyMap<string, Native>,
  what: 'filter' | 'test',
  node: FilterNode | TestNode,
  level: Level,
  value: Code,
): Code {
  const { name, given } = node
  const at = placeOf(compiler, node.at)
  const target = table.get(name)
  if (!target) {
    // Jinja2 refuses an unknown name at once, but inside an `if` only where it is reached.
    if (!level.soft) throw new Fault('TemplateSyntaxError', `No ${what} named '${name}'.`, node.at)
    return (frame) => {
      frame.run.at = at
      throw new Fault('TemplateRuntimeError', `No ${what} named '${name}' found.`)
    }
  }
  const direct = compileDirect(compiler, target, given, value, level, at)
  if (direct) return direct
  const args = compilePositional(compiler, given, level)
  const kwargs = compileKwargs(compiler, given, level)
  return (frame) => {
    const subject = value(frame)
    const positional = args(frame)
    const named = kwargs?.(frame)
    frame.run.at = at
    frame.run.tick(1)
    return invoke(frame, name, target, subject, positional, named)
  }
}

/** Arguments that are known to fit when compiling go straight to the function. */
function compileDirect(
  compiler: Compiler,
  target: Native,
  given: Arguments,
  value: Code,
  level: Level,
  at: Frame['run']['at'],
): Code | undefined {
  if (target.any || given.dynArgs || given.dynKwargs || given.args.length > target.params.length)
    return undefined
  const codes: (Code | undefined)[] = target.params.map((_, index) => {
    const arg = given.args[index]
    return arg && compiler.expr(arg, level)
  })
  for (const { name, value: node } of given.kwargs) {
    const index = target.params.indexOf(name)
    if (index < 0 || codes[index] || target.positional) return undefined
    codes[index] = compiler.expr(node, level)
  }
  if (codes.slice(0, target.required).some((code) => code === undefined)) return undefined
  // A gap in the middle stays: natives take undefined as "not given".
  while (codes.length > 0 && codes.at(-1) === undefined) codes.pop()
  const [a, b] = codes
  if (codes.length === 0) {
    return (frame) => {
      const subject = value(frame)
      frame.run.at = at
      charge(frame, subject)
      return target.fn(frame, subject)
    }
  }
  if (codes.length === 1) {
    return (frame) => {
      const subject = value(frame)
      const first = a!(frame)
      frame.run.at = at
      charge(frame, subject)
      return target.fn(frame, subject, first)
    }
  }
  if (codes.length === 2) {
    return (frame) => {
      const subject = value(frame)
      const first = a?.(frame)
      const second = b!(frame)
      frame.run.at = at
      charge(frame, subject)
      return target.fn(frame, subject, first, second)
    }
  }
  return (frame) => {
    const subject = value(frame)
    const args = codes.map((code) => code?.(frame))
    frame.run.at = at
    charge(frame, subject)
    return target.fn(frame, subject, ...args)
  }
}

/** What a call costs at least: a step, and going through its subject. */
function charge({ run }: Frame, subject: Value): void {
  run.tick(1)
  run.reads(charactersOf(subject))
}

function compilePositional(compiler: Compiler, given: Arguments, level: Level): (frame: Frame) => Value[] {
  const codes = given.args.map((arg) => compiler.expr(arg, level))
  const [a, b] = codes
  if (given.dynArgs) {
    const rest = compiler.expr(given.dynArgs, level)
    return (frame) => {
      const args = codes.map((code) => code(frame))
      spread(frame, args, rest(frame))
      return args
    }
  }
  if (codes.length === 0) return () => []
  if (codes.length === 1) return (frame) => [a!(frame)]
  if (codes.length === 2) return (frame) => [a!(frame), b!(frame)]
  return (frame) => codes.map((code) => code(frame))
}

function compileKwargs(
  compiler: Compiler,
  given: Arguments,
  level: Level,
  caller?: Code,
): ((frame: Frame) => Kwargs) | undefined {
  const pairs = given.kwargs.map(({ name, value }) => ({ name, code: compiler.expr(value, level) }))
  if (caller) pairs.push({ name: 'caller', code: caller })
  // Most calls have none: then no map is made for each.
  if (pairs.length === 0 && !given.dynKwargs) return undefined
  const rest = given.dynKwargs && compiler.expr(given.dynKwargs, level)
  return (frame) => {
    const kwargs: Kwargs = new Map()
    for (const { name, code } of pairs) kwargs.set(name, code(frame))
    if (rest) addKwargs(frame, kwargs, rest(frame))
    return kwargs
  }
}

function addKwargs(frame: Frame, kwargs: Kwargs, values: Value): void {
  if (!(values instanceof Dict)) {
    throw new Fault('TypeError', `argument after ** must be a mapping, not ${typeName(values)}`)
  }
  for (const [key, value] of values.pairs()) {
    if (typeof key !== 'string') throw new Fault('TypeError', 'keywords must be strings')
    if (kwargs.has(key)) {
      throw new Fault('TypeError', `got multiple values for keyword argument ${repr(frame.run, key)}`)
    }
    kwargs.set(key, value)
  }
}
