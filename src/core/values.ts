/**
 * The types of values: how each is read, completed and described. Prompt arguments, fields, filters,
 * defaults and the arguments of tools are all read here, so that they agree.
 *
 * The rule: a value may come as itself or as text, since many clients send only text. Blanks around it
 * do not count, nor does the case of `true` and `false`; a number may have a sign, an exponent, and
 * its point at either end. A date given for a time is the first moment of that date, and a time without
 * a zone is in UTC. Ambiguous values are refused: `1,5`, `0x10`, `1_000`, `yes`, `31.3.2026`, an option
 * in another spelling, an hour or a zone that no clock has.
 */
import { jsonOr } from '#leaf/as-json.ts'
import { didYouMean } from '#leaf/names.ts'
import { isDate, orInWords, spanOf } from '#leaf/days.ts'
import { isoTime } from '#leaf/clock.ts'
import { roundTo } from '#state/questions.ts'
import type { ColumnType } from '#sandbox/tables.ts'

/** The value that was read, or the problem with it. */
export type ReadValue = { readonly value: unknown } | { readonly problem: string }

/** The limits of one argument or field, besides its type. */
export interface Bounds {
  /** The choices of `select` and `multiselect`. */
  readonly options?: readonly string[]
  /** The most characters of a text, or bytes of JSON. */
  readonly longest?: number
  readonly oneLine?: boolean
  /** The number of digits after the point that numbers are rounded to. */
  readonly places?: number
  /** The largest number, regardless of sign. */
  readonly most?: number
  /** Set for documents: a text has no invisible characters, a time is an instant in UTC. */
  readonly stored?: boolean
  /** The present time, in milliseconds since the epoch, where days may come in words (see days.ts). */
  readonly now?: number
  /** The end of a day or a period that is meant, where only one moment can be; `both` refuses all that have two. */
  readonly edge?: 'start' | 'end' | 'both'
}

interface ValueKind {
  read(given: unknown, bounds: Bounds): ReadValue
  /** Suggests values to somebody who has typed this much; `usual` is a value that is often meant. */
  complete(typed: string, bounds: Bounds, usual: string): readonly string[]
  readonly column: ColumnType
  /** The JSON Schema of such a value. */
  readonly schema: { readonly type?: string; readonly format?: string }
}

/** The table of all value types. */
export const valueTypes = {
  text: { read: readText, complete: usually, column: 'text', schema: { type: 'string' } },
  number: { read: readNumber, complete: usually, column: 'number', schema: { type: 'number' } },
  integer: { read: readInteger, complete: usually, column: 'integer', schema: { type: 'integer' } },
  decimal: { read: readDecimal, complete: usually, column: 'decimal', schema: { type: 'number' } },
  boolean: {
    read: readBoolean,
    complete: (typed) => beginning(['true', 'false'], typed),
    column: 'boolean',
    schema: { type: 'boolean' },
  },
  date: { read: readDate, complete: usually, column: 'date', schema: { type: 'string', format: 'date' } },
  datetime: {
    read: readDatetime,
    complete: usually,
    column: 'datetime',
    schema: { type: 'string', format: 'date-time' },
  },
  select: {
    read: readOption,
    complete: (typed, { options = [] }) => beginning(options, typed),
    column: 'text',
    schema: { type: 'string' },
  },
  multiselect: { read: readOptions, complete: completeOptions, column: 'json', schema: { type: 'array' } },
  // The documents decide what a link leads to and which targets there are.
  link: { read: readName, complete: nothing, column: 'text', schema: { type: 'string' } },
  json: { read: readJson, complete: nothing, column: 'json', schema: {} },
} as const satisfies Readonly<Record<string, ValueKind>>

/** A type of value; arguments, fields and filters have their own names for it. */
export type ValueType = keyof typeof valueTypes

/** Reads a value that is present. */
export function readAs(type: ValueType, given: unknown, bounds: Bounds = {}): ReadValue {
  return valueTypes[type].read(given, bounds)
}

/** True when there is no value; clients send an empty text for what was left blank. */
export function isMissing(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === ''
}

