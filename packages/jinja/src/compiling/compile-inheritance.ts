/** Blocks, and other templates: extends, include and import, all through the loader given. */
import type { Block, FromImport, Import, Include, Statement } from '../reading/ast.ts'
import { compileExpr } from './compile-expressions.ts'
import { placeOf, reader, writer, type Action, type Compiler, type Level } from './compiler.ts'
import { each } from '../python/iterate.ts'
import { Fault, type Place } from '../limits.ts'
import { fixedNames, Module, newContext, type Context, type Frame, type Program } from '../runtime.ts'
import { Scope } from '../reading/scope.ts'
import { Tuple, textOf, typeName, Undefined, type Thing, type Value } from '../values.ts'

/** The place of a block: runs whichever template's body is the innermost. */
export function compileBlock(compiler: Compiler, node: Block, level: Level): Action {
  const at = placeOf(compiler, node.at)
  // What this template writes no longer counts; the parent has the place of the block.
  if (level.toplevel && compiler.knownExtends) return () => undefined
  const locals = node.scoped ? visibleLocals(level) : undefined
  const run: Action = (frame) => {
    const { context, run } = frame
    const bodies = context.blocks.get(node.name)!
    run.at = at
    if (node.required && bodies.length <= 1) {
      throw new Fault('TemplateRuntimeError', `Required block '${node.name}' not found`)
    }
    run.enter()
    run.tick(1)
    bodies[0]!(locals ? context.derived(locals(frame)) : context, run)
    run.leave()
  }
  if (!level.toplevel || compiler.extendsSoFar === 0) return run
  const { parentSlot } = compiler
  return (frame) => {
    if (frame.slots[parentSlot] === undefined) run(frame)
  }
}

/** The variables in sight, for contexts that are to see them. */
function visibleLocals(level: Level): (frame: Frame) => Map<string, Value> {
  const readers = [...level.scope.visible()].map(([name, ref]) => ({
    name,
    read: reader(level.routine, ref),
  }))
  return (frame) => {
    const locals = new Map<string, Value>()
    for (const { name, read } of readers) {
      const value = read(frame)
      if (value !== undefined) locals.set(name, value)
    }
    return locals
  }
}

/** `{% extends … %}`: from here on this template only supplies blocks. */
export function compileExtends(
  compiler: Compiler,
  node: Statement & { kind: 'extends' },
  level: Level,
): Action {
  if (!level.toplevel) {
    throw new Fault('TemplateSyntaxError', 'cannot use extend from a non top-level scope', node.at)
  }
  const at = placeOf(compiler, node.at)
  const name = compileExpr(compiler, node.template, level)
  const { parentSlot } = compiler
  const certain = compiler.knownExtends
  // Inside an `if` it is only known at run time whether this template has a parent.
  if (level.rootlevel) compiler.knownExtends = true
  compiler.extendsSoFar++
  return (frame) => {
    if (certain || frame.slots[parentSlot] !== undefined) {
      frame.run.at = at
      throw new Fault('TemplateRuntimeError', 'extended multiple times')
    }
    const value = name(frame)
    frame.run.at = at
    const program = find(compiler, value)
    const { blocks } = frame.context
    // Behind the child's: the first body runs, and each next one is its `super()`.
    for (const [block, body] of program.blocks) {
      const bodies = blocks.get(block)
      if (bodies) bodies.push(body)
      else blocks.set(block, [body])
    }
    frame.slots[parentSlot] = new Parent(program)
  }
}

/** The parent template, where a value is expected. */
export class Parent implements Thing {
  readonly type = 'Template'
  readonly program: Program

  constructor(program: Program) {
    this.program = program
  }
}

/** `{% include … %}`. */
export function compileInclude(compiler: Compiler, node: Include, level: Level): Action {
  const at = placeOf(compiler, node.at)
  const name = compileExpr(compiler, node.template, level)
  const locals = visibleLocals(level)
  return (frame) => {
    const { run, context } = frame
    const value = name(frame)
    run.at = at
    const program = findAny(compiler, value, frame, node.ignoreMissing)
    if (!program) return
    run.tick(1)
    if (!node.withContext) {
      run.write(moduleOf(program, frame).text)
      return
    }
    run.enter()
    program.root(newContext(program, fixedNames(context.all(), locals(frame)), context.shared), run)
    run.leave()
  }
}

