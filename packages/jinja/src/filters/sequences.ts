/** Filters on lists and other iterables. */
import { native, type Native } from '../binding.ts'
import { below } from '../chance.ts'
import { areAlike, equals, orderOf, ordered, sortBy } from '../python/compare.ts'
import { each, iterate, itemsOf, Lazy, needSize, toList, truth } from '../python/iterate.ts'
import { Fault } from '../limits.ts'
import { escape } from '../python/markup.ts'
import { item } from '../python/members.ts'
import { reversed, View } from '../python/methods-containers.ts'
import { wantInt } from '../native-arguments.ts'
import { add, floorDivide, modulo } from '../python/operators.ts'
import { str } from '../python/repr.ts'
import { chars } from '../python/text.ts'
import {
  Dict,
  hashKey,
  isThing,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Env,
  type HashKey,
  type Value,
} from '../values.ts'
import { getter, getters, ignoreCase, type Getter } from './attributes.ts'

/** Filters over lists and whatever else can be gone through. Those that Python makes lazy are lazy here. */
export const sequenceFilters: readonly [string, Native][] = [
  ['length', native('/', (env, value) => needSize(env.run, value))],
  ['count', native('/', (env, value) => needSize(env.run, value))],
  ['list', native('', (env, value) => toList(env.run, value))],
  ['first', native('', (env, value) => orEmpty(iterate(env.run, value).next(), 'first item'))],
  ['last', native('', last)],
  ['random', native('', random)],
  ['reverse', native('', reverse)],
  ['join', native('d? attribute?', join)],
  ['sort', native('reverse? case_sensitive? attribute?', sort)],
  ['dictsort', native('case_sensitive? by? reverse?', dictSort)],
  [
    'unique',
    native(
      'case_sensitive? attribute?',
      (env, value, sensitive, attribute) =>
        new Lazy('do_unique', unique(env, value, keyGetter(env, sensitive, attribute))),
    ),
  ],
  ['min', extreme('<')],
  ['max', extreme('>')],
  ['sum', native('attribute? start?', sum)],
  ['groupby', native('attribute default? case_sensitive?', groupBy)],
  [
    'batch',
    native(
      'linecount fill_with?',
      (env, value, count, fill) => new Lazy('do_batch', batch(env, value, count!, fill)),
    ),
  ],
  [
    'slice',
    native(
      'slices fill_with?',
      (env, value, slices, fill) => new Lazy('sync_do_slice', slice(env, value, slices!, fill)),
    ),
  ],
  ['items', native('', (env, value) => new Lazy('do_items', items(env, value)))],
]

/** Of an empty sequence Jinja2 gives an undefined, which prints as nothing. */
function orEmpty(value: Value | undefined, what: string): Value {
  return value === undefined ? new Undefined(`No ${what}, sequence was empty.`) : value
}

function isTrue(env: Env, value: Value | undefined): boolean {
  return value !== undefined && truth(env.run, value)
}

/** What is compared of an item: an attribute if one is named, and without case unless asked for. */
function keyGetter(env: Env, sensitive: Value | undefined, attribute: Value | undefined): Getter {
  return getter(env, attribute, undefined, isTrue(env, sensitive) ? undefined : ignoreCase)
}

/** What `reversed(value)` goes through, from the end. */
function backwards(env: Env, value: Value): Value[] | undefined {
  const text = textOf(value)
  if (text !== undefined) {
    const all = chars(text).reverse()
    return value instanceof Markup ? all.map((char) => new Markup(char)) : all
  }
  if (value instanceof Undefined) return []
  const known =
    Array.isArray(value) || value instanceof Tuple || value instanceof Dict || value instanceof Range
  return known || value instanceof View ? toList(env.run, value).reverse() : undefined
}

function last(env: Env, value: Value): Value {
  if (Array.isArray(value)) return orEmpty(value.at(-1), 'last item')
  const all = backwards(env, value)
  if (!all) throw new Fault('TypeError', `'${typeName(value)}' object is not reversible`)
  return orEmpty(all[0], 'last item')
}

function reverse(env: Env, value: Value): Value {
  const text = textOf(value)
  if (text !== undefined) {
    const result = chars(text).reverse().join('')
    return value instanceof Markup ? new Markup(result) : result
  }
  if (backwards(env, value)) return reversed(env.run, value)
  if (isThing(value) && value.iterate) return toList(env.run, value).reverse()
  throw new Fault('FilterArgumentError', 'argument must be iterable')
}

function random(env: Env, value: Value): Value {
  const size = needSize(env.run, value)
  if (size === 0) return new Undefined('No random item, sequence was empty.')
  const picked = item(env, value, below(size))
  if (picked instanceof Undefined) throw new Fault('KeyError', 'random needs a sequence')
  return picked
}

function join(env: Env, value: Value, d?: Value, attribute?: Value): Value {
  const { run } = env
  const pick = attribute === undefined || attribute === null ? undefined : getter(env, attribute)
  const separator: Value = d === undefined ? '' : d
  const values = pick ? toList(run, value).map(pick) : itemsOf(run, value)
  const marked = env.escape.on && (separator instanceof Markup || values.some((one) => one instanceof Markup))
  const by = marked ? escape(run, separator).text : str(run, separator)
  let result = ''
  for (let i = 0; i < values.length; i++) {
    const one = values[i]!
    if (i > 0) result += by
    result += typeof one === 'string' && !marked ? one : marked ? escape(run, one).text : str(run, one)
    if (result.length > 64) run.text(result.length)
  }
  run.tick(values.length)
  return marked ? new Markup(result) : result
}

