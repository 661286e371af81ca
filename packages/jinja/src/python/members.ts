/**
 * Members, items, slices and calls, by the rules of Jinja2's sandbox: `a.b` asks for an attribute
 * and then an item, `a['b']` the other way round, and what Python hides behind an underscore
 * is reported as unsafe instead of handed out. All that can be reached is listed here in tables.
 */
import { invoke, native, variadic, type Native } from '../binding.ts'
import { Bound } from '../bound.ts'
import { format } from './format-spec.ts'
import { isSequence, toList } from './iterate.ts'
import { Fault } from '../limits.ts'
import { escape } from './markup.ts'
import {
  dictMethods,
  floatMethods,
  intMethods,
  listMethods,
  rangeMethods,
  tupleMethods,
} from './methods-containers.ts'
import { markupMethods } from './methods-markup.ts'
import { textMethods } from './methods-text.ts'
import { bounds } from '../native-arguments.ts'
import { repr, reprText } from './repr.ts'
import { plainField, strFormat, type Fields } from './str-format.ts'
import { chars, charAt, isPlain } from './text.ts'
import {
  charactersOf,
  Dict,
  float,
  Float,
  isInt,
  isThing,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Env,
  type Kwargs,
  type Thing,
  type Value,
} from '../values.ts'

/** Names that every Python object has, or every container: they exist, but are never handed out. */
const HIDDEN = new Set(
  (
    'class delattr dir doc eq format ge getattribute getstate gt hash init init_subclass le lt ne new reduce ' +
    'reduce_ex repr setattr sizeof str subclasshook'
  )
    .split(' ')
    .map((name) => `__${name}__`),
)

const formatMethods = new Map<string, Native>([
  ['format', variadic((env, self, args, kwargs) => formatWith(env, self, args, (key) => kwargs?.get(key)))],
  ['format_map', native('mapping /', (env, self, mapping) => formatMap(env, self, mapping!))],
])

/** `value.name`. */
export function attribute(env: Env, value: Value, name: string): Value {
  const found = member(env, value, name)
  if (found !== undefined) return found
  if (value instanceof Dict) {
    const entry = value.get(name)
    if (entry !== undefined) return entry
  } else if (isThing(value) && value.item) {
    const entry = value.item(name, env)
    if (entry !== undefined) return entry
  }
  return noMember(value, name)
}

/** `value[key]`. */
export function item(env: Env, value: Value, key: Value): Value {
  const found = entry(env, value, key)
  if (found !== undefined) return found
  const name = textOf(key)
  if (name !== undefined) return onlyAttribute(env, value, name)
  return new Undefined(`${describe(value)} has no element ${repr(env.run, key)}`)
}

/** `value|attr(name)`: an attribute, never an item. */
export function onlyAttribute(env: Env, value: Value, name: string): Value {
  const found = member(env, value, name)
  return found === undefined ? noMember(value, name) : found
}

function noMember(value: Value, name: string): Undefined {
  // A name can be as long as a text; the message need not.
  return new Undefined(`'${describe(value)}' has no attribute ${reprText(name.slice(0, 100))}`)
}

/** What Jinja2 calls a value in its messages. */
export function describe(value: Value): string {
  return value === null ? 'None' : `${typeName(value)} object`
}

/** Python's own attribute of a value; undefined when it has none of that name. */
function member(env: Env, value: Value, name: string): Value | undefined {
  // Before anything else is asked: these answer the same for every kind of value.
  if (name.startsWith('__') && HIDDEN.has(name)) {
    return new Undefined(`access to attribute '${name}' of '${typeName(value)}' object is unsafe.`, true)
  }
  const method = methodOf(value, name)
  if (method !== undefined) return new Bound(value, name, method)
  if (value instanceof Undefined) return value.fail()
  if (value instanceof Tuple) {
    const place = value.fields?.indexOf(name) ?? -1
    return place < 0 ? undefined : value.items[place]
  }
  if (value instanceof Range)
    return name === 'start' || name === 'stop' || name === 'step' ? value[name] : undefined
  if (isThing(value)) {
    const found = value.attribute?.(name, env)
    // A member that a macro or a loop does have, but the sandbox hides.
    if (found !== undefined && name.startsWith('_')) {
      return new Undefined(`access to attribute '${name}' of '${value.type}' object is unsafe.`, true)
    }
    return found
  }
  return numberAttribute(value, name)
}

