/** Macros, and call blocks, whose bodies are macros too. */
import type { CallBlock, MacroNode } from '../reading/ast.ts'
import { compileCall } from './compile-calls.ts'
import { compileExpr } from './compile-expressions.ts'
import { compileTarget } from './compile-target.ts'
import {
  enterScope,
  innerLevel,
  placeOf,
  writer,
  type Action,
  type Code,
  type Compiler,
  type Level,
} from './compiler.ts'
import { Fault } from '../limits.ts'
import { Macro, type MacroShape } from '../macro.ts'
import { Frame } from '../runtime.ts'
import type { Ref, Routine } from '../reading/scope.ts'
import { textOf, typeName, Undefined, type Value } from '../values.ts'
import { undeclared, weightOf } from '../reading/walk.ts'

/** `{% macro name(…) %}`. */
export function compileMacro(compiler: Compiler, node: MacroNode, level: Level): Action {
  const make = compileMacroBody(compiler, node, node.name, level)
  const assign = compileTarget(compiler, { kind: 'name', name: node.name, at: node.at }, level)
  return (frame) => assign(frame, make(frame))
}

/** `{% call(…) macro(…) %}`: the body goes along as `caller`. */
export function compileCallBlock(compiler: Compiler, node: CallBlock, level: Level): Action {
  const caller: Code = compileMacroBody(compiler, node, undefined, level)
  const at = placeOf(compiler, node.call.at)
  const call = compileCall(compiler, node.call, level, caller)
  return (frame) => {
    const value = call(frame)
    const text = textOf(value)
    frame.run.at = at
    if (text === undefined) throw new Fault('TypeError', `expected str instance, ${typeName(value)} found`)
    frame.run.write(text)
  }
}

function compileMacroBody(
  compiler: Compiler,
  node: MacroNode | CallBlock,
  name: string | undefined,
  outer: Level,
): (frame: Frame) => Macro {
  const routine: Routine = { parent: outer.routine, size: 0 }
  const level = innerLevel(outer, { routine, checkOutput: false })
  const { scope } = level
  for (const param of node.params) scope.declare(param.name)
  for (const value of node.defaults) scope.visitExpr(value)
  scope.visitAll(node.body)

  // Only what the body names: a macro without `kwargs` refuses arguments that it does not know.
  const special = undeclared(node.body, ['caller', 'kwargs', 'varargs'])
  const params = node.params.map((param) => param.name)
  const refs: Ref[] = params.map((param) => scope.findRef(param)!)
  if (special.has('caller')) refuseCallerWithoutDefault(node, params)
  const usesCaller = special.has('caller')
  if (usesCaller && !params.includes('caller')) refs.push(scope.declare('caller'))
  const usesKwargs = special.has('kwargs') && !params.includes('kwargs')
  if (usesKwargs) refs.push(scope.declare('kwargs'))
  const usesVarargs = special.has('varargs') && !params.includes('varargs')
  if (usesVarargs) refs.push(scope.declare('varargs'))

  const shape: MacroShape = { name, params, usesCaller, usesKwargs, usesVarargs }
  const enter = enterScope(compiler, scope)
  const missing = params.length - node.defaults.length
  const fill = params.map((param, index) =>
    fillParameter(compiler, node, level, refs[index]!, param, index - missing),
  )
  const body = compiler.body(node.body, level)
  const weight = weightOf(node.body) + 1

  return (definer) =>
    new Macro(shape, (values: (Value | undefined)[], run) => {
      run.enter()
      run.tick(weight)
      // The body writes as usual; what it wrote is the macro's value.
      const before = run.capture()
      const frame = new Frame(routine.size, definer, definer.context, run)
      for (let i = 0; i < refs.length; i++) frame.slots[refs[i]!.slot] = values[i]
      enter?.(frame)
      for (const step of fill) step(frame)
      body(frame)
      const text = run.release(before)
      run.leave()
      return text
    })
}

/** What a parameter is when it was not given: its default, or an undefined that says so. */
function fillParameter(
  compiler: Compiler,
  node: MacroNode | CallBlock,
  level: Level,
  ref: Ref,
  name: string,
  defaultIndex: number,
): Action {
  const write = writer(ref)
  const node_ = node.defaults[defaultIndex]
  const missing = new Undefined(`parameter '${name}' was not provided`)
  const value: Code = node_ ? compileExpr(compiler, node_, level) : () => missing
  return (frame) => {
    if (frame.slots[ref.slot] === undefined) write(frame, value(frame))
  }
}

function refuseCallerWithoutDefault(node: MacroNode | CallBlock, params: readonly string[]): void {
  const index = params.indexOf('caller')
  if (index >= 0 && index < params.length - node.defaults.length) {
    throw new Fault(
      'TemplateSyntaxError',
      'When defining macros or call blocks the special "caller" argument must be omitted or be given a default.',
      node.at,
    )
  }
}
