/** What the types of prompt arguments (specification §4.6) are to the table of values in core/values.ts. */
import { RE2JS } from 're2js'
import { messageOf } from '../core/errors.ts'
import { isMissing, readAs, type ReadValue, type ValueType, valueText, valueTypes } from '../core/values.ts'
import { parseLossless } from '#jinja/lossless-json.ts'
import { Float } from '#jinja/values.ts'
import type { ArgumentType, PromptArgument } from './words.ts'

/** Makes a supplied value (never missing) the real value of one argument. */
export type Coercion = (supplied: unknown) => ReadValue

/** Tells what is wrong with an argument's own row: which property, and the fault. */
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

/** JSON of a prompt argument has at most so many characters and levels. */
const longestJson = 100_000
const deepestJson = 64

/** How an argument's values are read. */
export function coercionOf(argument: PromptArgument, fault: RowFault): Coercion {
  checkRow(argument, fault)
  const { type, pattern, required, allowedValues } = argument
  const matches = pattern === undefined ? undefined : compilePattern(pattern, fault)
  return (supplied) => {
    const read = readArgument(type, supplied, allowedValues)
    if ('problem' in read) return read
    if (type === 'string') return checkText(argument, matches, read.value as string)
    return required && Array.isArray(read.value) && type === 'multiselect' && read.value.length === 0
      ? { problem: 'is required' }
      : read
  }
}

/** A value as JSON and YAML have it; one that is wrong, or that JSON would change, stays as its author wrote it. */
export function readDefault(type: ArgumentType, given: unknown, allowedValues: readonly string[]): unknown {
  if (isMissing(given)) return null
  if (type === 'string' || type === 'json' || type === 'link') return given
  const read = readArgument(type, given, allowedValues)
  return 'problem' in read || typeof read.value === 'bigint' || read.value instanceof Float
    ? given
    : read.value
}

/** What can be suggested for an argument of which so much is typed. */
export function suggestions(argument: PromptArgument, typed: string): readonly string[] {
  const usual = isMissing(argument.default) ? '' : valueText(argument.default)
  return valueTypes[types[argument.type]].complete(typed, { options: argument.allowedValues }, usual)
}

function readArgument(type: ArgumentType, supplied: unknown, options: readonly string[]): ReadValue {
  switch (type) {
    case 'number':
      return readNumber(supplied)
    case 'json':
      return readJson(supplied)
    default:
      return readAs(types[type], supplied instanceof Float ? textOfFloat(supplied) : supplied, { options })
  }
}

/** A number as Python has it: one with a point or an exponent is a float, and 1.0 prints with its point. */
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

/** Arguments of prompts come as text, so JSON is read from it, without loss: 1.0 stays a float, keys keep their order. */
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

/** Linear is not quick: a pattern of the site's takes half a millisecond for a thousand characters of a caller's. */
const longestMatched = 20_000

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
  else if (matches && maxLength === undefined && length > longestMatched)
    problems.push(`must have at most ${characters(longestMatched)} where there is a pattern, has ${length}`)
  else if (matches && !matches(value)) problems.push(`does not match ${pattern}`)
  return problems.length > 0 ? { problem: problems.join(' and ') } : { value }
}

/** Author-supplied patterns run on a linear-time engine and match the whole value (D6). */
function compilePattern(pattern: string, fault: RowFault): ((value: string) => boolean) | undefined {
  try {
    const compiled = RE2JS.compile(pattern)
    return (value) => compiled.matches(value)
  } catch (error) {
    fault('validation_regex', `is not a usable pattern: ${messageOf(error)}`)
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
