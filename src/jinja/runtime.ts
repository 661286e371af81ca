/** What exists while a template runs: contexts, frames, and the objects only Jinja2 has. */
import { native, variadic } from './binding.ts'
import { Bound } from './bound.ts'
import { equals } from './compare.ts'
import { sizeOf } from './iterate.ts'
import { Fault, type Run } from './limits.ts'
import { repr, reprText } from './repr.ts'
import {
  Dict,
  Markup,
  Tuple,
  Undefined,
  type Env,
  type Escaping,
  type Iter,
  type Kwargs,
  type Thing,
  type Value,
} from './values.ts'

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

  resolve(name: string): Value | undefined {
    const own = this.vars.get(name)
    return own === undefined ? this.parent.get(name) : own
  }

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
    const slots: (Value | undefined)[] = []
    for (let i = 0; i < size; i++) slots.push(undefined)
    this.slots = slots
    this.up = up
    this.context = context
    this.run = run
    this.escape = context.escape
  }
}

/** What a macro is made of; `body` gets the parameters, then caller, kwargs and varargs as far as used. */
export interface MacroShape {
  readonly name: string | undefined
  readonly params: readonly string[]
  readonly usesCaller: boolean
  readonly usesKwargs: boolean
  readonly usesVarargs: boolean
}

/** A macro, or the body of a `call` block. */
export class Macro implements Thing {
  readonly type = 'Macro'
  readonly shape: MacroShape
  private readonly body: (values: (Value | undefined)[], run: Run) => string

  constructor(shape: MacroShape, body: (values: (Value | undefined)[], run: Run) => string) {
    this.shape = shape
    this.body = body
  }

  call(env: Env, args: Value[], kwargs: Kwargs | undefined): Value {
    const text = this.body(this.bind(args, kwargs), env.run)
    return env.escape.on ? new Markup(text) : text
  }

  private bind(args: Value[], given: Kwargs | undefined): (Value | undefined)[] {
    const { params, usesCaller, usesKwargs, usesVarargs } = this.shape
    const simple = given === undefined && args.length === params.length
    if (simple && !usesCaller && !usesKwargs && !usesVarargs) return args
    const values: (Value | undefined)[] = args.slice(0, params.length)
    const kwargs = given && new Map(given)
    let callerTaken = params.length === args.length ? params.includes('caller') : false
    for (const name of params.slice(values.length)) {
      values.push(kwargs?.get(name))
      kwargs?.delete(name)
      if (name === 'caller') callerTaken = true
    }
    if (usesCaller && !callerTaken) {
      values.push(kwargs?.get('caller') ?? new Undefined('No caller defined'))
      kwargs?.delete('caller')
    }
    if (usesKwargs) {
      const rest = new Dict()
      for (const [name, value] of kwargs ?? []) rest.set(name, value)
      values.push(rest)
    } else if (kwargs && kwargs.size > 0) this.tooMany(kwargs)
    if (usesVarargs) values.push(new Tuple(args.slice(params.length)))
    else if (args.length > params.length) {
      throw new Fault('TypeError', `macro ${this.label()} takes not more than ${params.length} argument(s)`)
    }
    return values
  }

  private tooMany(kwargs: Kwargs): never {
    const message = kwargs.has('caller')
      ? 'was invoked with two values for the special caller argument'
      : `takes no keyword argument '${[...kwargs.keys()][0]}'`
    throw new Fault('TypeError', `macro ${this.label()} ${message}`)
  }

  private label(): string {
    return this.shape.name === undefined ? 'None' : `'${this.shape.name}'`
  }

  attribute(name: string): Value | undefined {
    const { shape } = this
    if (name === 'name') return shape.name ?? null
    if (name === 'arguments') return new Tuple([...shape.params])
    if (name === 'catch_kwargs') return shape.usesKwargs
    if (name === 'catch_varargs') return shape.usesVarargs
    if (name === 'caller') return shape.usesCaller
    return name === 'explicit_caller' ? shape.params.includes('caller') : undefined
  }

