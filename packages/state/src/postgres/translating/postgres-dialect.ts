/** The words of PostgreSQL. */
import { type AskedWord, separators } from '../../questions/words.ts'
import type { Bind, Dialect } from './dialect.ts'
import { datePattern, lowered, quoted, sortable, unsorted } from '../language.ts'

const firstDay = '0001-01-01'
const zoneOf = (type: string): string => (type === 'timestamptz' ? '+00' : '')

/** PostgreSQL, from version 14 on. */
export const postgresDialect: Dialect = {
  unstorable: /[\0\p{Surrogate}]/u,
  once: 'MATERIALIZED ',
  endless: true,
  cuts: true,
  flat: false,
  as: (sql, type) => `${sql}::${type}`,
  constant: (bound, type) => `${bound}::${type}`,
  // An index is in the order of the database where no value can be missing.
  nulls: (nullable, descending) => (nullable ? (descending ? ' NULLS LAST' : ' NULLS FIRST') : ''),

  text: (sql) => `${sql} COLLATE "C"`,
  sortable: (text) => `(${sortable(text)}) COLLATE "C"`,
  same: (a, b) => `${a} = ${b}`,
  isFilled: (text) => `${text} <> ''`,
  units: (text) =>
    `char_length(${text}) + char_length(regexp_replace(${text}, '[^\\U00010000-\\U0010FFFF]', '', 'g'))`,
  lower: (text) => lowered(`(${text})`),
  upper: (text) => `upper((${text}) COLLATE "und-x-icu") COLLATE "C"`,
  hasPart: (text, part) => `strpos(${text}, ${part}) > 0`,
  startsWith: (text, start) => `starts_with(${text}, ${start})`,
  endsWith: (text, end) => `right(${text}, char_length(${end})) = ${end}`,
  matches: (text, pattern) => `${text} ~ '${pattern}'`,
  like: (text, pattern, bind) => `${lowered(`(${text})`)} LIKE ${bind(pattern)}`,
  hasWord,
  among: (column, constants) =>
    constants.length === 1 ? `${column} = ${constants[0]!}` : `${column} IN (${constants.join(', ')})`,

  flag: (condition) => `(${condition})::int::float8`,
  calculated: (result, { a, b }) => `(SELECT ${result} FROM (SELECT (${a}) AS a, (${b}) AS b) AS o)`,
  sum: (parts) =>
    `(${parts
      .flatMap(({ number, list }) => [
        ...(number ? [`COALESCE((${number})::text::numeric, 0)`] : []),
        ...(list
          ? [
              `(SELECT COALESCE(sum(CASE jsonb_typeof(e) WHEN 'number' THEN e::numeric END), 0) FROM jsonb_array_elements(${list}) AS e)`,
            ]
          : []),
        '0',
      ])
      .join(' + ')})::float8`,
  length: (list) => `jsonb_array_length(${list})`,
  quotient: (a, b) => `div(${a}, ${b})`,

  dayNumber: (text) => `CASE WHEN ${text} ~ '${datePattern}' THEN ${dayOf(text)} - '${firstDay}'::date END`,
  dayText: (number) => `to_char('${firstDay}'::date + (${number})::int, 'YYYY-MM-DD')`,
  week: (text) => `to_char(${dayOf(text)}, 'IYYY"-W"IW')`,

  groupKey: (text) => `(${text}) COLLATE "C"`,
  groupSort: sortable,
  groupText: (sort) => sort,
  shown: unsorted,

  columnText: (column, isText) => (isText ? column : `${column}::text`),
  double: (column, kind) => {
    if (kind === 'whole') return `${column}::float8`
    if (kind === 'decimal') return `(CASE WHEN ${column} < 'NaN' THEN ${column}::float8 END)`
    if (kind === 'float8')
      return `(CASE WHEN ${column} > '-Infinity' AND ${column} < 'Infinity' THEN ${column}::float8 END)`
    const rounded = `CASE WHEN abs(${column}) < 1e-300 THEN 0 ELSE ${column}::float8 END`
    return `(CASE WHEN ${column} BETWEEN -1e308 AND 1e308 THEN ${rounded} END)`
  },
  decimal: (column, kind) => {
    if (kind === 'int4') return `${column}::numeric`
    if (kind === 'numeric') return `(CASE WHEN ${column} < 'NaN' THEN ${column} END)`
    if (kind === 'float') return `${column}::text::numeric`
    return `CASE WHEN ${column} BETWEEN -9007199254740991 AND 9007199254740991 THEN ${column}::numeric
          ELSE ${column}::float8::text::numeric END`
  },
  truth: (column, type) => (type === 'bool' ? column : `(${column} <> 0)`),
  moment: (column, zone) => {
    if (zone === undefined) return { sql: column, type: 'timestamptz' }
    if (zone === 'UTC') return { sql: column, type: 'timestamp' }
    return { sql: `(${column} AT TIME ZONE ${quoted(zone)})`, type: 'timestamptz' }
  },
  dateText: (column) =>
    `(CASE WHEN ${column} BETWEEN '${firstDay}' AND '9999-12-31' THEN to_char(${column}, 'YYYY-MM-DD') END)`,
  momentText: (sql, type) => {
    const zone = type === 'timestamptz' ? ` AT TIME ZONE 'UTC'` : ''
    const inRange = `${sql} >= '${firstDay} 00:00:00+00' AND ${sql} < '10000-01-01 00:00:00+00'`
    return `(CASE WHEN ${inRange} THEN to_char(${sql}${zone}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END)`
  },
  momentShown: (sql, type) => (type === 'timestamptz' ? `(${sql} AT TIME ZONE 'UTC')` : sql),
  dateEnd: (column, isLower) => (isLower ? `${column} >= '${firstDay}'` : `${column} <= '9999-12-31'`),
  momentEnd: (sql, type, isLower) =>
    isLower
      ? `${sql} >= '${firstDay} 00:00:00${zoneOf(type)}'::${type}`
      : `${sql} < '10000-01-01 00:00:00${zoneOf(type)}'::${type}`,
  later: (moment, step) => `(${moment} + interval '1 ${step}')`,

  array: (values) => `json_build_array(${values.join(', ')})`,
  arrayText: (array) => `${array}::text`,
  rows: (array, order, from) => `(SELECT COALESCE(json_agg(${array} ORDER BY ${order}), '[]') FROM ${from})`,
  json: (column) => column,

  writing: {
    tellsKey: true,
    insert: (table, columns, values, key) => {
      const row =
        columns.length === 0 ? 'DEFAULT VALUES' : `(${columns.join(', ')}) VALUES (${values.join(', ')})`
      return `INSERT INTO ${table} AS d ${row} RETURNING ${key}`
    },
    update: (table, sets, condition) =>
      `UPDATE ${table} AS d SET ${sets.join(', ')} WHERE ${condition} RETURNING 1`,
    delete: (table, condition) => `DELETE FROM ${table} AS d WHERE ${condition} RETURNING 1`,
    moment: (bound, zone) => inZone(`${bound}::timestamptz`, zone),
    now: (zone) => inZone('clock_timestamp()', zone),
  },
}

