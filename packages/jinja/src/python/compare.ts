/** Equality, order and membership, as Python defines them between its kinds. */
import { Fault, type Run } from '../limits.ts'
import { compareNumbers } from './numbers.ts'
import { isPlain, textLess } from './text.ts'
import {
  Dict,
  isInt,
  isNumber,
  isThing,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from '../values.ts'

/** The comparisons that only some kinds allow; equality is there for all. */
export type Order = '<' | '<=' | '>' | '>='

/** `a == b`. */
export function equals(run: Run, a: Value, b: Value): boolean {
  if (typeof a === 'string' && typeof b === 'string') {
    if (a.length === b.length) run.reads(a.length)
    return a === b
  }
  if (isNumber(a)) return isNumber(b) && compareNumbers(a, b) === 0
  if (a === b) return true
  if (a === null || b === null) return false
  const text = textOf(a)
  if (text !== undefined) return text === textOf(b)
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(run, a, b)
  if (a instanceof Tuple) return b instanceof Tuple && sameItems(run, a.items, b.items)
  if (a instanceof Dict) return b instanceof Dict && sameEntries(run, a, b)
  if (a instanceof Undefined) return b instanceof Undefined
  if (a instanceof Range && b instanceof Range) {
    if (a.length !== b.length) return false
    return a.length === 0 || (a.start === b.start && (a.length === 1 || a.step === b.step))
  }
  return (isThing(a) && a.equals?.(b, run)) || false
}

function sameItems(run: Run, a: Value[], b: Value[]): boolean {
  if (a.length !== b.length) return false
  // Counted as depth, because lists can contain themselves.
  run.enter()
  for (let i = 0; i < a.length; i++) {
    run.tick(1)
    if (a[i] !== b[i] && !equals(run, a[i]!, b[i]!)) {
      run.leave()
      return false
    }
  }
  run.leave()
  return true
}

function sameEntries(run: Run, a: Dict, b: Dict): boolean {
  if (a.size !== b.size) return false
  run.enter()
  for (const [hash, value] of a.entries) {
    run.tick(1)
    const other = b.entries.get(hash)
    if (other === undefined || (value !== other && !equals(run, value, other))) {
      run.leave()
      return false
    }
  }
  run.leave()
  return true
}

/** `a < b` and its kin; a TypeError between kinds that have no order. */
export function ordered(run: Run, a: Value, b: Value, order: Order): boolean {
  if (isNumber(a) && isNumber(b)) return accepts(order, compareNumbers(a, b))
  const left = textOf(a)
  const right = textOf(b)
  if (left !== undefined && right !== undefined) {
    run.reads(left.length + right.length)
    return accepts(order, left === right ? 0 : textLess(left, right) ? -1 : 1)
  }
  if (Array.isArray(a) && Array.isArray(b)) return orderedItems(run, a, b, order)
  if (a instanceof Tuple && b instanceof Tuple) return orderedItems(run, a.items, b.items, order)
  if (a instanceof Undefined) return a.fail()
  if (b instanceof Undefined) return b.fail()
  throw new Fault(
    'TypeError',
    `'${order}' not supported between instances of '${typeName(a)}' and '${typeName(b)}'`,
  )
}

function orderedItems(run: Run, a: Value[], b: Value[], order: Order): boolean {
  run.enter()
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    run.tick(1)
    if (a[i] === b[i] || equals(run, a[i]!, b[i]!)) continue
    const result = ordered(run, a[i]!, b[i]!, order)
    run.leave()
    return result
  }
  run.leave()
  return accepts(order, a.length - b.length)
}

function accepts(order: Order, comparison: number): boolean {
  switch (order) {
    case '<':
      return comparison < 0
    case '<=':
      return comparison <= 0
    case '>':
      return comparison > 0
    default:
      return comparison >= 0
  }
}

