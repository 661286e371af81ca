/** The functions every template sees: range, dict, namespace, cycler, joiner, lipsum. */
import { truth } from './python/iterate.ts'
import { Fault } from './limits.ts'
import { lipsum } from './lipsum.ts'
import { dictMethods, update } from './python/methods-containers.ts'
import { Bound } from './bound.ts'
import { wantInt } from './native-arguments.ts'
import { Cycler, Joiner, Namespace } from './global-objects.ts'
import { Dict, Markup, Range, type Env, type Kwargs, type Thing, type Value } from './values.ts'

/** The most items a range may have in Jinja2's sandbox. */
const MAX_RANGE = 100_000

type Body = (env: Env, args: Value[], kwargs: Kwargs | undefined) => Value

/** A global as a value: it can be called and printed, and has only the members that are named here. */
function global(type: string, label: string, call: Body, attribute?: Thing['attribute']): Thing {
  return { type, call, show: () => label, ...(attribute && { attribute }) }
}

/** By name. They keep no state, so all renderings share them. */
export const globals: Map<string, Value> = new Map<string, Value>([
  // A fixed address where Python prints that of the object: the same template gives the same text.
  ['range', global('function', '<function safe_range at 0x7f0000000000>', range)],
  ['dict', global('type', "<class 'dict'>", makeDict, dictMember)],
  ['namespace', global('type', "<class 'jinja2.utils.Namespace'>", makeNamespace)],
  ['cycler', global('type', "<class 'jinja2.utils.Cycler'>", makeCycler)],
  ['joiner', global('type', "<class 'jinja2.utils.Joiner'>", makeJoiner)],
  ['lipsum', global('function', '<function generate_lorem_ipsum at 0x7f0000000000>', makeLipsum)],
])

function range(env: Env, args: Value[], kwargs: Kwargs | undefined): Range {
  if (kwargs && kwargs.size > 0) throw new Fault('TypeError', 'range() takes no keyword arguments')
  if (args.length === 0 || args.length > 3) {
    throw new Fault('TypeError', `range expected 1 to 3 arguments, got ${args.length}`)
  }
  const numbers = args.map((arg) => wantInt(arg))
  const [start, stop, step] =
    numbers.length === 1 ? [0, numbers[0]!, 1] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1]
  if (step === 0) throw new Fault('ValueError', 'range() arg 3 must not be zero')
  const made = new Range(start, stop, step)
  if (made.length > MAX_RANGE) {
    throw new Fault(
      'OverflowError',
      `Range too big. The sandbox blocks ranges larger than MAX_RANGE (${MAX_RANGE}).`,
    )
  }
  env.run.tick(1)
  return made
}

function makeDict(env: Env, args: Value[], kwargs: Kwargs | undefined): Dict {
  const dict = new Dict()
  update(env, dict, 'dict', args, kwargs)
  return dict
}

function dictMember(name: string): Value | undefined {
  return name === 'fromkeys' ? new Bound(new Dict(), name, dictMethods.get(name)!) : undefined
}

function makeNamespace(env: Env, args: Value[], kwargs: Kwargs | undefined): Namespace {
  return new Namespace(makeDict(env, args, kwargs))
}

function makeCycler(_env: Env, args: Value[], kwargs: Kwargs | undefined): Cycler {
  if (kwargs && kwargs.size > 0) throw new Fault('TypeError', 'cycler() takes no keyword arguments')
  if (args.length === 0) throw new Fault('RuntimeError', 'at least one item has to be provided')
  return new Cycler(args)
}

function makeJoiner(_env: Env, args: Value[], kwargs: Kwargs | undefined): Joiner {
  const [separator] = bind('joiner', ['sep'], args, kwargs)
  return new Joiner(separator === undefined ? ', ' : separator)
}

function makeLipsum(env: Env, args: Value[], kwargs: Kwargs | undefined): Value {
  const [n, html, min, max] = bind('lipsum', ['n', 'html', 'min', 'max'], args, kwargs)
  const asHtml = html === undefined || truth(env.run, html)
  const text = lipsum(env.run, wantInt(n, 5), wantInt(min, 20), wantInt(max, 100), asHtml)
  return asHtml ? new Markup(text) : text
}

function bind(
  name: string,
  params: string[],
  args: Value[],
  kwargs: Kwargs | undefined,
): (Value | undefined)[] {
  if (args.length > params.length)
    throw new Fault('TypeError', `${name}() takes at most ${params.length} arguments`)
  const bound: (Value | undefined)[] = params.map((_, index) => args[index])
  for (const [key, value] of kwargs ?? []) {
    const index = params.indexOf(key)
    if (index < 0 || bound[index] !== undefined) {
      throw new Fault('TypeError', `${name}() got an unexpected keyword argument '${key}'`)
    }
    bound[index] = value
  }
  return bound
}
