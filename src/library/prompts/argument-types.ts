/** Maps the types of prompt arguments (specification §4.6) to the table of values in core/values.ts. */
import { messageOf } from '#leaf/errors.ts'
import { unusable, wholePattern } from '#leaf/pattern.ts'
import { isMissing, readAs, type ReadValue, type ValueType, valueText, valueTypes } from '../../core/values.ts'
import { parseLossless } from '#jinja/lossless-json.ts'
import { Float } from '#jinja/values.ts'
import type { ArgumentType, PromptArgument } from '../words.ts'

/** Turns a supplied value (never missing) into the real value of one argument; days may come in words. */
export type Coercion = (supplied: unknown, now: number) => ReadValue

/** Reports a fault of an argument's own row: the property and the message. */
type RowFault = (property: string, message: string) => void

const types: Readonly<Record<ArgumentType, ValueType>> = {
  string: 'text',
  number: 'number',
  boolean: 'boolean',
  select: 'select',
  multiselect: 'multiselect',
  date: 'date',
  datetime: 'datetime',
  json: 'json',
  link: 'link',
}

/** Limits of the JSON of a prompt argument: characters and levels of nesting. */
const longestJson = 100_000
const deepestJson = 64

/** Returns the function that reads an argument's values. */
export function coercionOf(argument: PromptArgument, fault: RowFault): Coercion {
  checkRow(argument, fault)
  const { type, pattern, required, allowedValues } = argument
  const matches = pattern === undefined ? undefined : readPattern(pattern, fault)
  return (supplied, now) => {
    const read = readArgument(type, supplied, allowedValues, now)
    if ('problem' in read) return read
    if (type === 'string') return checkText(argument, matches, read.value as string)
    return required && Array.isArray(read.value) && type === 'multiselect' && read.value.length === 0
      ? { problem: 'is required' }
      : read
  }
}

/** Reads a default as JSON and YAML have it; a value that is wrong, or that JSON would change, stays as its author wrote it. */
export function readDefault(type: ArgumentType, given: unknown, allowedValues: readonly string[]): unknown {
  if (isMissing(given)) return null
  if (type === 'string' || type === 'json' || type === 'link') return given
  const read = readArgument(type, given, allowedValues)
  return 'problem' in read || typeof read.value === 'bigint' || read.value instanceof Float
    ? given
    : read.value
}

/** Returns suggestions for an argument that begin with the typed text. */
export function suggestions(argument: PromptArgument, typed: string): readonly string[] {
  const usual = isMissing(argument.default) ? '' : valueText(argument.default)
  return valueTypes[types[argument.type]].complete(typed, { options: argument.allowedValues }, usual)
}

function readArgument(
  type: ArgumentType,
  supplied: unknown,
  options: readonly string[],
  now?: number,
): ReadValue {
  switch (type) {
    case 'number':
      return readNumber(supplied)
    case 'json':
      return readJson(supplied)
    default:
      return readAs(types[type], supplied instanceof Float ? textOfFloat(supplied) : supplied, { options, ...(now !== undefined && { now }) })
  }
}

/** Reads a number as Python does: with a point or an exponent it is a float, and 1.0 prints with its point. */
function readNumber(supplied: unknown): ReadValue {
  if (supplied instanceof Float) return { value: supplied }
  const read = readAs('number', supplied)
  return 'value' in read &&
    Number.isInteger(read.value) &&
    typeof supplied === 'string' &&
    /[.e]/i.test(supplied)
    ? { value: new Float(read.value as number) }
    : read
}

/** Reads JSON from text, as arguments of prompts come as text; nothing is lost: 1.0 stays a float, keys keep their order. */
function readJson(supplied: unknown): ReadValue {
  const value = typeof supplied === 'string' ? parsed(supplied) : supplied
  if (value === undefined) return { problem: 'must be JSON' }
  return isDeeper(value, deepestJson)
    ? { problem: `must not be nested deeper than ${deepestJson}` }
    : readAs('json', value)
}

function parsed(text: string): unknown {
  if (text.length > longestJson) return undefined
  try {
    return parseLossless(text)
  } catch {
    return undefined
  }
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Float) return false
  const inner: unknown[] = value instanceof Map ? [...value.values()] : Object.values(value)
  return depth === 0 || inner.some((item) => isDeeper(item, depth - 1))
}

function textOfFloat({ value }: Float): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value)
}

function checkText(
  { pattern, minLength, maxLength }: PromptArgument,
  matches: ((value: string) => boolean) | undefined,
  value: string,
): ReadValue {
  const problems: string[] = []
  const length = Array.from(value).length
  if (minLength !== undefined && length < minLength)
    problems.push(`must have at least ${characters(minLength)}, has ${length}`)
  if (maxLength !== undefined && length > maxLength)
    problems.push(`must have at most ${characters(maxLength)}, has ${length}`)
  else
    try {
      if (matches?.(value) === false) problems.push(`does not match ${pattern}`)
    } catch (error) {
      problems.push(messageOf(error))
    }
  return problems.length > 0 ? { problem: problems.join(' and ') } : { value }
}

function readPattern(pattern: string, fault: RowFault): ((value: string) => boolean) | undefined {
  try {
    return wholePattern(pattern)
  } catch (error) {
    fault('validation_regex', unusable(error))
    return undefined
  }
}

function checkRow(argument: PromptArgument, fault: RowFault): void {
  const { type, allowedValues, pattern, minLength, maxLength, doctype } = argument
  const choice = type === 'select' || type === 'multiselect'
  if (choice && allowedValues.length === 0) fault('allowed_values', `a ${type} needs allowed values`)
  if (!choice && allowedValues.length > 0)
    fault('allowed_values', `only select and multiselect have allowed values, not ${type}`)
  if (type !== 'string') {
    if (pattern !== undefined) fault('validation_regex', `only string arguments have a pattern, not ${type}`)
    if (minLength !== undefined) fault('min_length', `only string arguments have length bounds, not ${type}`)
    if (maxLength !== undefined) fault('max_length', `only string arguments have length bounds, not ${type}`)
  }
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength) {
    fault('min_length', `is above max_length (${maxLength})`)
  }
  if (type === 'link' && doctype === undefined) fault('doctype', 'a link needs the doctype that it links to')
  if (type !== 'link' && doctype !== undefined)
    fault('doctype', `only link arguments have a doctype, not ${type}`)
}

function characters(count: number): string {
  return `${count} character${count === 1 ? '' : 's'}`
}
