/**
 * Typed columns as values of fields: what a document shows of each, and how it compares with a constant in a form that an
 * index on the column can use. What has no such form compares by the terms, which mean the same and use no index.
 */
import type { Bind, Dialect, SqlType } from './dialect.ts'
import { datePattern } from '../language.ts'
import type { Measured } from './layout.ts'
import { type Calculated, fieldValue, text } from './terms.ts'

/** How the values of a column are kept and shown. */
export type Kind =
  /** Text, or what is shown as text: the type that constants are given. */
  | { readonly is: 'text'; readonly type: 'text' | 'bpchar' | 'uuid' | 'int8' | 'other' }
  /** A number that is compared as it is: whole, or decimal with at most 15 digits. */
  | { readonly is: 'number'; readonly type: 'int4' | 'int8' | 'numeric' }
  /** A number that is rounded to a double first. */
  | { readonly is: 'float'; readonly type: 'float8' | 'numeric' }
  | { readonly is: 'check'; readonly type: 'bool' | 'int' }
  | { readonly is: 'date' }
  /** A moment; a time without zone is read in one. */
  | { readonly is: 'moment'; readonly zone?: string }
  | { readonly is: 'texts' }
  /** What is shown and never compared. */
  | { readonly is: 'json' }

/** One value of a document in SQL. */
export interface Value {
  /** The column, or where it is not compared as it is, what it is compared as. */
  readonly column: string
  readonly kind: Kind
  /** True if it may be NULL. */
  readonly nullable: boolean
  /** The words of its database. */
  readonly dialect: Dialect
}

/** A constant as a column takes it: SQL, or that no value of the column is it, or that it compares by terms only. */
export type Constant = { readonly sql: string } | 'never' | 'unknown'

const iso = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})\.(\d{3}|\d{6})Z$/

/** Returns SQL of the moment that a column stands for, as timestamp with time zone, or as timestamp in UTC. */
function momentOf({ column, kind, dialect }: Value): ReturnType<Dialect['moment']> {
  return dialect.moment(column, (kind as { readonly zone?: string }).zone)
}

/** The number of a column, as float8; NULL for what JSON has no number for. */
function doubleOf({ column, kind, dialect }: Value): string {
  const { type } = kind as Kind & { is: 'number' | 'float' }
  if (kind.is === 'number') return dialect.double(column, type === 'numeric' ? 'decimal' : 'whole')
  return dialect.double(column, type === 'float8' ? 'float8' : 'long decimal')
}

/** The text of a column; NULL for a date that is written in no way that others are. */
export function textOf({ column, kind, dialect }: Value): string {
  if (kind.is === 'date') return dialect.dateText(column)
  if (kind.is !== 'moment') return dialect.columnText(column, kind.is === 'text' && kind.type === 'text')
  const { sql, type } = dialect.moment(column, kind.zone)
  return dialect.momentText(sql, type)
}

/** Returns the term of a column; undefined for what is not compared. */
export function termOf(value: Value): Calculated | undefined {
  const { column, kind, dialect } = value
  switch (kind.is) {
    case 'json':
      return undefined
    case 'texts':
      return fieldValue(`to_jsonb(${column})`)
    case 'check': {
      const held = dialect.truth(column, kind.type)
      return { check: held, truth: `COALESCE(${held}, false)`, nothing: `${column} IS NULL` }
    }
    case 'number':
    case 'float': {
      const number = doubleOf(value)
      return { number, truth: `COALESCE(${number} <> 0, false)`, nothing: `${number} IS NULL` }
    }
    default:
      return text(dialect.text(`(${textOf(value)})`), dialect)
  }
}

/** Returns the value as one of JSON, which `read` of `readerOf` reads. */
export function shownOf(value: Value): string {
  const { column, kind, dialect } = value
  switch (kind.is) {
    case 'float':
      return doubleOf(value)
    case 'check':
      return dialect.truth(column, kind.type)
    case 'moment': {
      const { sql, type } = momentOf(value)
      return dialect.momentShown(sql, type)
    }
    case 'json':
      return dialect.json(column)
    case 'date':
      return dialect.flat ? dialect.columnText(column, false) : column
    case 'number':
      return kind.type === 'int8' ? dialect.columnText(column, false) : column
    case 'text':
      return textOf(value)
    default:
      return column
  }
}