/** Returns a value as people read it. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value)
}

/** Returns a value as an error message shows it. */
export function show(value: unknown): string {
  const text =
    typeof value === 'bigint' || typeof value === 'symbol'
      ? String(value)
      : (JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part)) ??
        String(value))
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

// Control characters, and characters that hide or reorder text from the people who review it: bidirectional
// overrides and Unicode tags (a way to smuggle instructions to a model past its user).
const hidden =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu

/** Returns a text without characters that people cannot see. */
export function cleanText(text: string): string {
  return text.replace(hidden, '')
}

/** The default maximum lengths of every text, name and list. */
const longestText = 100_000
const longestName = 200
/** The number of digits that a number keeps without loss; money stays within it. */
const mostDigits = 15

function readText(given: unknown, { longest = longestText, oneLine, stored }: Bounds): ReadValue {
  const plain = scalarText(given)
  if (plain === undefined) return { problem: `must be a text, not ${show(given)}` }
  const text = stored ? cleanText(plain) : plain
  if (text.length > longest) return { problem: `must have at most ${longest} characters, not ${text.length}` }
  if (oneLine && /[\r\n]/.test(text)) return { problem: 'must be one line' }
  return { value: stored && text.trim() === '' ? null : text }
}

function readNumber(given: unknown, { places, most = Infinity }: Bounds): ReadValue {
  const number = numeral(given)
  if (number === undefined || number > most || number < -most)
    return { problem: `must be a number, not ${show(given)}` }
  return { value: places === undefined || typeof number === 'bigint' ? number : roundTo(number, places) }
}

function readInteger(given: unknown): ReadValue {
  const number = numeral(given)
  return Number.isSafeInteger(number)
    ? { value: number }
    : { problem: `must be a whole number, not ${show(given)}` }
}

function readDecimal(given: unknown, { places = 2 }: Bounds): ReadValue {
  const number = numeral(given)
  if (number === undefined) return { problem: `must be a number, not ${show(given)}` }
  const value = roundTo(Number(number), places)
  return Math.abs(value) < 10 ** (mostDigits - places)
    ? { value }
    : {
        problem: `must be a number of at most ${mostDigits} digits, ${places} of them after the point, not ${show(given)}`,
      }
}