function numberAttribute(value: Value, name: string): Value | undefined {
  if (isInt(value)) {
    const number = typeof value === 'boolean' ? Number(value) : value
    if (name === 'real' || name === 'numerator') return number
    if (name === 'imag') return 0
    return name === 'denominator' ? 1 : undefined
  }
  if (typeof value === 'number' || value instanceof Float) {
    return name === 'real' ? value : name === 'imag' ? float(0) : undefined
  }
  return undefined
}

/** The method of this name that values of its kind have. */
export function methodOf(value: Value, name: string): Native | undefined {
  if (typeof value === 'string') return textMethods.get(name) ?? formatMethods.get(name)
  if (value instanceof Markup) return markupMethods.get(name) ?? formatMethods.get(name) ?? plainText(name)
  if (Array.isArray(value)) return listMethods.get(name)
  if (value instanceof Dict) return dictMethods.get(name)
  if (value instanceof Tuple) return tupleMethods.get(name)
  if (value instanceof Range) return rangeMethods.get(name)
  if (isInt(value)) return intMethods.get(name)
  if (typeof value === 'number' || value instanceof Float) return floatMethods.get(name)
  return undefined
}

/** A method of str on Markup that returns nothing to mark. */
function plainText(name: string): Native | undefined {
  const method = textMethods.get(name)
  return method && { ...method, fn: (env, self, ...args) => method.fn(env, (self as Markup).text, ...args) }
}

/** Python's `value[key]`; undefined for a missing item or a kind that has none. */
function entry(env: Env, value: Value, key: Value): Value | undefined {
  if (value instanceof Dict) {
    // What cannot be a key is not there; only setting it is a fault.
    if (Array.isArray(key) || key instanceof Dict) return undefined
    return value.get(key)
  }
  if (value instanceof Undefined) return value.fail()
  if (isThing(value)) return value.item?.(key, env)
  if (!isInt(key)) return undefined
  const index = Number(key)
  env.run.reads(charactersOf(value))
  if (Array.isArray(value)) return value[index < 0 ? index + value.length : index]
  if (value instanceof Tuple) return value.items[index < 0 ? index + value.items.length : index]
  if (typeof value === 'string') return charAt(value, index)
  if (value instanceof Markup) {
    const char = charAt(value.text, index)
    return char === undefined ? undefined : new Markup(char)
  }
  if (value instanceof Range) {
    const place = index < 0 ? index + value.length : index
    return place >= 0 && place < value.length ? value.at(place) : undefined
  }
  return undefined
}

/** `value[start:stop:step]`; unlike a single item it fails for what cannot be sliced. */
export function slice(env: Env, value: Value, start: Value, stop: Value, step: Value): Value {
  if (value instanceof Undefined) return value.fail()
  const wrong = [start, stop, step].some((bound) => bound !== null && !isInt(bound))
  if (wrong && sliceable(value))
    throw new Fault('TypeError', 'slice indices must be integers or None or have an __index__ method')
  const text = textOf(value)
  if (text !== undefined) {
    env.run.reads(text.length)
    const part =
      step === null && isPlain(text)
        ? text.slice(...bounds(start, stop, text.length))
        : pick(chars(text), start, stop, step).join('')
    return typeof value === 'string' ? part : new Markup(part)
  }
  if (value instanceof Range) return sliceRange(value, start, stop, step)
  if (!sliceable(value)) throw new Fault('TypeError', `'${typeName(value)}' object is not subscriptable`)
  const items = value instanceof Tuple ? value.items : (value as Value[])
  env.run.tick(items.length >> 3)
  const part = pick(items, start, stop, step)
  env.run.items(part.length)
  return value instanceof Tuple ? new Tuple(part) : part
}

