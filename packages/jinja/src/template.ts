/**
 * Jinja2 templates: compiled once, rendered many times, within bounds. A template is read into
 * a tree and the tree into closures over values of our own (`values.ts`); no code is generated
 * and nothing of the host can be reached.
 */
import { fromHost } from './arguments.ts'
import type { Block, Statement } from './reading/ast.ts'
import { freshScope, Parent } from './compiling/compile-inheritance.ts'
import { compileExpr } from './compiling/compile-expressions.ts'
import { compileBody } from './compiling/compile-statements.ts'
import { SelfReference, superBlock } from './block-references.ts'
import { enterScope, type Compiler, type Level } from './compiling/compiler.ts'
import { filters, tests } from './filters/table.ts'
import { globals } from './globals.ts'
import { normalize } from './reading/lexer.ts'
import { defaultLimits, Fault, Run, type Clock, type FaultKind, type Limits } from './limits.ts'
import { parse } from './reading/parse-statements.ts'
import { Frame, newContext, type BlockBody, type Context, type Names, type Program } from './runtime.ts'
import type { Value } from './values.ts'
import { undeclared, walk } from './reading/walk.ts'

/** A compiled template. */
export interface Template {
  readonly name: string
  /** Names the template uses and does not define, wherever they stand; the built-in functions left out. */
  readonly names: ReadonlySet<string>
  /**
   * The text for these arguments: plain data, with `Float` for a float such as 1.0, Maps for
   * dicts with keys of any kind, bigints. TemplateError when it fails or exceeds a limit.
   */
  render(args: Readonly<Record<string, unknown>>, limits?: Partial<Limits>, clock?: Clock): string
}

/** How to read a template; each has a default. */
export interface CompileOptions {
  /** What error messages call the template. */
  readonly name?: string
  /** Finds other templates for include, import and extends; without it they fail. */
  readonly loader?: (name: string) => Template | undefined
  /** Escape output for HTML. Off unless asked for. */
  readonly autoescape?: boolean
}

/** Where a template failed, and how. */
export interface TemplateFault {
  readonly name: string
  readonly line: number
  readonly column: number
  readonly kind: FaultKind
}

/** A template that cannot be read or rendered; the message has place, fault, line and caret, the cause the bare fault. */
export class TemplateError extends Error {
  readonly fault: TemplateFault

  constructor(message: string, fault: TemplateFault, cause: Error) {
    super(message, { cause })
    this.name = 'TemplateError'
    this.fault = fault
  }
}

/** The compiled side of each template, found again by loaders; kept out of the type that callers see. */
const programs = new WeakMap<Template, Program>()

/** Reads a template; TemplateError for the first mistake. */
export function compile(source: string, options: CompileOptions = {}): Template {
  const name = options.name ?? 'template'
  const text = normalize(source)
  const place = { name, text }
  try {
    const { program, names } = compileProgram(place, parse(text), options)
    const template: Template = {
      name,
      names,
      render: (args, limits, clock) =>
        render(program, place, args, { ...defaultLimits, ...limits }, clock ?? Date),
    }
    programs.set(template, program)
    return template
  } catch (error) {
    throw located(error, place, undefined)
  }
}

interface Source {
  readonly name: string
  readonly text: string
}

function compileProgram(
  source: Source,
  body: readonly Statement[],
  options: CompileOptions,
): { program: Program; names: ReadonlySet<string> } {
  // All blocks are known before anything is compiled: each is a body of its own, however deep it stands.
  const blocks = new Map<string, Block>()
  let hasExtends = false
  walk(body, {
    statement: (node) => {
      if (node.kind === 'extends') hasExtends = true
      if (node.kind !== 'block') return
      if (blocks.has(node.name)) {
        throw new Fault('TemplateSyntaxError', `block '${node.name}' defined twice`, node.at)
      }
      blocks.set(node.name, node)
    },
  })
  const scope = freshScope()
  const { loader } = options
  const compiler: Compiler = {
    source,
    filters,
    tests,
    globals,
    blocks: new Map<string, BlockBody>(),
    load: loader && ((name) => programOf(loader(name))),
    names: new Set(),
    hasExtends,
    extendsSoFar: 0,
    knownExtends: false,
    parentSlot: scope.routine.size++,
    body: (statements, level) => compileBody(compiler, statements, level),
    expr: (node, level) => compileExpr(compiler, node, level),
  }
  const level: Level = {
    scope,
    routine: scope.routine,
    escape: options.autoescape ? 'on' : 'off',
    toplevel: true,
    rootlevel: true,
    soft: false,
    checkOutput: hasExtends,
  }
  const root = compileRoot(compiler, body, level)
  const setAtTop = scope.stores
  for (const block of blocks.values()) compileBlockBody(compiler, block, level, setAtTop)
  const program: Program = {
    name: options.name,
    blocks: compiler.blocks,
    autoescape: options.autoescape ?? false,
    root,
  }
  return { program, names: compiler.names }
}

function programOf(template: Template | undefined): Program | undefined {
  return template && programs.get(template)
}