/** Reads whole numbers of any size and finite ones with a point; undefined for anything else. */
function numeral(given: unknown): number | bigint | undefined {
  if (typeof given === 'bigint') return given
  if (typeof given === 'number') return Number.isFinite(given) ? given : undefined
  const text = typeof given === 'string' ? given.trim() : ''
  if (/^[+-]?\d{1,400}$/.test(text)) {
    const whole = Number(text)
    return Number.isSafeInteger(whole) ? whole : BigInt(text.replace('+', ''))
  }
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

function readBoolean(given: unknown): ReadValue {
  const word = typeof given === 'string' ? given.trim().toLowerCase() : given
  if (word === true || word === 'true' || word === '1' || word === 1) return { value: true }
  if (word === false || word === 'false' || word === '0' || word === 0) return { value: false }
  return { problem: `must be true or false, not ${show(given)}` }
}

function readDate(given: unknown, { now, edge = 'both' }: Bounds): ReadValue {
  const text = typeof given === 'string' ? given.trim() : ''
  if (isDate(text)) return { value: text }
  const span = spanOf(text, now)
  if (span === undefined)
    return { problem: `must be a date such as 2026-03-31${orInWords(now)}, not ${show(given)}` }
  if (edge === 'both' && span.from !== span.to)
    return {
      problem: `${show(given)} is a period, ${span.from} to ${span.to}; for one day write "start of" or "end of" before it`,
    }
  return { value: edge === 'end' ? span.to : span.from }
}

function readDatetime(given: unknown, bounds: Bounds): ReadValue {
  const text = typeof given === 'string' ? given.trim() : ''
  const { stored, now, edge } = bounds
  const span = spanOf(text, now)
  if (span && (edge === 'both' || (edge === undefined && span.from !== span.to)))
    return { problem: `must be a date and time, not ${show(given)}, which is a day or more` }
  if (span && edge === 'end') return { value: `${span.to}T23:59:59.999Z` }
  if (span) return { value: `${span.from}T00:00${stored ? ':00.000Z' : ''}` }
  const written = isDate(text) ? `${text}T00:00` : text.replace(' ', 'T').toUpperCase()
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(Z|[+-](\d\d):(\d\d))?$/.exec(
    written,
  )
  const [, day = '', hour, minute, second = '0', zone, zoneHour = '0', zoneMinute = '0'] = parts ?? []
  const real = (part: string | undefined, below: number) => Number(part) < below
  if (
    !isDate(day) ||
    ![hour, zoneHour].every((part) => real(part, 24)) ||
    ![minute, second, zoneMinute].every((part) => real(part, 60))
  )
    return {
      problem: `must be a date and time such as 2026-03-31T14:30:00Z${orInWords(now)}, not ${show(given)}`,
    }
  if (!stored) return { value: written }
  return { value: isoTime(Date.parse(zone === undefined ? `${written}Z` : written)) }
}

function readOption(given: unknown, { options = [] }: Bounds): ReadValue {
  const option = optionOf(given, options)
  if (option !== undefined) return { value: option }
  const meant = typeof given === 'string' ? didYouMean(given.slice(0, longestName), options) : ''
  return { problem: `must be one of ${choices(options)}, not ${show(given)}${meant}` }
}

/** Reads a list, a text with commas or the text of a JSON list; keeps the caller's order, each option once. */
function readOptions(given: unknown, { options = [] }: Bounds): ReadValue {
  const list = listOf(given)
  if (!list) return { problem: `must be a list or text with commas, not ${show(given)}` }
  const said = list.filter((item) => typeof item !== 'string' || item.trim() !== '')
  const wrong = said.filter((item) => optionOf(item, options) === undefined)
  if (wrong.length > 0)
    return { problem: `must be some of ${choices(options)}, not ${wrong.map(show).join(', ')}` }
  return { value: [...new Set(said.map((item) => optionOf(item, options)))] }
}

function listOf(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given
  if (typeof given !== 'string') return scalarText(given) === undefined ? undefined : [given]
  if (given.trim().startsWith('[') && given.length <= longestText) {
    // Where it is no JSON, an option begins with a bracket.
    const list = jsonOr(given)
    if (list !== undefined) return list as readonly unknown[]
  }
  return given.split(',')
}

function optionOf(given: unknown, options: readonly string[]): string | undefined {
  const text = scalarText(given)
  if (text === undefined || options.includes(text)) return text
  return options.includes(text.trim()) ? text.trim() : undefined
}

function choices(options: readonly string[]): string {
  if (options.length > 20) return `${options.length} options`
  return options.map((option) => (/[,"]/.test(option) ? show(option) : option)).join(', ')
}

function readName(given: unknown): ReadValue {
  const text = scalarText(given)
  return text !== undefined && text.length <= longestName
    ? { value: text }
    : { problem: `must be the name of a document, not ${show(given)}` }
}

function readJson(given: unknown, { longest = Infinity }: Bounds): ReadValue {
  return longest === Infinity || JSON.stringify(given).length <= longest
    ? { value: given }
    : { problem: `must be at most ${longest} bytes of JSON` }
}

/** Returns the text of a text, number or boolean; undefined for anything else. */
function scalarText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return ['number', 'boolean', 'bigint'].includes(typeof value) ? String(value) : undefined
}

function nothing(): readonly string[] {
  return []
}

function usually(typed: string, _: Bounds, usual: string): readonly string[] {
  return usual === '' ? [] : beginning([usual], typed)
}

/** Completes the last of several options in one text with commas, as clients send them; keeps those before it. */
function completeOptions(typed: string, { options = [] }: Bounds): readonly string[] {
  const chosen = typed.split(',').slice(0, -1)
  const kept = chosen.map((option) => `${option},`).join('')
  const taken = new Set(chosen.map((option) => option.trim()))
  return beginning(
    options.filter((option) => !taken.has(option)),
    typed.slice(kept.length).trimStart(),
  ).map((option) => `${kept}${option}`)
}

function beginning(values: readonly string[], typed: string): readonly string[] {
  return values.filter((value) => value.toLowerCase().startsWith(typed.toLowerCase()))
}
