import { RE2JS } from 're2js'
import { messageOf } from '../core/errors.ts'
import { parseLossless } from '../jinja/lossless-json.ts'
import { Float } from '../jinja/values.ts'
import type { PromptArgument } from './words.ts'

/** What a supplied value became, or what is wrong with it. */
export type Coerced = { readonly value: unknown } | { readonly problem: string }

/** Makes a supplied value (never missing) the real value of one argument. */
export type Coercion = (supplied: unknown) => Coerced

/** Tells what is wrong with an argument's own row: which property, and the fault. */
type RowFault = (property: string, message: string) => void

/** No prompt argument is longer, whatever its own bounds say. */
const longestText = 100_000
const deepestJson = 64

/** The coercion of an argument's type (specification §4.6). */
export function coercionOf(argument: PromptArgument, fault: RowFault): Coercion {
  checkRow(argument, fault)
  return makers[argument.type](argument, fault)
}

const makers: Readonly<
  Record<PromptArgument['type'], (argument: PromptArgument, fault: RowFault) => Coercion>
> = {
  string: text,
  number: () => number,
  boolean: () => boolean,
  select: ({ allowedValues }) => select(allowedValues),
  multiselect: ({ allowedValues }) => multiselect(allowedValues),
  date: () => date,
  datetime: () => datetime,
  json: () => json,
  link: () => plainText,
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

function text({ pattern, minLength, maxLength }: PromptArgument, fault: RowFault): Coercion {
  const matches = pattern === undefined ? undefined : compilePattern(pattern, fault)
  return (supplied) => {
    const plain = plainText(supplied)
    if ('problem' in plain) return plain
    const value = String(plain.value)
    const problems: string[] = []
    const length = Array.from(value).length
    if (minLength !== undefined && length < minLength) {
      problems.push(`must have at least ${characters(minLength)}, has ${length}`)
    }
    if (maxLength !== undefined && length > maxLength) {
      problems.push(`must have at most ${characters(maxLength)}, has ${length}`)
    } else if (matches && !matches(value)) {
      problems.push(`does not match ${pattern}`)
    }
    return problems.length > 0 ? { problem: problems.join(' and ') } : { value }
  }
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

function plainText(supplied: unknown): Coerced {
  const value = scalarText(supplied)
  if (value === undefined) return { problem: `must be text, not ${kindOf(supplied)}` }
  if (value.length > longestText) return { problem: `must have at most ${characters(longestText)}` }
  return { value }
}

function number(supplied: unknown): Coerced {
  if (typeof supplied === 'bigint' || supplied instanceof Float) return { value: supplied }
  if (typeof supplied === 'number' && Number.isFinite(supplied)) return { value: supplied }
  const text = typeof supplied === 'string' ? supplied.trim() : ''
  if (/^[+-]?\d{1,400}$/.test(text)) return { value: wholeNumber(text) }
  // A text with a point is a float, as 1.0 is in Python; bare, it would print as 1.
  if (/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?$/i.test(text)) {
    const value = Number(text)
    if (Number.isFinite(value)) return { value: Number.isInteger(value) ? new Float(value) : value }
  }
  return { problem: `must be a number, not ${shown(supplied)}` }
}

function wholeNumber(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text.replace(/^\+/, ''))
}

function boolean(supplied: unknown): Coerced {
  const word = typeof supplied === 'string' ? supplied.trim().toLowerCase() : supplied
  if (word === true || word === 'true' || word === '1' || word === 1) return { value: true }
  if (word === false || word === 'false' || word === '0' || word === 0) return { value: false }
  return { problem: `must be true or false, not ${shown(supplied)}` }
}

function select(allowed: readonly string[]): Coercion {
  return (supplied) => {
    const value = scalarText(supplied)
    if (value !== undefined && allowed.includes(value)) return { value }
    return { problem: `must be one of ${allowed.join(', ')}, not ${shown(supplied)}` }
  }
}

/** A list, or one text with commas as MCP clients send it; the order of the caller, each value once. */
function multiselect(allowed: readonly string[]): Coercion {
  return (supplied) => {
    const given = listOf(supplied)
    if (!given) return { problem: `must be a list or text with commas, not ${kindOf(supplied)}` }
    const values = [...new Set(given.map((value) => scalarText(value)?.trim() ?? shown(value)))].filter(
      (v) => v !== '',
    )
    const wrong = values.filter((value) => !allowed.includes(value))
    if (wrong.length > 0) {
      return {
        problem: `must be some of ${allowed.join(', ')}, not ${wrong.map((value) => shown(value)).join(', ')}`,
      }
    }
    return values.length > 0 ? { value: values } : { problem: `must be some of ${allowed.join(', ')}` }
  }
}

function listOf(supplied: unknown): unknown[] | undefined {
  if (Array.isArray(supplied)) return supplied
  if (typeof supplied !== 'string') return scalarText(supplied) === undefined ? undefined : [supplied]
  if (supplied.trim().startsWith('[')) {
    const parsed = parseJson(supplied)
    if (Array.isArray(parsed)) return parsed
  }
  return supplied.split(',')
}

function date(supplied: unknown): Coerced {
  const text = typeof supplied === 'string' ? supplied.trim() : ''
  if (isDate(text)) return { value: text }
  return { problem: `must be a date such as 2026-01-31, not ${shown(supplied)}` }
}

function datetime(supplied: unknown): Coerced {
  const text = typeof supplied === 'string' ? supplied.trim() : ''
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d)(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/i.exec(text)
  if (
    parts &&
    isDate(parts[1]!) &&
    Number(parts[2]) < 24 &&
    Number(parts[3]) < 60 &&
    Number((parts[4] ?? ':0').slice(1)) < 60
  ) {
    return { value: text.replace(' ', 'T') }
  }
  return { problem: `must be a date and time such as 2026-01-31T09:30:00Z, not ${shown(supplied)}` }
}

function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)
  if (!parts) return false
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number]
  const time = new Date(Date.UTC(year, month - 1, day))
  return time.getUTCMonth() === month - 1 && time.getUTCDate() === day && year > 0
}

function json(supplied: unknown): Coerced {
  const value = typeof supplied === 'string' ? parseJson(supplied) : supplied
  if (value === undefined) return { problem: 'must be JSON' }
  if (isDeeper(value, deepestJson)) return { problem: `must not be nested deeper than ${deepestJson}` }
  return { value }
}

/** Without loss: 1.0 stays a float, and objects keep the order of their keys. */
function parseJson(text: string): unknown {
  if (text.length > longestText) return undefined
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

/** The text of a text, number or boolean; undefined for anything else. */
function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (value instanceof Float)
    return Number.isInteger(value.value) ? value.value.toFixed(1) : String(value.value)
  return ['number', 'boolean', 'bigint'].includes(typeof value) ? String(value) : undefined
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function shown(value: unknown): string {
  const text = scalarText(value)
  if (text === undefined) return kindOf(value)
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}…` : text)
}

function characters(count: number): string {
  return `${count} character${count === 1 ? '' : 's'}`
}
