/** Arguments on their way in: plain data copied into the template's own values. */
import { Fault } from './limits.ts'
import { Dict, Float, integer, type Value } from './values.ts'

/** How deeply arguments may nest. */
const MAX_DEPTH = 200

/**
 * A value of the host as one of ours. Numbers without a fraction become ints unless boxed as
 * `Float`; objects and Maps become dicts in their own order. Anything that is not plain data
 * is refused: a template must never hold an object of the host's.
 */
export function fromHost(value: unknown, name: string, depth = 0): Value {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return fromNumber(value)
    case 'bigint':
      return integer(value)
    case 'undefined':
      return null
    case 'object':
      return value === null ? null : fromObject(value, name, depth)
    default:
      throw new Fault('TypeError', `argument '${name}' holds a ${typeof value}, which is not plain data`)
  }
}

function fromNumber(value: number): Value {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return value + 0 || (value === 0 ? 0 : value)
  // What JSON writes without an exponent was an int; above that it was a float.
  return Math.abs(value) < 1e21 ? BigInt(value) : new Float(value)
}

function fromObject(value: object, name: string, depth: number): Value {
  if (depth > MAX_DEPTH)
    throw new Fault('ValueError', `argument '${name}' nests deeper than ${MAX_DEPTH} levels`)
  if (value instanceof Float) return Number.isInteger(value.value) ? value : value.value
  if (Array.isArray(value)) {
    const items: Value[] = []
    for (let i = 0; i < value.length; i++) items.push(fromHost(value[i], name, depth + 1))
    return items
  }
  const dict = new Dict()
  if (value instanceof Map) {
    for (const [key, item] of value) dict.set(fromHost(key, name, depth + 1), fromHost(item, name, depth + 1))
    return dict
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new Fault('TypeError', `argument '${name}' holds an object that is not plain data`)
  }
  const source = value as Readonly<Record<string, unknown>>
  for (const key of Object.keys(source)) dict.setText(key, fromHost(source[key], name, depth + 1))
  return dict
}