/** `item in container`. */
export function contains(run: Run, container: Value, item: Value): boolean {
  const text = textOf(container)
  if (text !== undefined) {
    const part = textOf(item)
    if (part !== undefined) {
      run.text(text.length)
      return text.includes(part)
    }
    if (item instanceof Undefined) return item.fail()
    throw new Fault('TypeError', `'in <string>' requires string as left operand, not ${typeName(item)}`)
  }
  if (Array.isArray(container)) return indexIn(run, container, item) >= 0
  if (container instanceof Tuple) return indexIn(run, container.items, item) >= 0
  if (container instanceof Dict) return container.has(item)
  if (container instanceof Range) return inRange(container, item)
  if (container instanceof Undefined) return false
  if (isThing(container) && container.iterate) {
    const items = container.iterate(run)
    for (let next = items.next(); next !== undefined; next = items.next()) {
      run.tick(1)
      if (next === item || equals(run, next, item)) return true
    }
    return false
  }
  throw new Fault('TypeError', `argument of type '${typeName(container)}' is not iterable`)
}

/** The place of the first item that is or equals the one given; -1 when there is none. */
export function indexIn(run: Run, items: Value[], item: Value, from = 0, to = items.length): number {
  for (let i = from; i < to && i < items.length; i++) {
    run.tick(1)
    if (items[i] === item || equals(run, items[i]!, item)) return i
  }
  return -1
}

/** Computed, not searched: a range is never written out. */
function inRange(range: Range, item: Value): boolean {
  if (!isNumber(item)) return false
  const number = Number(isInt(item) ? item : typeof item === 'number' ? item : item.value)
  const steps = (number - range.start) / range.step
  return Number.isInteger(steps) && steps >= 0 && steps < range.length
}

/** `value is other`: the same object, or the same small value. */
export function same(a: Value, b: Value): boolean {
  if (a === b) return true
  return a instanceof Markup && b instanceof Markup ? a.text === '' && b.text === '' : false
}

/** Whether all are texts, or all numbers that JavaScript orders as Python does. */
export function areAlike(keys: readonly Value[]): boolean {
  return (
    keys.every((key) => typeof key === 'string') ||
    keys.every((key) => typeof key === 'number' && !Number.isNaN(key))
  )
}

/** Sorts as Python's `sorted` does: stable, using only `<` between keys. */
export function sortBy(run: Run, items: Value[], keys: Value[], reverse: boolean): Value[] {
  return orderOf(run, keys, reverse).map((index) => items[index]!)
}

/** Returns the places of the keys in the order of `sortBy`. */
export function orderOf(run: Run, keys: Value[], reverse: boolean): number[] {
  run.items(keys.length)
  return keys.map((_, index) => index).sort(comparison(run, keys, reverse))
}

function comparison(run: Run, keys: Value[], reverse: boolean): (i: number, j: number) => number {
  const sign = reverse ? -1 : 1
  if (typeof keys[0] === 'number' && areAlike(keys)) {
    const numbers = keys as number[]
    return (i, j) => {
      run.tick(1)
      return numbers[i]! < numbers[j]! ? -sign : numbers[i]! > numbers[j]! ? sign : 0
    }
  }
  if (keys.every((key) => typeof key === 'string' && isPlain(key))) {
    const texts = keys as string[]
    return (i, j) => {
      const [a, b] = [texts[i]!, texts[j]!]
      run.tick(1)
      run.reads(a.length + b.length)
      return a < b ? -sign : a > b ? sign : 0
    }
  }
  return (i, j) => {
    run.tick(1)
    // Reversed by swapping, so that equal keys keep their order as in Python.
    const [a, b] = reverse ? [keys[j]!, keys[i]!] : [keys[i]!, keys[j]!]
    if (typeof a === 'string' && typeof b === 'string') {
      run.reads(a.length + b.length)
      return a === b ? 0 : textLess(a, b) ? -1 : 1
    }
    if (ordered(run, a, b, '<')) return -1
    return ordered(run, b, a, '<') ? 1 : 0
  }
}
