/**
 * The values a template works with: Python's kinds, spelled in our own types. Nothing here is a
 * JavaScript object of somebody else's: arguments are copied in (`arguments.ts`), so no
 * prototype, getter or function of the host can ever be reached.
 *
 * - int: a JavaScript number that is a safe integer, or a bigint beyond that
 * - float: a number with a fraction, an infinity or NaN; an integral float is boxed (`Float`)
 * - str: a string; list: an array; None: null; missing (no value at all): undefined
 */
import { Fault, type Run } from './limits.ts'

/** What a variable of a template can hold; nothing else gets in. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float
  | Markup
  | Value[]
  | Tuple
  | Dict
  | Range
  | Undefined
  | Thing

/** Arguments by name, in the order in which they were given. */
export type Kwargs = Map<string, Value>

/** Where code runs: its budget, and whether output is being escaped just now. */
export interface Env {
  readonly run: Run
  readonly escape: Escaping
}

/**
 * Whether output is escaped at the moment; one object a context, because `autoescape` switches it for
 * all that its body runs.
 */
export interface Escaping {
  on: boolean
}

/** A walk over values, ended by undefined, which is no value of its own. */
export interface Iter {
  next(): Value | undefined
}

/** Any other object of Jinja2's: a macro, a loop, a generator. What it can do it says here itself. */
export interface Thing {
  /** Python's name of its type. */
  readonly type: string
  /** `x.name`; undefined where there is no such member. */
  attribute?(name: string, env: Env): Value | undefined
  /** `x[key]`; undefined where there is none. */
  item?(key: Value, env: Env): Value | undefined
  call?(env: Env, args: Value[], kwargs: Kwargs | undefined): Value
  iterate?(run: Run): Iter
  /** `len(x)`; absent where Python has none. */
  size?(run: Run): number
  /** What it prints. */
  show?(run: Run): string
  /** `==` with another value; undefined where only identity counts. */
  equals?(other: Value, run: Run): boolean | undefined
  /** What stands for it in HTML, unescaped: it then counts as safe. */
  html?(): string
}

/** A float whose value is integral (1.0): boxed, because a bare number without a fraction is an int. */
export class Float {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** Text that is safe to place in HTML as it stands. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A tuple; boxed, because an array is a list. */
export class Tuple {
  readonly items: Value[]
  /** Field names, for the pairs that `groupby` makes. */
  readonly fields: readonly string[] | undefined

  constructor(items: Value[], fields?: readonly string[]) {
    this.items = items
    this.fields = fields
  }
}

/** A range, whose items are computed and never written out. */
export class Range {
  readonly start: number
  readonly stop: number
  readonly step: number
  readonly length: number

  constructor(start: number, stop: number, step: number) {
    this.start = start
    this.stop = stop
    this.step = step
    this.length = Math.max(0, Math.ceil((stop - start) / step))
  }

  at(index: number): number {
    return this.start + index * this.step
  }
}

/** A name or member that is not there: prints as nothing, and fails when used further. */
export class Undefined {
  readonly message: string
  /** Set when the member exists in Python but may not be reached. */
  readonly unsafe: boolean

  constructor(message: string, unsafe = false) {
    this.message = message
    this.unsafe = unsafe
  }

  fail(): never {
    throw new Fault(this.unsafe ? 'SecurityError' : 'UndefinedError', this.message)
  }
}

/** What a dict is looked up by: equal Python keys (1, 1.0 and True) have the same one. */
export type HashKey = string | number | bigint | null | object

/** A dict: keys of any hashable kind, in the order of their first insertion. */
export class Dict {
  readonly entries = new Map<HashKey, Value>()
  /** Keys as they were written, where that is not what they are looked up by. */
  private originals: Map<HashKey, Value> | undefined

  get size(): number {
    return this.entries.size
  }

  get(key: Value): Value | undefined {
    return this.entries.get(typeof key === 'string' ? textKey(key) : hashKey(key))
  }

  has(key: Value): boolean {
    return this.entries.has(hashKey(key))
  }

  set(key: Value, value: Value): void {
    const hash = hashKey(key)
    if (hash !== key && !this.entries.has(hash)) {
      this.originals ??= new Map()
      this.originals.set(hash, key)
    }
    this.entries.set(hash, value)
  }

  /** `set` for a key that is text. */
  setText(key: string, value: Value): void {
    if (key.charCodeAt(0) === 0) this.set(key, value)
    else this.entries.set(key, value)
  }

  delete(key: Value): void {
    const hash = hashKey(key)
    this.entries.delete(hash)
    this.originals?.delete(hash)
  }

