/** What `sort(attribute='a.b')` and its like look up in each item. */
import { Fault } from '../limits.ts'
import { item } from '../python/members.ts'
import { textOf, typeName, Undefined, type Env, type Value } from '../values.ts'

/** Takes a key out of an item. */
export type Getter = (value: Value) => Value

/** Text in lower case, anything else as it is: how filters ignore case. */
export function ignoreCase(value: Value): Value {
  return typeof value === 'string' ? value.toLowerCase() : (textOf(value)?.toLowerCase() ?? value)
}

/** A getter for an attribute path such as `address.city` or `0.name`; the item itself when there is none. */
export function getter(env: Env, attribute: Value | undefined, absent?: Value, then?: Getter): Getter {
  const parts = pathOf(attribute)
  return (value) => {
    let found = value
    for (const part of parts) {
      found = item(env, found, part)
      if (absent !== undefined && absent !== null && found instanceof Undefined) found = absent
    }
    return then ? then(found) : found
  }
}

/** Getters for a comma-separated list of attribute paths. */
export function getters(env: Env, attribute: Value | undefined, then?: Getter): Getter[] {
  const text = textOf(attribute)
  const paths = text === undefined ? [attribute] : text.split(',')
  return paths.map((path) => getter(env, path, undefined, then))
}

function pathOf(attribute: Value | undefined): Value[] {
  if (attribute === undefined || attribute === null) return []
  const text = textOf(attribute)
  if (text !== undefined) return text.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
  if (Array.isArray(attribute)) throw new Fault('TypeError', `unhashable attribute: '${typeName(attribute)}'`)
  return [attribute]
}
