/** The methods of list, tuple, dict, range and the numbers. */
import { native, variadic, type Native } from '../binding.ts'
import { equals, indexIn, sortBy } from './compare.ts'
import { each, Lazy, overDict, toList, truth } from './iterate.ts'
import { Fault, type Run } from '../limits.ts'
import { bounds, wantInt } from '../native-arguments.ts'
import { hexOf } from './decimals.ts'
import { bigOf, floatOf, ratio } from './numbers.ts'
import { repr } from './repr.ts'
import {
  Dict,
  isThing,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Env,
  type Iter,
  type Kwargs,
  type Thing,
  type Value,
} from '../values.ts'

type List = Value[]

/** By name, the methods of list. */
export const listMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ['append', native('object /', (env, self, item) => grow(env.run, self as List, [item!]))],
  [
    'extend',
    native('iterable /', (env, self, items) => grow(env.run, self as List, toList(env.run, items!))),
  ],
  ['insert', native('index object /', insert)],
  ['pop', native('index? /', (_env, self, index) => pop(self as List, wantInt(index, -1)))],
  ['remove', native('value /', remove)],
  ['clear', native('/', (_env, self) => (((self as List).length = 0), null))],
  ['copy', native('/', (env, self) => toList(env.run, self))],
  ['count', native('value /', (env, self, item) => count(env.run, self as List, item!))],
  [
    'index',
    native('value start? stop? /', (env, self, item, from, to) =>
      index(env.run, self as List, 'list', item!, from, to),
    ),
  ],
  ['reverse', native('/', reverse)],
  ['sort', variadic(sort)],
])

/** By name, the methods of tuple. */
export const tupleMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ['count', native('value /', (env, self, item) => count(env.run, (self as Tuple).items, item!))],
  [
    'index',
    native('value start? stop? /', (env, self, item, from, to) =>
      index(env.run, (self as Tuple).items, 'tuple', item!, from, to),
    ),
  ],
])

/** By name, the methods of range. */
export const rangeMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ['count', native('value /', (env, self, item) => count(env.run, toList(env.run, self), item!))],
  ['index', native('value /', (env, self, item) => index(env.run, toList(env.run, self), 'range', item!))],
])

/** By name, the methods of dict. */
export const dictMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ['get', native('key default? /', (_env, self, key, absent) => fetch(self as Dict, key!, absent) ?? null)],
  ['keys', native('/', (_env, self) => new View('dict_keys', self as Dict))],
  ['values', native('/', (_env, self) => new View('dict_values', self as Dict))],
  ['items', native('/', (_env, self) => new View('dict_items', self as Dict))],
  ['copy', native('/', (env, self) => copy(env.run, self as Dict))],
  ['clear', native('/', (_env, self) => ((self as Dict).clear(), null))],
  ['pop', native('key default? /', popKey)],
  ['popitem', native('/', popItem)],
  ['setdefault', native('key default? /', setDefault)],
  ['update', variadic((env, self, args, kwargs) => update(env, self as Dict, 'update', args, kwargs))],
  ['fromkeys', native('iterable value? /', (env, _self, keys, value) => fromKeys(env, keys!, value ?? null))],
])

const numberMethods: [string, Native][] = [
  ['conjugate', native('/', (_env, self) => self)],
  ['as_integer_ratio', native('/', (_env, self) => ratio(self))],
]

/** By name, the methods of int and bool. */
export const intMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ...numberMethods,
  ['bit_length', native('/', (_env, self) => bits(self).replace(/^0$/, '').length)],
  ['bit_count', native('/', (_env, self) => bits(self).replaceAll('0', '').length)],
])

/** By name, the methods of float. */
export const floatMethods: ReadonlyMap<string, Native> = new Map<string, Native>([
  ...numberMethods,
  ['is_integer', native('/', (_env, self) => Number.isInteger(floatOf(self as number)))],
  ['hex', native('/', (_env, self) => hexOf(floatOf(self as number)))],
])

/** The live keys, values or items of a dict. */
export class View implements Thing {
  readonly type: string
  readonly dict: Dict

  constructor(type: string, dict: Dict) {
    this.type = type
    this.dict = dict
  }

  size(): number {
    return this.dict.size
  }

  iterate(run: Run): Iter {
    const { dict, type } = this
    return overDict(run, dict, dict.entries.entries(), ([hash, value]) => {
      if (type === 'dict_values') return value
      return type === 'dict_keys' ? dict.original(hash) : new Tuple([dict.original(hash), value])
    })
  }

  attribute(name: string): Value | undefined {
    return name === 'mapping' ? this.dict : undefined
  }

  /** Keys and items compare as sets do; values only by identity. */
  equals(other: Value, run: Run): boolean {
    if (!(other instanceof View) || this.type === 'dict_values' || other.type !== this.type) return false
    if (this.type === 'dict_items') return equals(run, this.dict, other.dict)
    run.tick(this.dict.size)
    return (
      this.dict.size === other.dict.size &&
      [...this.dict.entries.keys()].every((key) => other.dict.entries.has(key))
    )
  }

  show(run: Run): string {
    return `${this.type}(${repr(run, toList(run, this))})`
  }
}

/** An iterator over a list from its end, as `reversed` makes. */
export function reversed(run: Run, value: Value): Lazy {
  const kind = reversedType(value)
  return new Lazy(kind, toList(run, value).reverse().values(), kind)
}