/** What a document shows of a value; `exactly` is what a cursor needs where the document shows less. */
export interface Shown {
  readonly value: unknown
  readonly exactly?: string
}

/** Returns the reader of a value of JSON, as `shownOf` gives it. */
export function readerOf({ kind, dialect }: Value): ((json: unknown) => Shown) | undefined {
  if (kind.is === 'date')
    return (json) =>
      typeof json !== 'string' || shownDay.test(json) ? { value: json } : { value: null, exactly: json }
  if (kind.is === 'moment') return (json) => (typeof json === 'string' ? momentShown(json) : { value: null })
  if (dialect.flat && kind.is === 'json') return (json) => ({ value: parsedOr(json) })
  if (dialect.flat && kind.is === 'check') return (json) => ({ value: json === null ? null : Boolean(json) })
  if (kind.is !== 'number') return undefined
  return (json) => {
    if (typeof json !== 'string') return { value: json }
    const number = Number(json)
    if (Number.isSafeInteger(number)) return { value: number }
    return { value: Number.isFinite(number) ? number : null, exactly: json }
  }
}

/** A day that documents show: MySQL has days without year, month or day. */
const shownDay = /^(?!0000)\d{4}-(?!00)\d{2}-(?!00)\d{2}$/

/** A text that is no JSON, which a column of old may hold, is shown as no value. */
function parsedOr(json: unknown): unknown {
  try {
    return typeof json === 'string' ? (JSON.parse(json) as unknown) : null
  } catch {
    return null
  }
}

function momentShown(json: string): Shown {
  const parts = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?$/.exec(json)
  if (!parts || !shownDay.test(json.slice(0, 10))) return { value: null, exactly: json }
  const fraction = (parts[2] ?? '').padEnd(6, '0')
  const value = `${parts[1]}.${fraction.slice(0, 3)}Z`
  return fraction.endsWith('000') ? { value } : { value, exactly: `${parts[1]}.${fraction}Z` }
}

/** Returns what is counted and added up. */
export function measuredOf(value: Value): Measured {
  const { column, kind, dialect } = value
  const none = { number: dialect.as('NULL', 'numeric'), text: dialect.as('NULL', 'text') }
  switch (kind.is) {
    case 'number':
      return { ...none, number: dialect.decimal(column, kind.type) }
    case 'float':
      return { ...none, number: dialect.decimal(doubleOf(value), 'float') }
    case 'check':
      return { ...none, number: dialect.as(dialect.flag(shownOf(value)), 'numeric') }
    case 'texts':
    case 'json':
      return none
    default:
      return { ...none, text: textOf(value) }
  }
}

/** SQL for: the document shows no value. */
export function nothingOf(value: Value): string {
  const { kind, column } = value
  const plain =
    ['text', 'texts', 'check', 'json'].includes(kind.is) || (kind.is === 'number' && kind.type !== 'numeric')
  if (plain) return value.nullable ? `${column} IS NULL` : 'false'
  return termOf(value)!.nothing
}

/** Returns the expression that a column sorts by. */
export function sortOf(value: Value): string {
  const { kind, column } = value
  if (kind.is === 'text') return value.dialect.sortable(textOf(value))
  if (kind.is === 'float') return doubleOf(value)
  if (kind.is === 'moment') return momentOf(value).sql
  return kind.is === 'check' ? `(${shownOf(value)})` : column
}