  clear(): void {
    this.entries.clear()
    this.originals = undefined
  }

  /** The key as it was written, of its hash. */
  original(hash: HashKey): Value {
    return (this.originals?.get(hash) ?? hash) as Value
  }

  keys(): Value[] {
    const keys = [...this.entries.keys()]
    return (this.originals ? keys.map((hash) => this.original(hash)) : keys) as Value[]
  }

  values(): Value[] {
    return [...this.entries.values()]
  }

  pairs(): [Value, Value][] {
    return [...this.entries].map(([hash, value]) => [this.original(hash), value])
  }

  copy(): Dict {
    const copy = new Dict()
    for (const [hash, value] of this.entries) copy.set(this.original(hash), value)
    return copy
  }
}

const identities = new WeakMap<object, number>()
let lastIdentity = 0

function textKey(text: string): string {
  // Keys made of other kinds start with NUL; a text that does is moved out of their way.
  return text.charCodeAt(0) === 0 ? `\0s${text}` : text
}

/** The key under which a value is filed; a TypeError for a kind that Python cannot hash. */
export function hashKey(value: Value): HashKey {
  switch (typeof value) {
    case 'string':
      return textKey(value)
    case 'number':
    case 'bigint':
      return value
    case 'boolean':
      return value ? 1 : 0
    default:
  }
  if (value === null) return null
  if (value instanceof Float) return Number.isSafeInteger(value.value) ? value.value : BigInt(value.value)
  if (value instanceof Markup) return textKey(value.text)
  if (value instanceof Tuple) return tupleKey(value)
  if (value instanceof Undefined) return '\0u'
  const mutable =
    Array.isArray(value) || value instanceof Dict || ['dict_keys', 'dict_items'].includes(typeName(value))
  if (mutable) throw new Fault('TypeError', `unhashable type: '${typeName(value)}'`)
  return value
}

/** The longest key that tuples inside tuples may make: sharing can double it at each level. */
const MAX_TUPLE_KEY = 65_536

function tupleKey(tuple: Tuple): string {
  let key = '\0t'
  for (const item of tuple.items) {
    key += `${hashText(item)},`
    if (key.length > MAX_TUPLE_KEY) throw new Fault('LimitError', 'a tuple is too large to be a key')
  }
  return key
}

function hashText(value: Value): string {
  const hash = hashKey(value)
  // With its length, so that no two tuples of texts look alike.
  if (typeof hash === 'string') return `s${hash.length}:${hash}`
  if (hash === null) return 'n'
  if (typeof hash !== 'object') return `i${hash}`
  let identity = identities.get(hash)
  if (identity === undefined) identities.set(hash, (identity = ++lastIdentity))
  return `o${identity}`
}

/** A JavaScript number as a Python float. */
export function float(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value
}

/** A whole number in its shortest form. */
export function integer(value: bigint): number | bigint {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value
}

/** A float of Python's: boxed when it is whole, bare when it has a fraction. */
export function isFloat(value: Value): value is number | Float {
  return value instanceof Float || (typeof value === 'number' && !Number.isInteger(value))
}

/** An int or a bool, which Python counts as one. */
export function isInt(value: Value): value is number | bigint | boolean {
  return typeof value === 'number'
    ? Number.isInteger(value)
    : typeof value === 'bigint' || typeof value === 'boolean'
}

/** Whatever arithmetic takes; True and False count as 1 and 0. */
export function isNumber(value: Value): value is number | bigint | boolean | Float {
  return (
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean' ||
    value instanceof Float
  )
}

/** The text of a str or of Markup; undefined for anything else. */
export function textOf(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : value instanceof Markup ? value.text : undefined
}

/** Characters of a text, 0 for anything else: what it costs to go through. */
export function charactersOf(value: Value): number {
  return typeof value === 'string' ? value.length : value instanceof Markup ? value.text.length : 0
}

/** One of Jinja2's own objects, which answers for itself. */
export function isThing(value: Value): value is Thing {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(
      value instanceof Dict ||
      value instanceof Markup ||
      value instanceof Float ||
      value instanceof Tuple ||
      value instanceof Undefined ||
      value instanceof Range
    )
  )
}

/** What Python calls the type of a value. */
export function typeName(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'str'
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float'
    default:
  }
  if (value === null) return 'NoneType'
  if (Array.isArray(value)) return 'list'
  if (value instanceof Dict) return 'dict'
  if (value instanceof Markup) return 'Markup'
  if (value instanceof Float) return 'float'
  if (value instanceof Tuple) return 'tuple'
  if (value instanceof Range) return 'range'
  if (value instanceof Undefined) return 'Undefined'
  return value.type
}
