/** What exists while a template runs: contexts, the frames of its routines, and modules. */
import type { Run } from './limits.ts'
import type { Env, Escaping, Thing, Value } from './values.ts'

/** Where a context finds what the template did not set itself. */
export interface Names {
  get(name: string): Value | undefined
  all(): Map<string, Value>
}

/** A block's body, run in a context. */
export type BlockBody = (context: Context, run: Run) => void

/** A compiled template as others include, import and extend it. */
export interface Program {
  readonly name: string | undefined
  readonly blocks: ReadonlyMap<string, BlockBody>
  readonly autoescape: boolean
  root(context: Context, run: Run): void
}

/** What all contexts of one rendering have in common. */
export interface Shared {
  /** What every template sees. */
  readonly globals: Map<string, Value>
  /** Templates imported without context, evaluated once. */
  readonly modules: Map<Program, Module>
}

/** The variables of one template in one rendering: what it was given, and what its top level sets. */
export class Context {
  readonly name: string | undefined
  readonly parent: Names
  readonly vars = new Map<string, Value>()
  /** Names another template may import. */
  readonly exported = new Set<string>()
  readonly blocks: Map<string, BlockBody[]>
  readonly escape: Escaping
  readonly shared: Shared

  constructor(
    name: string | undefined,
    parent: Names,
    blocks: Map<string, BlockBody[]>,
    escape: Escaping,
    shared: Shared,
  ) {
    this.name = name
    this.parent = parent
    this.blocks = blocks
    this.escape = escape
    this.shared = shared
  }

  /** What a name means to a template that does not set it in the scope at hand. */
  resolve(name: string): Value | undefined {
    const own = this.vars.get(name)
    return own === undefined ? this.parent.get(name) : own
  }

  /** Everything in sight, for templates that are included or imported with context. */
  all(): Map<string, Value> {
    const all = new Map(this.parent.all())
    for (const [name, value] of this.vars) all.set(name, value)
    return all
  }

  /** An independent context of the same template that also sees some local variables. */
  derived(locals: Map<string, Value>): Context {
    const blocks = new Map([...this.blocks].map(([name, bodies]) => [name, bodies.slice()]))
    return new Context(this.name, fixedNames(this.all(), locals), blocks, this.escape, this.shared)
  }
}

/** A context for a whole program. */
export function newContext(program: Program, parent: Names, shared: Shared): Context {
  const blocks = new Map([...program.blocks].map(([name, body]) => [name, [body]]))
  return new Context(program.name, parent, blocks, { on: program.autoescape }, shared)
}

/** Names known beforehand; later maps win. */
export function fixedNames(...maps: Map<string, Value>[]): Names {
  const all = maps.length === 1 ? maps[0]! : new Map(maps.flatMap((map) => [...map]))
  return { get: (name) => all.get(name), all: () => all }
}

/** The slots of one running routine, and all it needs at hand. */
export class Frame implements Env {
  readonly slots: (Value | undefined)[]
  readonly up: Frame | undefined
  readonly context: Context
  readonly run: Run
  readonly escape: Escaping

  constructor(size: number, up: Frame | undefined, context: Context, run: Run) {
    // Filled one by one: an array with holes is slower to read.
    const slots: (Value | undefined)[] = []
    for (let i = 0; i < size; i++) slots.push(undefined)
    this.slots = slots
    this.up = up
    this.context = context
    this.run = run
    this.escape = context.escape
  }
}

/** A template that was imported: its macros and top-level variables. */
export class Module implements Thing {
  readonly type = 'TemplateModule'
  readonly text: string
  private readonly name: string
  private readonly members: Map<string, Value>

  constructor(name: string, text: string, context: Context) {
    this.name = name
    this.text = text
    this.members = new Map([...context.exported].map((member) => [member, context.vars.get(member)!]))
  }

  attribute(name: string): Value | undefined {
    return this.members.get(name)
  }

  html(): string {
    return this.text
  }

  show(): string {
    return this.text
  }

  /** The name as messages show it. */
  get label(): string {
    return this.name
  }
}