  show(): string {
    return `<Macro ${this.shape.name === undefined ? 'anonymous' : reprText(this.shape.name)}>`
  }
}

const cycle = variadic((_env, self, args) => {
  if (args.length === 0) throw new Fault('TypeError', 'no items for cycling given')
  return args[(self as LoopState).index0 % args.length]!
})
const changed = variadic((env, self, args) => (self as LoopState).changed(env.run, args))

/** The `loop` of a running `for`; also what it iterates with, one item ahead when asked. */
export class LoopState implements Thing {
  readonly type = 'LoopContext'
  index0 = -1
  readonly depth0: number
  private readonly run: Run
  private readonly iterable: Value | undefined
  private source: Iter
  private readonly recurse: ((iterable: Value, depth: number) => Value) | undefined
  private length: number | undefined
  private before: Value | undefined
  private current: Value | undefined
  private after: Value | undefined
  private last: Value[] | undefined

  /** `iterable` is given when its length may be asked for; otherwise the source is drained for it. */
  constructor(
    run: Run,
    source: Iter,
    iterable: Value | undefined,
    recurse?: (iterable: Value, depth: number) => Value,
    depth0 = 0,
  ) {
    this.run = run
    this.source = source
    this.iterable = iterable
    this.recurse = recurse
    this.depth0 = depth0
  }

  next(): Value | undefined {
    const item = this.after ?? this.fetch()
    if (item === undefined) return undefined
    this.after = undefined
    this.index0++
    this.before = this.current
    this.current = item
    return item
  }

  private fetch(): Value | undefined {
    return this.after === null ? null : this.source.next()
  }

  private peek(): Value | undefined {
    if (this.after === undefined) this.after = this.source.next()
    return this.after
  }

  size(): number {
    if (this.length !== undefined) return this.length
    const size = this.iterable === undefined ? undefined : sizeOf(this.run, this.iterable)
    if (size !== undefined) return (this.length = size)
    const rest: Value[] = []
    for (let item = this.source.next(); item !== undefined; item = this.source.next()) rest.push(item)
    this.run.items(rest.length)
    let place = 0
    this.source = { next: () => rest[place++] }
    return (this.length = rest.length + this.index0 + 1 + (this.after === undefined ? 0 : 1))
  }

  changed(run: Run, values: Value[]): boolean {
    const last = this.last
    if (last && equals(run, new Tuple(last), new Tuple(values))) return false
    this.last = values
    return true
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return this.index0 + 1
      case 'index0':
        return this.index0
      case 'first':
        return this.index0 === 0
      case 'last':
        return this.peek() === undefined
      case 'length':
        return this.size()
      case 'revindex':
        return this.size() - this.index0
      case 'revindex0':
        return this.size() - this.index0 - 1
      case 'depth':
        return this.depth0 + 1
      case 'depth0':
        return this.depth0
      case 'previtem':
        return this.index0 === 0 || this.before === undefined
          ? new Undefined('there is no previous item')
          : this.before
      case 'nextitem':
        return this.peek() ?? (this.after === null ? null : new Undefined('there is no next item'))
      case 'cycle':
        return new Bound(this, name, cycle)
      case 'changed':
        return new Bound(this, name, changed)
      default:
        return undefined
    }
  }

  call(_env: Env, args: Value[], kwargs: Kwargs | undefined): Value {
    const iterable = args[0] ?? kwargs?.get('iterable')
    if (iterable === undefined || args.length + (kwargs?.size ?? 0) !== 1) {
      throw new Fault('TypeError', 'loop() takes exactly one argument, the iterable')
    }
    if (!this.recurse) {
      throw new Fault('TypeError', "The loop must have the 'recursive' marker to be called recursively.")
    }
    return this.recurse(iterable, this.depth0 + 1)
  }

  iterate(): Iter {
    return { next: () => (this.next() === undefined ? undefined : new Tuple([this.current!, this])) }
  }

  show(): string {
    return `<LoopContext ${this.index0 + 1}/${this.size()}>`
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

  get label(): string {
    return this.name
  }
}