/** `{% import … as name %}`. */
export function compileImport(compiler: Compiler, node: Import, level: Level): Action {
  const load = compileModule(compiler, node, level)
  const write = writer(level.scope.findRef(node.target)!)
  return (frame) => {
    const module = load(frame)
    write(frame, module)
    if (!level.toplevel) return
    frame.context.vars.set(node.target, module)
    // What was imported is not handed on to those who import this template.
    frame.context.exported.delete(node.target)
  }
}

/** `{% from … import names %}`. */
export function compileFromImport(compiler: Compiler, node: FromImport, level: Level): Action {
  const load = compileModule(compiler, node, level)
  const writers = node.names.map(({ alias }) => writer(level.scope.findRef(alias)!))
  return (frame) => {
    const module = load(frame)
    node.names.forEach(({ name, alias }, index) => {
      const found = module.attribute(name)
      const value: Value =
        found === undefined
          ? new Undefined(`the template '${module.label}' does not export the requested name '${name}'`)
          : found
      writers[index]!(frame, value)
      if (!level.toplevel) return
      frame.context.vars.set(alias, value)
      frame.context.exported.delete(alias)
    })
  }
}

function compileModule(
  compiler: Compiler,
  node: Import | FromImport,
  level: Level,
): (frame: Frame) => Module {
  const at: Place = placeOf(compiler, node.at)
  const name = compileExpr(compiler, node.template, level)
  const locals = visibleLocals(level)
  return (frame) => {
    const value = name(frame)
    frame.run.at = at
    const program = find(compiler, value)
    frame.run.tick(1)
    if (!node.withContext) return moduleOf(program, frame)
    const names = fixedNames(frame.context.all(), locals(frame))
    return evaluate(program, newContext(program, names, frame.context.shared), frame)
  }
}

/** A module without context: evaluated once in a rendering. */
function moduleOf(program: Program, frame: Frame): Module {
  const { shared } = frame.context
  const known = shared.modules.get(program)
  if (known) return known
  const module = evaluate(program, newContext(program, fixedNames(shared.globals), shared), frame)
  shared.modules.set(program, module)
  return module
}

/** Runs a template for what it defines; its text is kept too, because a module prints as it. */
function evaluate(program: Program, context: Context, frame: Frame): Module {
  const { run } = frame
  const before = run.capture()
  run.enter()
  program.root(context, run)
  run.leave()
  return new Module(program.name ?? 'None', run.release(before), context)
}

function find(compiler: Compiler, name: Value): Program {
  if (name instanceof Undefined) return name.fail()
  const text = textOf(name)
  if (!compiler.load) throw new Fault('TypeError', 'no loader for this environment specified')
  if (text === undefined)
    throw new Fault('TypeError', `a template name must be a string, not ${typeName(name)}`)
  const program = compiler.load(text)
  if (!program) throw new Fault('TemplateNotFound', `template not found: ${text}`)
  return program
}

/** The first template of several names that there is. */
function findAny(
  compiler: Compiler,
  names: Value,
  frame: Frame,
  ignoreMissing: boolean,
): Program | undefined {
  if (names instanceof Undefined) names.fail()
  // A list of names is tried in order, and so is a single one that may be missing.
  const several = Array.isArray(names) || names instanceof Tuple
  if (!several && !ignoreMissing) return find(compiler, names)
  if (!compiler.load) throw new Fault('TypeError', 'no loader for this environment specified')
  for (const name of several ? each(frame.run, names) : [names]) {
    const program = name instanceof Undefined ? undefined : compiler.load(textOf(name) ?? '')
    if (program) return program
  }
  if (ignoreMissing) return undefined
  throw new Fault('TemplateNotFound', 'none of the templates given were found')
}

/** A scope with no outer one: what the root and each block start from. */
export function freshScope(): Scope {
  return new Scope({ parent: undefined, size: 0 }, undefined)
}
