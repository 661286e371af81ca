/** What the parts of the compiler share: the template being compiled, and where in it they are. */
import type { Expr, Statement } from '../reading/ast.ts'
import type { Native } from '../binding.ts'
import type { Place } from '../limits.ts'
import type { BlockBody, Frame, Program } from '../runtime.ts'
import { Scope, type Ref, type Routine } from '../reading/scope.ts'
import type { Value } from '../values.ts'

/** A compiled expression. */
export type Code = (frame: Frame) => Value
/** A compiled statement. */
export type Action = (frame: Frame) => void

/** Whether output is escaped: known when compiling, or only when running. */
export type Escape = 'on' | 'off' | 'dynamic'

/** Where in the template the compiler is. */
export interface Level {
  readonly scope: Scope
  readonly routine: Routine
  readonly escape: Escape
  /** Top level of the template, `if` included: what is set here is seen by blocks and importers. */
  readonly toplevel: boolean
  /** Top level, and not even inside an `if`. */
  readonly rootlevel: boolean
  /** Inside an `if`, where an unknown filter or test fails only when it is reached. */
  readonly soft: boolean
  /**
   * Inside what Jinja2 computes when compiling, where a slice of the wrong kind is undefined, not a
   * fault: true there, false where that has been ruled out, and absent where it is still open.
   */
  readonly folded?: boolean
  /** Output may have to be left out because the template extends another. */
  readonly checkOutput: boolean
}

/** A level for a scope inside this one, of the same routine or of one of its own. */
export function innerLevel(level: Level, change: Partial<Level> = {}): Level {
  const { routine } = { ...level, ...change }
  const scope = new Scope(routine, level.scope)
  return { ...level, scope, toplevel: false, rootlevel: false, soft: false, ...change }
}

/** One compilation. */
export interface Compiler {
  readonly source: { readonly name: string; readonly text: string }
  readonly filters: ReadonlyMap<string, Native>
  readonly tests: ReadonlyMap<string, Native>
  readonly globals: ReadonlyMap<string, Value>
  readonly blocks: Map<string, BlockBody>
  readonly load: ((name: string) => Program | undefined) | undefined
  /** Names that must come from outside. */
  readonly names: Set<string>
  readonly hasExtends: boolean
  /** How many `extends` have been compiled, and whether one of them certainly runs. */
  extendsSoFar: number
  knownExtends: boolean
  /** The slot of the root's frame that holds the parent template. */
  readonly parentSlot: number
  body(statements: readonly Statement[], level: Level): Action
  expr(node: Expr, level: Level): Code
}

/**
 * Where a fault of a node is reported: its source may be another template's than the one that is
 * rendered.
 */
export function placeOf(compiler: Compiler, at: number): Place {
  return { source: compiler.source, offset: at }
}

/** How many routines lie between the code and the variable it uses. */
function distance(routine: Routine, ref: Ref): number {
  let hops = 0
  for (let at: Routine | undefined = routine; at && at !== ref.routine; at = at.parent) hops++
  return hops
}

/** Reads a variable: undefined when it has no value. */
export function reader(routine: Routine, ref: Ref): (frame: Frame) => Value | undefined {
  const { slot } = ref
  const hops = distance(routine, ref)
  if (hops === 0) return (frame) => frame.slots[slot]
  if (hops === 1) return (frame) => frame.up!.slots[slot]
  return (frame) => {
    let owner = frame
    for (let i = 0; i < hops; i++) owner = owner.up!
    return owner.slots[slot]
  }
}

/** Writes a variable of the routine itself. */
export function writer(ref: Ref): (frame: Frame, value: Value | undefined) => void {
  const { slot } = ref
  return (frame, value) => {
    frame.slots[slot] = value
  }
}

/** Fills a scope's variables as it is entered. */
export function enterScope(compiler: Compiler, scope: Scope): Action | undefined {
  const steps: Action[] = []
  for (const [ref, load] of scope.loads) {
    if (load.how === 'parameter') continue
    const write = writer(ref)
    if (load.how === 'resolve') {
      const { name } = ref
      // What the template reads and never sets has to come with the arguments.
      if (!load.assigned && !compiler.globals.has(name)) compiler.names.add(name)
      steps.push((frame) => write(frame, frame.context.resolve(name)))
    } else if (load.how === 'alias') {
      const read = reader(scope.routine, load.from)
      steps.push((frame) => write(frame, read(frame)))
    } else steps.push((frame) => write(frame, undefined))
  }
  return sequence(steps)
}

/** Several actions as one; undefined for none. */
export function sequence(steps: readonly Action[]): Action | undefined {
  // The usual lengths are spelled out: a body is compiled once and run often.
  const [a, b, c] = steps
  if (steps.length < 2) return a
  if (steps.length === 2) {
    return (frame) => {
      a!(frame)
      b!(frame)
    }
  }
  if (steps.length === 3) {
    return (frame) => {
      a!(frame)
      b!(frame)
      c!(frame)
    }
  }
  return (frame) => {
    for (let i = 0; i < steps.length; i++) steps[i]!(frame)
  }
}