function sort(env: Env, value: Value, reverse?: Value, sensitive?: Value, attribute?: Value): Value[] {
  const picks = getters(env, attribute, isTrue(env, sensitive) ? undefined : ignoreCase)
  const all = toList(env.run, value)
  const keys = all.map((one) => (picks.length === 1 ? picks[0]!(one) : picks.map((pick) => pick(one))))
  const simple = picks.length > 1 || areAlike(keys)
  // Python compares lists of keys, which skips what is equal before asking which is less.
  return sortBy(env.run, all, simple ? keys : keys.map((key) => [key]), isTrue(env, reverse))
}

function dictSort(env: Env, value: Value, sensitive?: Value, by?: Value, reverse?: Value): Value[] {
  const which = by === undefined ? 'key' : textOf(by)
  if (which !== 'key' && which !== 'value') {
    throw new Fault('FilterArgumentError', 'You can only sort by either "key" or "value"')
  }
  const pairs = mapping(value).map(([key, one]) => new Tuple([key, one]))
  const change = isTrue(env, sensitive) ? (one: Value) => one : ignoreCase
  const keys = pairs.map(({ items: [key, one] }) => change(which === 'key' ? key! : one!))
  return sortBy(env.run, pairs, keys, isTrue(env, reverse))
}

function mapping(value: Value): [Value, Value][] {
  if (value instanceof Undefined) return value.fail()
  if (!(value instanceof Dict))
    throw new Fault('AttributeError', `'${typeName(value)}' object has no attribute 'items'`)
  return value.pairs()
}

function* unique(env: Env, value: Value, key: Getter): Generator<Value, undefined> {
  const seen = new Set<HashKey>()
  for (const one of each(env.run, value)) {
    const hash = hashKey(key(one))
    if (seen.has(hash)) continue
    seen.add(hash)
    yield one
  }
  return undefined
}

/** The first item of which no other is better. */
function extreme(order: '<' | '>'): Native {
  return native('case_sensitive? attribute?', (env, value, sensitive, attribute) =>
    best(env, value, order, keyGetter(env, sensitive, attribute)),
  )
}

function best(env: Env, value: Value, order: '<' | '>', key: Getter): Value {
  const source = iterate(env.run, value)
  const first = source.next()
  if (first === undefined) return new Undefined('No aggregated item, sequence was empty.')
  let found: Value = first
  let foundKey = key(found)
  for (let one = source.next(); one !== undefined; one = source.next()) {
    const oneKey = key(one)
    // Strictly better only: of equals the first stays.
    if (!ordered(env.run, oneKey, foundKey, order)) continue
    found = one
    foundKey = oneKey
  }
  return found
}

function sum(env: Env, value: Value, attribute?: Value, start?: Value): Value {
  const pick = getter(env, attribute)
  let total: Value = start === undefined ? 0 : start
  if (textOf(total) !== undefined)
    throw new Fault('TypeError', "sum() can't sum strings [use ''.join(seq) instead]")
  for (const one of each(env.run, value)) total = add(env.run, total, pick(one))
  return total
}

function groupBy(env: Env, value: Value, attribute?: Value, absent?: Value, sensitive?: Value): Value[] {
  const exact = isTrue(env, sensitive)
  const plain = getter(env, attribute, absent)
  const key: Getter = exact ? plain : (one) => ignoreCase(plain(one))
  const all = toList(env.run, value)
  const keys = all.map(key)
  const groups: { key: Value; members: Value[] }[] = []
  for (const place of orderOf(env.run, keys, false)) {
    const [one, oneKey] = [all[place]!, keys[place]!]
    const group = groups.at(-1)
    if (group && equals(env.run, group.key, oneKey)) group.members.push(one)
    else groups.push({ key: oneKey, members: [one] })
  }
  return groups.map(({ key: groupKey, members }) => {
    // The group is named as its first member spells it, though case did not count.
    const label = exact ? groupKey : plain(members[0]!)
    return new Tuple([label, members], ['grouper', 'list'])
  })
}

function* batch(env: Env, value: Value, count: Value, fill?: Value): Generator<Value, undefined> {
  let row: Value[] = []
  for (const one of each(env.run, value)) {
    // Compared as Python does: a count of 2.5 is never reached.
    if (equals(env.run, row.length, count)) {
      yield row
      row = []
    }
    row.push(one)
  }
  if (row.length > 0) {
    if (fill !== undefined && fill !== null && ordered(env.run, row.length, count, '<')) {
      const missing = wantInt(count) - row.length
      env.run.items(missing)
      for (let i = 0; i < missing; i++) row.push(fill)
    }
    yield row
  }
  return undefined
}

function* slice(env: Env, value: Value, slices: Value, fill?: Value): Generator<Value, undefined> {
  const all = toList(env.run, value)
  // Through the operators, for their faults: zero, or a text.
  const size = floorDivide(env.run, all.length, slices) as number
  const longer = modulo(env.run, all.length, slices) as number
  const count = wantInt(slices)
  let offset = 0
  for (let index = 0; index < count; index++) {
    const start = offset + index * size
    // The first parts get what is left over, one item each.
    if (index < longer) offset++
    const part = all.slice(start, offset + (index + 1) * size)
    if (fill !== undefined && fill !== null && index >= longer) part.push(fill)
    env.run.tick(part.length + 1)
    yield part
  }
  return undefined
}

function* items(env: Env, value: Value): Generator<Value, undefined> {
  if (value instanceof Undefined) return undefined
  if (!(value instanceof Dict)) throw new Fault('TypeError', 'Can only get item pairs from a mapping.')
  for (const pair of each(env.run, new View('dict_items', value))) yield pair
  return undefined
}