/** A block that can be called: what `super` and `self.name` are. */
export class BlockReference implements Thing {
  readonly type = 'BlockReference'
  private readonly name: string
  private readonly context: Context
  private readonly index: number

  constructor(name: string, context: Context, index: number) {
    this.name = name
    this.context = context
    this.index = index
  }

  call(env: Env): Value {
    const { run } = env
    const body = this.context.blocks.get(this.name)![this.index]!
    const outer = run.capture()
    run.enter()
    body(this.context, run)
    run.leave()
    const text = run.release(outer)
    return this.context.escape.on ? new Markup(text) : text
  }

  attribute(name: string): Value | undefined {
    if (name === 'super') return superBlock(this.context, this.name, this.index + 1)
    return name === 'name' ? this.name : undefined
  }
}

/** The block of this name that is so many templates further up; undefined there when there is none. */
export function superBlock(context: Context, name: string, index: number): Value {
  if ((context.blocks.get(name)?.length ?? 0) <= index) {
    return new Undefined(`there is no parent block called '${name}'.`)
  }
  return new BlockReference(name, context, index)
}

/** `self`: the blocks of the template by name. */
export class SelfReference implements Thing {
  readonly type = 'TemplateReference'
  private readonly context: Context

  constructor(context: Context) {
    this.context = context
  }

  item(key: Value): Value | undefined {
    return typeof key === 'string' && this.context.blocks.has(key)
      ? new BlockReference(key, this.context, 0)
      : undefined
  }

  show(): string {
    const { name } = this.context
    return `<TemplateReference ${name === undefined ? 'None' : reprText(name)}>`
  }
}

const next = native('/', (_env, self) => (self as Cycler).next())
const reset = native('/', (_env, self) => (self as Cycler).reset())

/** What `cycler(…)` makes. */
export class Cycler implements Thing {
  readonly type = 'Cycler'
  private readonly items: Value[]
  private place = 0

  constructor(items: Value[]) {
    this.items = items
  }

  next(): Value {
    const item = this.items[this.place]!
    this.place = (this.place + 1) % this.items.length
    return item
  }

  reset(): null {
    this.place = 0
    return null
  }

  attribute(name: string): Value | undefined {
    if (name === 'next') return new Bound(this, name, next)
    if (name === 'reset') return new Bound(this, name, reset)
    if (name === 'current') return this.items[this.place]!
    if (name === 'items') return new Tuple(this.items.slice())
    return name === 'pos' ? this.place : undefined
  }

  show(): string {
    return '<jinja2.utils.Cycler object at 0x7f0000000000>'
  }
}

/** What `joiner(…)` makes: nothing the first time, its separator from then on. */
export class Joiner implements Thing {
  readonly type = 'Joiner'
  private readonly separator: Value
  private used = false

  constructor(separator: Value) {
    this.separator = separator
  }

  call(): Value {
    if (this.used) return this.separator
    this.used = true
    return ''
  }

  attribute(name: string): Value | undefined {
    if (name === 'sep') return this.separator
    return name === 'used' ? this.used : undefined
  }

  show(): string {
    return '<jinja2.utils.Joiner object at 0x7f0000000000>'
  }
}

/** What `namespace(…)` makes: attributes that inner scopes may assign. */
export class Namespace implements Thing {
  readonly type = 'Namespace'
  readonly attributes: Dict

  constructor(attributes: Dict) {
    this.attributes = attributes
  }

  attribute(name: string): Value | undefined {
    return this.attributes.get(name)
  }

  show(run: Run): string {
    return `<Namespace ${repr(run, this.attributes)}>`
  }
}
