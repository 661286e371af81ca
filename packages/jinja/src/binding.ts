/** Functions of our own that templates call: how arguments meet parameters. */
import { Fault } from './limits.ts'
import { charactersOf, type Env, type Kwargs, type Value } from './values.ts'

/** A native function that reads its arguments itself, for those with any number of them. */
export type AnyArguments = (env: Env, subject: Value, args: Value[], kwargs: Kwargs | undefined) => Value

/** A filter, test, method or global: its subject comes first, then its parameters (undefined = not given). */
export interface Native {
  readonly params: readonly string[]
  readonly required: number
  /** Parameters that cannot be given by name. */
  readonly positional: boolean
  /** Takes any arguments as they come, in place of `fn`. */
  readonly any: AnyArguments | undefined
  fn(env: Env, subject: Value, ...args: (Value | undefined)[]): Value
}

/**
 * Defines a native function. `spec` lists its parameters, `?` marks those that may be left out
 * and a final `/` says that none can be given by name: `'sep? maxsplit?'`, `'old new count? /'`.
 */
export function native(spec: string, fn: Native['fn']): Native {
  const words = spec.split(' ').filter((word) => word !== '')
  const positional = words.at(-1) === '/'
  if (positional) words.pop()
  return {
    params: words.map((word) => word.replace('?', '')),
    required: words.filter((word) => !word.endsWith('?')).length,
    positional,
    any: undefined,
    fn,
  }
}

/** Defines a native function that takes whatever arguments it is given. */
export function variadic(any: AnyArguments): Native {
  return {
    params: [],
    required: 0,
    positional: false,
    any,
    fn: (env, subject) => any(env, subject, [], undefined),
  }
}

/** Calls a native function by its name in messages. */
export function invoke(
  env: Env,
  name: string,
  target: Native,
  subject: Value,
  args: Value[],
  kwargs: Kwargs | undefined,
): Value {
  // Before the call: going through a long text is work even when little comes back.
  env.run.reads(charactersOf(subject))
  if (target.any) return target.any(env, subject, args, kwargs)
  if (kwargs !== undefined && kwargs.size > 0)
    return target.fn(env, subject, ...bind(name, target, args, kwargs))
  const count = args.length
  if (count < target.required || count > target.params.length) mismatch(name, target, count)
  // Spelled out, because most filters have few arguments and run in loops.
  switch (count) {
    case 0:
      return target.fn(env, subject)
    case 1:
      return target.fn(env, subject, args[0])
    case 2:
      return target.fn(env, subject, args[0], args[1])
    default:
      return target.fn(env, subject, ...args)
  }
}

/** The arguments in the order of the parameters. */
function bind(name: string, target: Native, args: Value[], kwargs: Kwargs): (Value | undefined)[] {
  if (target.positional) throw new Fault('TypeError', `${name}() takes no keyword arguments`)
  if (args.length > target.params.length) mismatch(name, target, args.length)
  const bound: (Value | undefined)[] = target.params.map((_, index) => args[index])
  for (const [key, value] of kwargs) {
    const index = target.params.indexOf(key)
    if (index < 0) throw new Fault('TypeError', `${name}() got an unexpected keyword argument '${key}'`)
    if (bound[index] !== undefined) {
      throw new Fault('TypeError', `${name}() got multiple values for argument '${key}'`)
    }
    bound[index] = value
  }
  for (let i = 0; i < target.required; i++) {
    if (bound[i] === undefined) {
      throw new Fault('TypeError', `${name}() missing required argument '${target.params[i]}'`)
    }
  }
  return bound
}

function mismatch(name: string, target: Native, count: number): never {
  const most = target.params.length
  const wanted = most === target.required ? String(most) : `${target.required} to ${most}`
  throw new Fault(
    'TypeError',
    `${name}() takes ${wanted} argument${wanted === '1' ? '' : 's'} (${count} given)`,
  )
}
