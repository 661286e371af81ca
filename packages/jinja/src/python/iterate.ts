/** Going through values one item at a time, and the lazy values that Jinja2's filters make. */
import { Fault, type Run } from '../limits.ts'
import { chars, lengthOf } from './text.ts'
import {
  Dict,
  Float,
  isThing,
  Markup,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Iter,
  type Thing,
  type Value,
} from '../values.ts'

/** A generator: gone through once, at most one item ahead of its reader. */
export class Lazy implements Thing, Iter {
  readonly type: string
  private readonly name: string
  private readonly source: Iterator<Value>
  private busy = false

  constructor(name: string, source: Iterator<Value>, type = 'generator') {
    this.name = name
    this.source = source
    this.type = type
  }

  next(): Value | undefined {
    // A generator that reads itself would recurse without end.
    if (this.busy) throw new Fault('ValueError', 'generator already executing')
    this.busy = true
    const step = this.source.next()
    this.busy = false
    return step.done ? undefined : step.value
  }

  iterate(): Iter {
    return this
  }

  show(): string {
    const name = this.type === 'generator' ? `generator object ${this.name}` : `${this.type} object`
    return `<${name} at 0x7f0000000000>`
  }
}

/** `iter(value)`; a TypeError for what has no items. */
export function iterate(run: Run, value: Value): Iter {
  if (Array.isArray(value)) return overList(run, value)
  if (value instanceof Tuple) return overList(run, value.items)
  if (value instanceof Dict) return overDict(run, value, value.entries.keys(), (hash) => value.original(hash))
  if (value instanceof Range) return overRange(run, value)
  const text = textOf(value)
  if (text !== undefined) {
    run.tick(text.length)
    // As in Python, even the characters of Markup come out as plain text.
    return overList(run, chars(text))
  }
  if (value instanceof Undefined) return NOTHING
  if (isThing(value) && value.iterate) return value.iterate(run)
  throw new Fault('TypeError', `'${typeName(value)}' object is not iterable`)
}

/** Whether a value has items in an order of their own; nothing has none of them. */
export function isSequence(value: Value): boolean {
  if (textOf(value) !== undefined || Array.isArray(value)) return true
  return (
    value instanceof Tuple || value instanceof Dict || value instanceof Range || value instanceof Undefined
  )
}

/** Whether a loop can go through it. */
export function isIterable(value: Value): boolean {
  return isSequence(value) || (isThing(value) && value.iterate !== undefined)
}

const NOTHING: Iter = { next: () => undefined }

/** Over a list as it stands at each step, so that appending meanwhile is seen (and counted). */
function overList(run: Run, items: Value[]): Iter {
  let index = 0
  return {
    next() {
      if (index >= items.length) return undefined
      run.tick(1)
      return items[index++]
    },
  }
}

/** Over a dict, by its keys or entries, as `shown` makes values of them. */
export function overDict<Part>(
  run: Run,
  dict: Dict,
  parts: Iterator<Part>,
  shown: (part: Part) => Value,
): Iter {
  const { size } = dict
  return {
    next() {
      // What Python refuses too: the walk would miss entries or never end.
      if (dict.size !== size) throw new Fault('RuntimeError', 'dictionary changed size during iteration')
      run.tick(1)
      const step = parts.next()
      return step.done ? undefined : shown(step.value)
    },
  }
}

function overRange(run: Run, range: Range): Iter {
  let index = 0
  return {
    next() {
      if (index >= range.length) return undefined
      run.tick(1)
      return range.at(index++)
    },
  }
}

/** `list(value)`: always a new array. */
export function toList(run: Run, value: Value): Value[] {
  if (Array.isArray(value)) {
    run.items(value.length)
    return value.slice()
  }
  if (value instanceof Tuple) {
    run.items(value.items.length)
    return value.items.slice()
  }
  const items: Value[] = []
  const source = iterate(run, value)
  for (let item = source.next(); item !== undefined; item = source.next()) {
    items.push(item)
    if (items.length > run.limits.collection) run.items(items.length)
  }
  return items
}

/** The items of a value for reading only; copies no list. */
export function itemsOf(run: Run, value: Value): Value[] {
  return Array.isArray(value) ? value : value instanceof Tuple ? value.items : toList(run, value)
}

/** As a JavaScript generator, for filters that are lazy themselves. */
export function* each(run: Run, value: Value): Generator<Value, undefined> {
  const source = iterate(run, value)
  for (let item = source.next(); item !== undefined; item = source.next()) yield item
  return undefined
}

/** `len(value)` where there is one. */
export function sizeOf(run: Run, value: Value): number | undefined {
  if (Array.isArray(value)) return value.length
  if (value instanceof Dict) return value.size
  if (value instanceof Tuple) return value.items.length
  if (value instanceof Range) return value.length
  if (value instanceof Undefined) return 0
  const text = textOf(value)
  if (text !== undefined) return lengthOf(text)
  if (typeof value !== 'object' || value === null || value instanceof Float || value instanceof Markup)
    return undefined
  return value.size?.(run)
}

/** `len(value)`; a TypeError where there is none. */
export function needSize(run: Run, value: Value): number {
  const size = sizeOf(run, value)
  if (size === undefined) throw new Fault('TypeError', `object of type '${typeName(value)}' has no len()`)
  return size
}

/** `bool(value)`. */
export function truth(run: Run, value: Value): boolean {
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string':
      return value !== ''
    case 'number':
      return value !== 0
    case 'bigint':
      return value !== 0n
    default:
  }
  if (value === null || value instanceof Undefined) return false
  if (Array.isArray(value)) return value.length > 0
  if (value instanceof Dict) return value.size > 0
  if (value instanceof Float) return value.value !== 0
  if (value instanceof Markup) return value.text !== ''
  return sizeOf(run, value) !== 0
}
