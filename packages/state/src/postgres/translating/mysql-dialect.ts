/**
 * The words of MySQL 8 and MariaDB, in sessions with the modes ANSI_QUOTES, PIPES_AS_CONCAT and NO_BACKSLASH_ESCAPES and the
 * time zone +00:00. Texts compare by their bytes: collations there take letters of other cases, and blanks, for the same.
 */
import { type AskedWord, separators } from '../../questions/words.ts'
import type { Bind, Dialect } from './dialect.ts'
import { anyCase, likeExpression } from './letter-cases.ts'
import { datePattern, quoted } from '../language.ts'

const casts = {
  text: 'CHAR CHARACTER SET utf8mb4',
  bpchar: 'CHAR CHARACTER SET utf8mb4',
  uuid: 'CHAR CHARACTER SET utf8mb4',
  int: 'SIGNED',
  int8: 'DECIMAL(20, 0)',
  float8: 'DOUBLE',
  numeric: 'DECIMAL(65, 30)',
  date: 'DATE',
  timestamp: 'DATETIME(6)',
  timestamptz: 'DATETIME(6)',
} as const

const cast = (sql: string, type: keyof typeof casts): string => `CAST(${sql} AS ${casts[type]})`
const bytes = (text: string): string => `CAST(CAST(${text} AS CHAR CHARACTER SET utf8mb4) AS BINARY)`
/** Letters that are lower-cased to others, or more, than the database knows. */
const letters = (text: string): string =>
  `REPLACE(REPLACE(${exact(text)}, '\u0130', 'i\u0307'), '\u212a', 'k')`
const exact = (text: string): string => `${cast(text, 'text')} COLLATE utf8mb4_bin`
/** A day that has a year, a month and a day: others are shown as no value. */
const isDay = (date: string): string =>
  `(YEAR(${date}) > 0 AND MONTH(${date}) > 0 AND DAYOFMONTH(${date}) > 0)`
/** The days and moments for which every version converts time zones. */
const converted = `BETWEEN '1970-01-02' AND '2038-01-17'`
const firstDay = 366

