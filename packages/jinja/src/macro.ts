/** Macros as values: how a call's arguments meet the parameters. */
import { Fault, type Run } from './limits.ts'
import { reprText } from './python/repr.ts'
import { Dict, Markup, Tuple, Undefined, type Env, type Kwargs, type Thing, type Value } from './values.ts'

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
    // The usual call is handed on as it is.
    if (simple && !usesCaller && !usesKwargs && !usesVarargs) return args
    // In the order in which the compiled body has its slots: parameters, caller, kwargs, varargs.
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

  /** Why keyword arguments were left over, in Jinja2's words. */
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
