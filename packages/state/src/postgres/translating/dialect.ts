/** How a database writes what questions need: the parameter by which tables in several kinds of databases have one translation. */
import type { AskedWord } from '../../questions/words.ts'

/** Binds a value to a statement and returns its place, such as `$3`. */
export type Bind = (value: unknown) => string

/** The types that constants and results are given. */
export type SqlType =
  'text' | 'bpchar' | 'uuid' | 'int' | 'int8' | 'float8' | 'numeric' | 'date' | 'timestamp'

/** Two numbers, each named once in a calculation where the database can name them. */
export interface Operands {
  readonly a: string
  readonly b: string
}

/**
 * The words of a kind of database. Texts are SQL that compares and sorts as `text` makes it: character by character,
 * whatever the collation of the column. All of it is SQL of values, unless it says otherwise.
 */
export interface Dialect {
  /** Matches what no text there can hold. */
  readonly unstorable: RegExp
  /** Before the query of a WITH that is calculated once. */
  readonly once: string
  /** True where numbers and moments may be infinite, or NaN. */
  readonly endless: boolean
  /** True where rows can be cut by their bytes as they are read; elsewhere that is done here. */
  readonly cuts: boolean
  /** True where JSON, and what is true or false, comes as text or number. */
  readonly flat: boolean
  /** A value as another type. */
  as(sql: string, type: SqlType): string
  /** A bound value as what a column of the type is compared with. */
  constant(bound: string, type: SqlType | 'timestamptz'): string
  /** What ends a sort key, so that a missing value comes first. */
  nulls(nullable: boolean, descending: boolean): string

  text(sql: string): string
  sortable(text: string): string
  same(a: string, b: string): string
  isFilled(text: string): string
  /** The length in UTF-16 units. */
  units(text: string): string
  lower(text: string): string | undefined
  upper(text: string): string | undefined
  hasPart(text: string, part: string): string
  startsWith(text: string, start: string): string
  endsWith(text: string, end: string): string
  /** The text matches a regular expression, which SQL quotes. */
  matches(text: string, pattern: string): string
  /** The text in lower case is LIKE a pattern, whose `\` escapes; undefined where only the evaluator can tell. */
  like(text: string, pattern: string, bind: Bind): string | undefined
  /** A text has a word, or with `near` one that begins with it or stands for it. `plain`: an index on it may help. */
  hasWord(text: string, asked: AskedWord, how: 'same' | 'near', plain: boolean, bind: Bind): string
  /** A column has one of some texts, in a form that an index on it can answer. */
  among(column: string, constants: readonly string[]): string

  /** 1 or 0 for a condition. */
  flag(condition: string): string
  /** Calculates a result of `o.a` and `o.b`. */
  calculated(result: string, operands: Operands): string
  /** The sum of numbers as they are, or undefined where only the evaluator can add. */
  sum(
    parts: readonly { readonly number?: string | undefined; readonly list?: string | undefined }[],
  ): string | undefined
  /** The number of entries of a list. */
  length(list: string): string
  /** A quotient rounded down; both are decimals. */
  quotient(a: string, b: string): string

  /** The day that a text begins with, as the number of days after 0001-01-01, and the text of such a number. */
  dayNumber(text: string): string
  dayText(number: string): string
  /** The week of ISO 8601 of the day that a text begins with. */
  week(text: string): string

  /** What texts are grouped by; how a group sorts, and is shown as `shown` reads it. */
  groupKey(text: string): string
  groupSort(key: string): string
  groupText(sort: string): string
  shown(text: string): string

  /** A column as text. */
  columnText(column: string, isText: boolean): string
  /** A column's number as a double; NULL for what JSON has no number for. */
  double(column: string, kind: 'whole' | 'decimal' | 'float8' | 'long decimal'): string
  /** A number as a decimal with the digits that it shows. */
  decimal(column: string, kind: 'int4' | 'int8' | 'numeric' | 'float'): string
  truth(column: string, type: 'bool' | 'int'): string
  /** A moment, in UTC or with its zone. */
  moment(
    column: string,
    zone: string | undefined,
  ): { readonly sql: string; readonly type: 'timestamp' | 'timestamptz' }
  /** The text of a date, and of a moment; NULL for those that documents do not show. */
  dateText(column: string): string
  momentText(sql: string, type: 'timestamp' | 'timestamptz'): string
  /** A moment as JSON shows it to the microsecond. */
  momentShown(sql: string, type: 'timestamp' | 'timestamptz'): string
  /** A date, or moment, is one that documents show: tested at its upper or lower end. */
  dateEnd(column: string, isLower: boolean): string
  momentEnd(sql: string, type: 'timestamp' | 'timestamptz', isLower: boolean): string
  /** A moment a millisecond or microsecond later. */
  later(moment: string, step: 'second' | 'millisecond' | 'microsecond'): string

  /** An array in JSON, as it stands within another, and the whole as text. */
  array(values: readonly string[]): string
  arrayText(array: string): string
  /** Arrays of rows in one. */
  rows(array: string, order: string, from: string): string
  /** A JSON column as `flat` says. */
  json(column: string): string

  readonly writing: WritingWords
}

/** The words that write. A statement that makes, changes or deletes rows, each of which is `d`, gives a row for each. */
export interface WritingWords {
  /** True where a new row gives its `key`; elsewhere it gives the number that was drawn for it. */
  readonly tellsKey: boolean
  /** The only moments that a column with a time zone of its own can be given, where that is not all. */
  readonly zoned?: readonly [from: string, before: string]
  insert(table: string, columns: readonly string[], values: readonly string[], key: string): string
  update(table: string, sets: readonly string[], condition: string): string
  delete(table: string, condition: string): string
  /** A bound moment, and the present one, as a column has it that is read in a zone. */
  moment(bound: string, zone: string | undefined): string
  now(zone: string | undefined): string
}
