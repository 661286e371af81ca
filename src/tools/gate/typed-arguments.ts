import { isObject } from '#leaf/as-json.ts'
import { type JsonBudget, jsonIn, newJsonBudget } from '#leaf/strict-json.ts'
import { readAs, valueTypes } from '../../core/values.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * Converts the arguments of a call to the types of its schema: many clients send numbers, truth values, lists and objects
 * as text, and core/values.ts converts them. A text that is no such value stays as it came, for the check to name it.
 */
export function typedArguments(input: Json, args: unknown): unknown {
  const properties = input['properties']
  if (!isObject(properties) || !isObject(args)) return args
  let read: Record<string, unknown> | undefined
  const budget = newJsonBudget()
  for (const name of Object.keys(args)) {
    const value = Object.hasOwn(properties, name) ? typed(properties[name], args[name], budget) : args[name]
    // Few calls need a copy.
    if (value !== args[name]) (read ??= Object.fromEntries(Object.entries(args)))[name] = value
  }
  return read ?? args
}

function typed(property: unknown, given: unknown, budget: JsonBudget): unknown {
  if (!isObject(property) || property['type'] === 'string') return given
  if (typeof given !== 'string' && typeof given !== 'number') return given
  const types = [property['type']].flat()
  const isWhole = types.includes('object') || types.includes('array')
  if (isWhole && typeof given === 'string' && !types.includes('string')) return wholeOf(types, given, budget)
  const type = (['integer', 'number', 'boolean'] as const).find(
    (name) => valueTypes[name].schema.type === property['type'],
  )
  const read = type && readAs(type, given)
  return read && 'value' in read && typeof read.value !== 'bigint' ? read.value : given
}

/** Reads an object or a list, which many clients write as JSON in a text, or a list with commas. */
function wholeOf(types: readonly unknown[], text: string, budget: JsonBudget): unknown {
  const value = jsonIn(text, budget)
  if (
    types.includes(Array.isArray(value) ? 'array' : 'object') &&
    typeof value === 'object' &&
    value !== null
  )
    return value
  const isList = !types.includes('object') && text.trim() !== '' && !/[[{"]/.test(text)
  return isList ? text.split(',').map((part) => part.trim()) : text
}