/** Returns a constant as the column takes it, where some value of the column is shown as it. */
export function constantOf({ kind, dialect }: Value, given: unknown, bind: Bind): Constant {
  const constant = (type: 'date'): Constant => ({ sql: dialect.constant(bind(given), type) })
  switch (kind.is) {
    case 'text':
      return typeof given === 'string' ? textConstant(kind.type, given, bind, dialect) : 'never'
    case 'number':
    case 'float':
      return numberConstant(kind, typeof given === 'boolean' ? Number(given) : given, bind, dialect)
    case 'check':
      return given === 1 || given === true
        ? { sql: 'true' }
        : given === 0 || given === false
          ? { sql: 'false' }
          : 'never'
    case 'date':
      return typeof given === 'string' && isDay(given) ? constant('date') : 'never'
    default:
      return 'unknown'
  }
}

function textConstant(type: string, given: string, bind: Bind, dialect: Dialect): Constant {
  if (!isStorable(given, dialect)) return 'never'
  const as = (type: SqlType): Constant => ({ sql: dialect.constant(bind(given), type) })
  switch (type) {
    case 'uuid':
      return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(given) ? as('uuid') : 'never'
    case 'int8':
      return /^(?:0|-?[1-9]\d{0,18})$/.test(given) && BigInt.asIntN(64, BigInt(given)) === BigInt(given)
        ? as('int8')
        : 'never'
    case 'bpchar':
      // Blanks at the end do not count, and are not shown.
      return given.endsWith(' ') ? 'never' : as('bpchar')
    case 'text':
      return as('text')
    default:
      return 'unknown'
  }
}

function numberConstant(
  kind: Kind & { is: 'number' | 'float' },
  given: unknown,
  bind: Bind,
  dialect: Dialect,
): Constant {
  if (typeof given !== 'number' || !Number.isFinite(given)) return 'never'
  if (kind.is === 'float')
    return kind.type === 'float8' ? { sql: dialect.constant(bind(given), 'float8') } : 'unknown'
  if (kind.type === 'numeric') return { sql: dialect.constant(bind(String(given)), 'numeric') }
  if (!Number.isInteger(given)) return 'never'
  return Number.isSafeInteger(given) ? { sql: dialect.constant(bind(String(given)), 'int8') } : 'unknown'
}

/** True for a text that the database can hold. */
export function isStorable(text: string, { unstorable }: Dialect): boolean {
  return !unstorable.test(text)
}

function isDay(text: string): boolean {
  if (!new RegExp(`${datePattern}$`).test(text)) return false
  const time = Date.parse(`${text}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/**
 * Returns the moments that a constant stands between, as a column takes them: the values shown as it are at or after the
 * first and before the second. A day stands before all moments of it.
 */
export function momentBounds(
  value: Value,
  given: string,
  bind: Bind,
): { readonly from: string; readonly to: string } | undefined {
  const { type } = momentOf(value)
  const { dialect } = value
  const zone = type === 'timestamptz' ? '+00' : ''
  const bound = (text: string): string => dialect.constant(bind(`${text}${zone}`), type)
  if (isDay(given)) {
    const at = bound(`${given} 00:00:00`)
    return { from: at, to: at }
  }
  const [, day, time, fraction] = iso.exec(given) ?? []
  if (day === undefined || !isDay(day) || Number.isNaN(Date.parse(given))) return undefined
  const at = bound(`${day} ${time}.${fraction}`)
  const step = fraction!.length === 3 ? 'millisecond' : 'microsecond'
  return { from: at, to: dialect.later(at, step) }
}

/** Returns the moment as its column is compared. */
export function momentSql(value: Value): string {
  return momentOf(value).sql
}

/** SQL for: a moment is one that documents show, at its upper or lower end. */
export function momentEnd(value: Value, isLower: boolean): string {
  const { sql, type } = momentOf(value)
  return value.dialect.momentEnd(sql, type, isLower)
}

/** A moment that no document shows, as its column is compared. */
export function oddMoment(value: Value, exact: string, bind: Bind): string {
  const { type } = momentOf(value)
  const zone = type === 'timestamptz' && !/infinity| BC$/.test(exact) ? '+00' : ''
  return value.dialect.constant(bind(`${exact}${zone}`), type)
}