function inZone(moment: string, zone: string | undefined): string {
  return zone === undefined ? moment : `(${moment} AT TIME ZONE ${quoted(zone)})`
}

function dayOf(text: string): string {
  const first = `make_date(left(${text}, 4)::int, substr(${text}, 6, 2)::int, 1)`
  return `(${first} + (substr(${text}, 9, 2)::int - 1))`
}

function literal(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function hasWord(
  held: string,
  { word, instead }: AskedWord,
  how: 'same' | 'near',
  plain: boolean,
  bind: Bind,
): string {
  const begins = word.length > 1 && how === 'near'
  const others = how === 'near' ? instead.map(literal) : []
  const whole = [...(begins ? [] : [literal(word)]), ...others].map((one) => `${one}(?:[${separators}]|$)`)
  const pattern = `(?:^|[${separators}])(?:${[...(begins ? [literal(word)] : []), ...whole].join('|')})`
  const found = `COALESCE(${lowered(`left(${held}, 10000)`)} ~ ${bind(pattern)}, false)`
  // Letters of which no case has another number, in a form that an index of trigrams on the column can answer.
  const part = others.length === 0 ? /[a-z0-9]{3,}/.exec(word)?.[0] : undefined
  return plain && part !== undefined
    ? `(${held} ILIKE ${bind(`%${part}%`)} AND ${held} IS NOT NULL AND ${found})`
    : found
}