function reversedType(value: Value): string {
  if (value instanceof Range) return 'range_iterator'
  if (Array.isArray(value)) return 'list_reverseiterator'
  if (value instanceof Dict) return 'dict_reversekeyiterator'
  // dict_keys and its kin: dict_reversekeyiterator and so on.
  return value instanceof View ? `dict_reverse${value.type.slice(5, -1)}iterator` : 'reversed'
}

/** Appends within bounds, and answers None like all of Python's methods that change a list. */
function grow(run: Run, list: List, items: Value[]): null {
  run.items(list.length + items.length)
  for (const item of items) list.push(item)
  return null
}

function insert(env: Env, self: Value, at: Value | undefined, item: Value | undefined): null {
  const list = self as List
  env.run.items(list.length + 1)
  list.splice(bounds(wantInt(at), undefined, list.length)[0], 0, item!)
  return null
}

function reverse(env: Env, self: Value): null {
  const list = self as List
  env.run.tick(list.length)
  list.reverse()
  return null
}

function pop(list: List, at: number): Value {
  if (list.length === 0) throw new Fault('IndexError', 'pop from empty list')
  // Only one turn: an index below the start is out of range, not counted again.
  const place = at < 0 ? at + list.length : at
  const [item] = place < 0 ? [] : list.splice(place, 1)
  if (item === undefined) throw new Fault('IndexError', 'pop index out of range')
  return item
}

function remove(env: Env, self: Value, item: Value | undefined): null {
  const at = indexIn(env.run, self as List, item!)
  if (at < 0) throw new Fault('ValueError', 'list.remove(x): x not in list')
  ;(self as List).splice(at, 1)
  return null
}

function count(run: Run, items: Value[], item: Value): number {
  run.tick(items.length)
  return items.filter((other) => other === item || equals(run, other, item)).length
}

function index(run: Run, items: Value[], kind: string, item: Value, start?: Value, end?: Value): number {
  const [from, to] = bounds(start, end, items.length)
  const at = indexIn(run, items, item, from, to)
  if (at < 0) throw new Fault('ValueError', `${repr(run, item)} is not in ${kind}`)
  return at
}

function sort(env: Env, self: Value, args: Value[], kwargs: Kwargs | undefined): null {
  if (args.length > 0) throw new Fault('TypeError', 'sort() takes no positional arguments')
  const list = self as List
  let keys = list
  let backwards = false
  for (const [name, value] of kwargs ?? []) {
    if (name === 'reverse') backwards = truth(env.run, value)
    else if (name === 'key') {
      if (value === null) continue
      if (!isThing(value) || !value.call)
        throw new Fault('TypeError', `'${typeName(value)}' object is not callable`)
      keys = list.map((item) => value.call!(env, [item], undefined))
    } else throw new Fault('TypeError', `sort() got an unexpected keyword argument '${name}'`)
  }
  const sorted = sortBy(env.run, list, keys, backwards)
  list.splice(0, list.length, ...sorted)
  return null
}

function copy(run: Run, dict: Dict): Dict {
  run.items(dict.size)
  return dict.copy()
}

/** The value of a key, which may be None, or else the one given. */
function fetch(dict: Dict, key: Value, absent: Value | undefined): Value | undefined {
  const value = dict.get(key)
  return value === undefined ? absent : value
}

function popKey(env: Env, self: Value, key: Value | undefined, absent?: Value): Value {
  const dict = self as Dict
  const value = fetch(dict, key!, absent)
  if (value === undefined) throw new Fault('KeyError', repr(env.run, key!))
  dict.delete(key!)
  return value
}

function popItem(_env: Env, self: Value): Tuple {
  const dict = self as Dict
  // The one that was inserted last.
  const key = dict.keys().at(-1)
  if (key === undefined) throw new Fault('KeyError', 'popitem(): dictionary is empty')
  const value = dict.get(key)!
  dict.delete(key)
  return new Tuple([key, value])
}

function setDefault(env: Env, self: Value, key: Value | undefined, absent?: Value): Value {
  const dict = self as Dict
  const value = dict.get(key!)
  if (value !== undefined) return value
  env.run.items(dict.size + 1)
  dict.set(key!, absent ?? null)
  return absent ?? null
}

function fromKeys(env: Env, keys: Value, value: Value): Dict {
  const dict = new Dict()
  for (const key of each(env.run, keys)) dict.set(key, value)
  env.run.items(dict.size)
  return dict
}

/** `dict.update` and `dict(…)`: from a dict, from pairs, and from keyword arguments. */
export function update(env: Env, dict: Dict, name: string, args: Value[], kwargs: Kwargs | undefined): null {
  if (args.length > 1) throw new Fault('TypeError', `${name} expected at most 1 argument, got ${args.length}`)
  const source = args[0]
  if (source instanceof Undefined) source.fail()
  if (source instanceof Dict) {
    env.run.items(source.size)
    for (const [key, value] of source.pairs()) dict.set(key, value)
  } else if (source !== undefined) {
    let place = 0
    for (const pair of each(env.run, source)) {
      // A pair may be anything with two items, a text of two characters too.
      const items = toList(env.run, pair)
      if (items.length !== 2) {
        const fault = `dictionary update sequence element #${place} has length ${items.length}; 2 is required`
        throw new Fault('ValueError', fault)
      }
      dict.set(items[0]!, items[1]!)
      place++
    }
  }
  for (const [key, value] of kwargs ?? []) dict.set(key, value)
  env.run.items(dict.size)
  return null
}

/** The binary digits of an int without its sign. */
function bits(self: Value): string {
  const number = bigOf(self as number)
  return (number < 0n ? -number : number).toString(2)
}