/** Whether a value has slices. */
export function sliceable(value: Value): boolean {
  return isSequence(value) && !(value instanceof Dict || value instanceof Undefined)
}

function pick<T>(items: T[], start: Value, stop: Value, step: Value): T[] {
  const by = stepOf(step)
  if (by === 1) {
    const [from, to] = bounds(start, stop, items.length)
    return items.slice(from, to)
  }
  const result: T[] = []
  const [from, to] = ends(items.length, start, stop, by)
  if (by > 0) for (let i = from; i < to; i += by) result.push(items[i]!)
  else for (let i = from; i > to; i += by) result.push(items[i]!)
  return result
}

function stepOf(step: Value): number {
  const by = step === null ? 1 : Number(step)
  if (by === 0) throw new Fault('ValueError', 'slice step cannot be zero')
  return by
}

/** The first index and the one past the last, as a slice with this step visits them. */
function ends(length: number, start: Value, stop: Value, by: number): [number, number] {
  if (by > 0) return bounds(start, stop, length)
  const low = (bound: Value, absent: number): number => {
    if (bound === null) return absent
    const index = Number(bound)
    return index < 0 ? Math.max(-1, index + length) : Math.min(index, length - 1)
  }
  return [low(start, length - 1), low(stop, -1)]
}

function sliceRange(range: Range, start: Value, stop: Value, step: Value): Range {
  const by = stepOf(step)
  const [from, to] = ends(range.length, start, stop, by)
  return new Range(range.start + from * range.step, range.start + to * range.step, range.step * by)
}

/** `callee(…)`. */
export function call(env: Env, callee: Value, args: Value[], kwargs: Kwargs | undefined): Value {
  if (callee instanceof Undefined) return callee.fail()
  // Only Things have a `call`; asking for it is cheaper than telling them apart.
  const thing = callee as Thing | null
  if (typeof thing === 'object' && thing?.call) return thing.call(env, args, kwargs)
  throw new Fault('TypeError', `'${typeName(callee)}' object is not callable`)
}

/** `value.name(…)` without making a bound method in between. */
export function callMember(
  env: Env,
  value: Value,
  name: string,
  args: Value[],
  kwargs: Kwargs | undefined,
): Value {
  const method = methodOf(value, name)
  if (method !== undefined) return invoke(env, name, method, value, args, kwargs)
  return call(env, attribute(env, value, name), args, kwargs)
}

/** `str.format` with the sandbox's lookups, and on Markup with every field escaped. */
function formatWith(env: Env, self: Value, args: Value[], named: Fields['named']): Value {
  const { run } = env
  const plain = plainField(run)
  const fields: Fields = {
    run,
    args,
    named,
    attribute: (value, name) => attribute(env, value, name),
    item: (value, key) => item(env, value, key),
    text: self instanceof Markup ? markupField : plain,
  }
  function markupField(value: Value, spec: string): string {
    if (!(value instanceof Markup)) return escape(run, format(run, value, spec)).text
    if (spec !== '') throw new Fault('ValueError', 'Unsupported format specification for Markup.')
    return value.text
  }
  if (self instanceof Markup) return new Markup(strFormat(self.text, fields))
  return strFormat(self as string, fields)
}

function formatMap(env: Env, self: Value, mapping: Value): Value {
  if (!(mapping instanceof Dict))
    throw new Fault('TypeError', `'${typeName(mapping)}' object is not a mapping`)
  return formatWith(env, self, [], (key) => mapping.get(key))
}

/** The arguments of `f(*values)`. */
export function spread(env: Env, args: Value[], values: Value): void {
  for (const value of toList(env.run, values)) args.push(value)
}
