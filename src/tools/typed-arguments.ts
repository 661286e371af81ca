import { readAs, valueTypes } from '../core/values.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * The arguments of a call as its schema types them: many clients send numbers and truth values as text, and
 * core/values.ts says what they are. What is no such value stays as it came, for the check to name it.
 */
export function typedArguments(input: Json, args: unknown): unknown {
  const properties = input['properties']
  if (!isObject(properties) || !isObject(args)) return args
  let read: Record<string, unknown> | undefined
  for (const name of Object.keys(args)) {
    const value = Object.hasOwn(properties, name) ? typed(properties[name], args[name]) : args[name]
    // Few calls need a copy.
    if (value !== args[name]) (read ??= Object.fromEntries(Object.entries(args)))[name] = value
  }
  return read ?? args
}

function typed(property: unknown, given: unknown): unknown {
  if (!isObject(property) || (typeof given !== 'string' && typeof given !== 'number')) return given
  const type = (['integer', 'number', 'boolean'] as const).find(
    (name) => valueTypes[name].schema.type === property['type'],
  )
  const read = type && readAs(type, given)
  return read && 'value' in read && typeof read.value !== 'bigint' ? read.value : given
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