function compileRoot(compiler: Compiler, body: readonly Statement[], level: Level): Program['root'] {
  const { scope, routine } = level
  // Made only for templates that ask for it.
  const selfRef = undeclared(body, ['self']).has('self') ? scope.declare('self') : undefined
  scope.visitAll(body)
  const enter = enterScope(compiler, scope)
  const run = compiler.body(body, level)
  const { parentSlot } = compiler
  return (context, budget) => {
    const frame = new Frame(routine.size, undefined, context, budget)
    if (selfRef) frame.slots[selfRef.slot] = new SelfReference(context)
    enter?.(frame)
    run(frame)
    const parent = frame.slots[parentSlot]
    if (parent instanceof Parent) {
      budget.enter()
      parent.program.root(context, budget)
      budget.leave()
    }
  }
}

function compileBlockBody(
  compiler: Compiler,
  block: Block,
  rootLevel: Level,
  setAtTop: ReadonlySet<string>,
): void {
  const scope = freshScope()
  const { routine } = scope
  const special = undeclared(block.body, ['self', 'super'])
  const selfRef = special.has('self') ? scope.declare('self') : undefined
  const superRef = special.has('super') ? scope.declare('super') : undefined
  scope.visitAll(block.body)
  const level: Level = { ...rootLevel, scope, routine, toplevel: false, rootlevel: false, checkOutput: false }
  // What the top level sets is in the context by the time a block runs, so it need not come from outside.
  const before = new Set(compiler.names)
  const enter = enterScope(compiler, scope)
  const run = compiler.body(block.body, level)
  for (const name of setAtTop) if (!before.has(name)) compiler.names.delete(name)
  const body: BlockBody = (context, budget) => {
    const frame = new Frame(routine.size, undefined, context, budget)
    if (selfRef) frame.slots[selfRef.slot] = new SelfReference(context)
    if (superRef) {
      const index = context.blocks.get(block.name)?.indexOf(body) ?? -1
      frame.slots[superRef.slot] = superBlock(context, block.name, index + 1)
    }
    enter?.(frame)
    run(frame)
  }
  compiler.blocks.set(block.name, body)
}

function render(
  program: Program,
  source: Source,
  args: Readonly<Record<string, unknown>>,
  limits: Limits,
  clock: Clock,
): string {
  const run = new Run(limits, clock)
  try {
    const context: Context = newContext(program, argumentNames(args), { globals, modules: new Map() })
    program.root(context, run)
    // Any text is at most three bytes a UTF-16 unit, so only a long one needs counting.
    if (run.out.length * 3 > limits.outputBytes && Buffer.byteLength(run.out) > limits.outputBytes) {
      throw new Fault('LimitError', `the output is longer than ${limits.outputBytes} bytes`)
    }
    return run.out
  } catch (error) {
    throw located(error, source, run)
  }
}

/** Arguments, copied in as they are first asked for; the built-in functions behind them. */
function argumentNames(args: Readonly<Record<string, unknown>>): Names {
  const known = new Map<string, Value>()
  const get = (name: string): Value | undefined => {
    const found = known.get(name)
    if (found !== undefined) return found
    if (!Object.hasOwn(args, name) || args[name] === undefined) return globals.get(name)
    const value = fromHost(args[name], name)
    known.set(name, value)
    return value
  }
  return {
    get,
    all() {
      const all = new Map(globals)
      for (const name of Object.keys(args)) {
        const value = get(name)
        if (value !== undefined) all.set(name, value)
      }
      return all
    },
  }
}

/** Any failure as the one error that leaves here, with its place and a caret under it. */
function located(error: unknown, source: Source, run: Run | undefined): Error {
  const fault = asFault(error)
  if (!fault) return error instanceof Error ? error : new Error(String(error))
  // A fault of a rendering is where the run was last, which may be in an included template.
  const place = fault.offset === undefined && run?.at ? run.at.source : source
  const offset = fault.offset ?? run?.at?.offset ?? 0
  const before = place.text.slice(0, offset)
  const line = before.split('\n').length
  const column = offset - (before.lastIndexOf('\n') + 1) + 1
  const found: TemplateFault = { name: place.name, line, column, kind: fault.kind }
  const excerpt = excerptOf(place.text, offset)
  return new TemplateError(`${place.name}:${line}:${column}: ${fault.message}\n${excerpt}`, found, fault)
}

function asFault(error: unknown): Fault | undefined {
  if (error instanceof Fault) return error
  if (!(error instanceof RangeError)) return undefined
  // JavaScript's own bounds, should one be met before ours: the stack, or the length of a string.
  if (error.message.includes('call stack')) return new Fault('RecursionError', 'nested too deeply')
  return new Fault('LimitError', 'a value is too large')
}

const EXCERPT = 76

/** The line of an offset, cut to a readable width, with a caret under the offset. */
function excerptOf(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const end = text.indexOf('\n', offset)
  const line = text.slice(start, end < 0 ? undefined : end)
  const column = offset - start
  const from = Math.max(0, Math.min(column - EXCERPT / 2, line.length - EXCERPT))
  const shown = line.slice(from, from + EXCERPT).replaceAll('\t', ' ')
  return `  ${shown}\n  ${' '.repeat(column - from)}^`
}
