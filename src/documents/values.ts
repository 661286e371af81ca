/** Reading values that callers give, by field type: what is stored, or what is wrong with it. */
import { isoTime } from '../core/clock.ts'
import { nearest } from '../core/schema.ts'
import { roundTo } from '../core/expression-values.ts'
import type { Field, FieldType } from './platform.ts'

/** A value as it will be stored, or the problem; `null` is no value. */
export type ReadValue = { readonly value: unknown } | { readonly problem: string }

/** Characters, where the field names no length of its own. */
const longest: Partial<Record<FieldType, number>> = { text: 500, long_text: 100_000 }
/** Enough for a nested value; what is larger is a file and belongs in an attachment. */
const maxJsonBytes = 65_536

/** How many digits after the point an amount of money has; undefined for fields of other types. */
export function placesOf({ type, precision }: Pick<Field, 'type' | 'precision'>): number | undefined {
  return type === 'currency' ? (precision ?? 2) : undefined
}

/** Reads one value of a field that is neither a table nor computed. */
export function readValue(
  field: Pick<Field, 'type' | 'options' | 'length' | 'precision'>,
  value: unknown,
): ReadValue {
  if (value === null || value === undefined || value === '') return { value: null }
  switch (field.type) {
    case 'text':
    case 'long_text':
      return readText(field, value)
    case 'number':
    case 'currency':
    case 'percent':
      return readNumber(field, value)
    case 'integer': {
      const number = numberOf(value)
      return Number.isSafeInteger(number)
        ? { value: number }
        : { problem: `must be a whole number, not ${show(value)}` }
    }
    case 'check':
      return readCheck(value)
    case 'date':
      return readDate(value)
    case 'datetime':
      return readDatetime(value)
    case 'select':
      return readOption(field.options, value)
    case 'link':
    case 'dynamic_link':
    case 'attachment':
      // Where it leads is checked when the document is saved.
      return typeof value === 'string' && value.length <= 200
        ? { value }
        : { problem: `must be the name of a document, not ${show(value)}` }
    case 'json':
      return JSON.stringify(value).length <= maxJsonBytes
        ? { value }
        : { problem: `must be at most ${maxJsonBytes} bytes of JSON` }
    default:
      return { problem: 'is a table of rows, not a value' }
  }
}

// Control characters, and what hides or reorders text from the people who review it: bidirectional
// overrides and Unicode tags (a way to smuggle instructions to a model past its user).
const hidden =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu

/** A text without characters that people cannot see. */
export function cleanText(text: string): string {
  return text.replace(hidden, '')
}

/** A value as an error message shows it. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

function readText(field: Pick<Field, 'type' | 'length'>, value: unknown): ReadValue {
  if (typeof value !== 'string' && typeof value !== 'number')
    return { problem: `must be a text, not ${show(value)}` }
  const text = cleanText(String(value))
  const limit = field.length ?? longest[field.type] ?? 500
  if (text.length > limit) return { problem: `must have at most ${limit} characters, not ${text.length}` }
  if (field.type === 'text' && /[\r\n]/.test(text)) return { problem: 'must be one line' }
  return { value: text.trim() === '' ? null : text }
}

function readNumber(field: Pick<Field, 'type' | 'precision'>, value: unknown): ReadValue {
  const number = numberOf(value)
  // Beyond 1e15 a binary number no longer holds the cents.
  if (number === undefined || Math.abs(number) > 1e15)
    return { problem: `must be a number, not ${show(value)}` }
  const precision = field.precision ?? (field.type === 'currency' ? 2 : undefined)
  return { value: precision === undefined ? number : roundTo(number, precision) }
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  // Some clients send every value as text.
  if (typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value)) return Number(value)
  return undefined
}

function readCheck(value: unknown): ReadValue {
  if (value === true || value === 1 || value === '1' || value === 'true') return { value: true }
  if (value === false || value === 0 || value === '0' || value === 'false') return { value: false }
  return { problem: `must be true or false, not ${show(value)}` }
}

function readDate(value: unknown): ReadValue {
  const problem = { problem: `must be a date such as 2026-03-31, not ${show(value)}` }
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return problem
  const time = Date.parse(`${value}T00:00:00Z`)
  return !Number.isNaN(time) && isoTime(time).slice(0, 10) === value ? { value } : problem
}

const datetimePattern =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$/

function readDatetime(value: unknown): ReadValue {
  const problem = { problem: `must be a time such as 2026-03-31T14:30:00Z, not ${show(value)}` }
  const match = typeof value === 'string' ? datetimePattern.exec(value) : null
  if (!match || 'problem' in readDate(match[1])) return problem
  const text = (value as string).replace(' ', 'T')
  // A time without a zone is UTC, everywhere.
  const time = Date.parse(match[2] !== undefined || text.length === 10 ? text : `${text}Z`)
  return Number.isNaN(time) ? problem : { value: isoTime(time) }
}

function readOption(options: readonly string[], value: unknown): ReadValue {
  if (typeof value === 'string' && options.includes(value)) return { value }
  const near = typeof value === 'string' ? nearest(value, options) : undefined
  const choices =
    options.length > 20 ? `one of ${options.length} options` : `one of ${options.map(show).join(', ')}`
  return {
    problem: `must be ${choices}, not ${show(value)}${near === undefined ? '' : `; did you mean "${near}"?`}`,
  }
}