/** MySQL from version 8.0.17 on, and MariaDB from version 10.6 on. */
export const mysqlDialect: Dialect = {
  unstorable: /\p{Surrogate}/u,
  once: '',
  endless: false,
  cuts: false,
  flat: true,
  as: cast,
  constant: (bound, type) => (/^(?:text|bpchar|uuid)$/.test(type) ? bound : cast(bound, constantType(type))),
  // A missing value comes first anyway.
  nulls: () => '',

  text: exact,
  // UTF-16, as bytes, sorts as JavaScript does.
  sortable: (text) => `CAST(CONVERT(${text} USING utf16) AS BINARY)`,
  same: (a, b) => `${bytes(a)} = ${bytes(b)}`,
  isFilled: (text) => `CHAR_LENGTH(${text}) > 0`,
  units: (text) => `LENGTH(CONVERT(${text} USING utf16)) / 2`,
  lower: () => undefined,
  upper: () => undefined,
  hasPart: (text, part) => `LOCATE(${bytes(part)}, ${bytes(text)}) > 0`,
  startsWith: (text, start) => `LEFT(${bytes(text)}, LENGTH(${bytes(start)})) = ${bytes(start)}`,
  endsWith: (text, end) => `RIGHT(${bytes(text)}, LENGTH(${bytes(end)})) = ${bytes(end)}`,
  matches: (text, pattern) => `(${text}) REGEXP '${pattern}'`,
  like: (text, pattern, bind) => {
    // Letters of other alphabets are written in all their cases: each version of a database has other tables of them.
    if (/^[\x01-\x7f]*$/.test(pattern)) return `LOWER(${letters(text)}) LIKE ${bind(pattern)} ESCAPE '\\'`
    const expression = likeExpression(pattern)
    return expression === undefined ? undefined : `(${letters(text)}) REGEXP ${bind(expression)}`
  },
  hasWord,
  // The first half is for an index, which goes by the collation.
  among: (column, constants) =>
    `${column} IN (${constants.join(', ')}) AND ${bytes(column)} IN (${constants.map(bytes).join(', ')})`,

  flag: (condition) => cast(`(${condition})`, 'float8'),
  calculated: (result, { a, b }) =>
    `(${result.replace(/\bo\.([ab])\b/g, (_, name: string) => `(${name === 'a' ? a : b})`)})`,
  sum: () => undefined,
  length: (list) => `JSON_LENGTH(${list})`,
  quotient: (a, b) => `TRUNCATE((${a}) / ${b}, 0)`,

  dayNumber: (text) => `CASE WHEN (${text}) REGEXP '${datePattern}' THEN ${dayOf(text)} - ${firstDay} END`,
  dayText: (number) => `DATE_FORMAT(FROM_DAYS(${cast(number, 'int')} + ${firstDay}), '%Y-%m-%d')`,
  week: (text) => `DATE_FORMAT(FROM_DAYS(${dayOf(text)}), '%x-W%v')`,

  groupKey: (text) => mysqlDialect.sortable(text),
  groupSort: (key) => key,
  groupText: (sort) => `CONVERT(CONVERT(${sort} USING utf16) USING utf8mb4)`,
  shown: (text) => text,

  columnText: (column) => cast(column, 'text'),
  double: (column) => cast(column, 'float8'),
  decimal: (column, kind) => {
    if (kind === 'int4' || kind === 'numeric') return cast(column, 'numeric')
    const number = cast(column, 'float8')
    // What no decimal holds fails, rather than to be added up wrongly.
    return `CASE WHEN abs(${number}) < 1e30 THEN ${cast(number, 'numeric')} ELSE ${cast(`${number} * 1e300`, 'numeric')} END`
  },
  truth: (column) => `(${column} <> 0)`,
  moment: (column, zone) => ({
    sql:
      zone === undefined || zone === 'UTC'
        ? column
        : `(CASE WHEN ${column} ${converted} THEN CONVERT_TZ(${column}, ${quoted(zone)}, '+00:00') END)`,
    type: 'timestamp',
  }),
  dateText: (column) => `(CASE WHEN ${isDay(column)} THEN DATE_FORMAT(${column}, '%Y-%m-%d') END)`,
  momentText: (sql) => {
    const milliseconds = `LPAD(FLOOR(MICROSECOND(${sql}) / 1000), 3, '0')`
    return `(CASE WHEN ${isDay(sql)} THEN DATE_FORMAT(${sql}, '%Y-%m-%dT%H:%i:%s.') || ${milliseconds} || 'Z' END)`
  },
  momentShown: (sql) => `DATE_FORMAT(${sql}, '%Y-%m-%dT%H:%i:%s.%f')`,
  dateEnd: isDay,
  momentEnd: isDay,
  later: (moment, step) => `(${moment} + INTERVAL ${microseconds[step]} MICROSECOND)`,

  array: (values) => `JSON_ARRAY(${values.join(', ')})`,
  arrayText: (array) => cast(array, 'text'),
  rows: (array, order, from) =>
    `(SELECT '[' || COALESCE(GROUP_CONCAT(${array} ORDER BY ${order} SEPARATOR ','), '') || ']' FROM ${from})`,
  json: (column) => cast(column, 'text'),

  writing: {
    tellsKey: false,
    // A day within what is shown, wherever the zone lies.
    zoned: ['1970-01-03', '2038-01-16'],
    insert: (table, columns, values) =>
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`,
    update: (table, sets, condition) => `UPDATE ${table} AS d SET ${sets.join(', ')} WHERE ${condition}`,
    delete: (table, condition) => `DELETE d FROM ${table} AS d WHERE ${condition}`,
    moment: (bound, zone) => inZone(cast(`REPLACE(REPLACE(${bound}, 'T', ' '), 'Z', '')`, 'timestamp'), zone),
    now: (zone) => inZone('UTC_TIMESTAMP(6)', zone),
  },
}

const microseconds = { second: 1_000_000, millisecond: 1000, microsecond: 1 } as const

function inZone(moment: string, zone: string | undefined): string {
  return zone === undefined || zone === 'UTC' ? moment : `CONVERT_TZ(${moment}, '+00:00', ${quoted(zone)})`
}

/** Decimals compare with doubles as the doubles that they are shown as. */
function constantType(type: keyof typeof casts): keyof typeof casts {
  return type === 'numeric' ? 'float8' : type
}

/** The number of a day after the year 0; a day that its month does not have counts into the next. */
function dayOf(text: string): string {
  return `(TO_DAYS(LEFT(${text}, 8) || '01') + ${cast(`substr(${text}, 9, 2)`, 'int')} - 1)`
}

const between = separators.replace(/\\u([0-9a-f]{4})/g, '\\x{$1}')

function hasWord(
  text: string,
  { word, instead }: AskedWord,
  how: 'same' | 'near',
  _plain: boolean,
  bind: Bind,
): string {
  const begins = word.length > 1 && how === 'near'
  const whole = [...(begins ? [] : [word]), ...(how === 'near' ? instead : [])]
  const all = [
    ...(begins ? [anyCase(word)] : []),
    ...whole.map((one) => `${anyCase(one)}(?:[${between}]|\\z)`),
  ]
  const pattern = `(?:\\A|[${between}])(?:${all.join('|')})`
  return `COALESCE((LEFT(${letters(text)}, 10000)) REGEXP ${bind(pattern)}, false)`
}
