/** Loops: the plain kind goes straight through its items, the other keeps a `loop`. */
import type { For } from '../reading/ast.ts'
import { compileCondition, compileExpr } from './compile-expressions.ts'
import { compileTarget, type Assign } from './compile-target.ts'
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
import { each, iterate, Lazy } from '../python/iterate.ts'
import { Fault, type Place } from '../limits.ts'
import { LoopState } from '../loop-state.ts'
import { Frame } from '../runtime.ts'
import { Scope, type Routine } from '../reading/scope.ts'
import { undeclared, walk, weightOf } from '../reading/walk.ts'
import { Markup, type Value } from '../values.ts'

/** A loop, compiled piece by piece; `weight` is what one turn costs of the budget. */
interface Parts {
  readonly iterable: Code
  readonly filter: ((frame: Frame, iterable: Value) => Lazy) | undefined
  readonly assign: Assign
  readonly enter: Action | undefined
  readonly body: Action
  readonly otherwise: Action | undefined
  readonly weight: number
  readonly at: Place
}

/** A `for` loop. */
export function compileFor(compiler: Compiler, node: For, level: Level): Action {
  refuseLoopTarget(node)
  let scopedBlock = false
  walk([node], { block: (block) => (scopedBlock ||= block.scoped) || true })
  // A `loop` costs something at each item, so it is kept only where something reads it.
  const extended = node.recursive || scopedBlock || undeclared(node.body, ['loop']).has('loop')
  const routine: Routine = node.recursive ? { parent: level.routine, size: 0 } : level.routine
  const inner = innerLevel(level, { routine })
  const loopRef = extended ? inner.scope.declare('loop') : undefined
  inner.scope.visitTarget(node.target, true)
  inner.scope.visitAll(node.body)
  // Beside the loop, not inside: `else` sees none of its variables.
  const elseLevel: Level = { ...inner, scope: new Scope(routine, level.scope) }
  elseLevel.scope.visitAll(node.otherwise)
  const enterElse = enterScope(compiler, elseLevel.scope)
  const elseBody = compiler.body(node.otherwise, elseLevel)
  const parts: Parts = {
    iterable: compileExpr(compiler, node.iterable, level),
    filter: node.test && compileLoopFilter(compiler, node, level),
    assign: compileTarget(compiler, node.target, inner),
    enter: enterScope(compiler, inner.scope),
    body: compiler.body(node.body, inner),
    otherwise:
      node.otherwise.length === 0
        ? undefined
        : (frame) => {
            enterElse?.(frame)
            elseBody(frame)
          },
    weight: weightOf(node.body),
    at: placeOf(compiler, node.iterable.at),
  }
  if (!loopRef) return plainLoop(parts)
  const setLoop = writer(loopRef)
  return node.recursive ? recursiveLoop(parts, routine, setLoop, inner) : extendedLoop(parts, setLoop)
}

/** A target named `loop` would be overwritten by the loop itself. */
function refuseLoopTarget(node: For): void {
  walk([node], {
    store: (name, at) => {
      if (name === 'loop') {
        throw new Fault('TemplateSyntaxError', "Can't assign to special loop variable in for-loop target", at)
      }
    },
  })
}

/** The `if` of a loop runs as a generator of its own, so `loop` only sees what passes. */
function compileLoopFilter(
  compiler: Compiler,
  node: For,
  level: Level,
): (frame: Frame, iterable: Value) => Lazy {
  const routine: Routine = { parent: level.routine, size: 0 }
  const inner = innerLevel(level, { routine })
  inner.scope.visitTarget(node.target, true)
  inner.scope.visitExpr(node.test!)
  const enter = enterScope(compiler, inner.scope)
  const assign = compileTarget(compiler, node.target, inner)
  const test = compileCondition(compiler, node.test!, inner)
  return (outer, iterable) => {
    const frame = new Frame(routine.size, outer, outer.context, outer.run)
    return new Lazy('loop_filter', passing(frame))
    function* passing(frame: Frame): Generator<Value, undefined> {
      enter?.(frame)
      for (const item of each(frame.run, iterable)) {
        assign(frame, item)
        if (test(frame)) yield item
      }
      return undefined
    }
  }
}

function plainLoop({ iterable, filter, assign, enter, body, otherwise, weight, at }: Parts): Action {
  return (frame) => {
    const { run } = frame
    let value = iterable(frame)
    if (filter) value = filter(frame, value)
    run.at = at
    let any = false
    if (Array.isArray(value)) {
      // By index, so that items appended by the body are visited (and counted) as Python does.
      for (let i = 0; i < value.length; i++) {
        run.tick(weight)
        assign(frame, value[i]!)
        enter?.(frame)
        body(frame)
      }
      any = value.length > 0
    } else {
      const source = iterate(run, value)
      for (let item = source.next(); item !== undefined; item = source.next()) {
        any = true
        run.tick(weight)
        assign(frame, item)
        enter?.(frame)
        body(frame)
        // The next item may come out of a filter that fails: that is then a fault of the loop's head.
        run.at = at
      }
    }
    if (!any) otherwise?.(frame)
  }
}

/** Puts the state of a loop where its body looks for `loop`. */
type SetLoop = (frame: Frame, value: Value | undefined) => void

function extendedLoop(parts: Parts, setLoop: SetLoop): Action {
  return (frame) => {
    const value = parts.iterable(frame)
    frame.run.at = parts.at
    const state = loopState(parts, frame, value, undefined, 0)
    runLoop(parts, setLoop, frame, state)
  }
}

function loopState(
  { filter }: Parts,
  frame: Frame,
  value: Value,
  recurse: ((iterable: Value, depth: number) => Value) | undefined,
  depth: number,
): LoopState {
  if (filter) return new LoopState(frame.run, filter(frame, value), undefined, recurse, depth)
  return new LoopState(frame.run, iterate(frame.run, value), value, recurse, depth)
}

function runLoop(
  { assign, enter, body, otherwise, weight, at }: Parts,
  setLoop: SetLoop,
  frame: Frame,
  state: LoopState,
): void {
  const { run } = frame
  let any = false
  for (let item = state.next(); item !== undefined; item = state.next()) {
    any = true
    run.tick(weight)
    assign(frame, item)
    setLoop(frame, state)
    enter?.(frame)
    body(frame)
    run.at = at
  }
  if (!any) otherwise?.(frame)
}

/** Each level of a recursive loop is a routine of its own, whose text `loop(…)` returns. */
function recursiveLoop(parts: Parts, routine: Routine, setLoop: SetLoop, level: Level): Action {
  return (outer) => {
    const { run } = outer
    const render = (iterable: Value, depth: number): Value => {
      run.enter()
      const before = run.capture()
      const frame = new Frame(routine.size, outer, outer.context, run)
      const state = loopState(parts, outer, iterable, render, depth)
      runLoop(parts, setLoop, frame, state)
      const text = run.release(before)
      run.leave()
      return level.escape === 'on' || (level.escape === 'dynamic' && outer.escape.on)
        ? new Markup(text)
        : text
    }
    const value = parts.iterable(outer)
    run.at = parts.at
    const result = render(value, 0)
    run.write(result instanceof Markup ? result.text : (result as string))
  }
}
