// @ts-check
/** Converts values for SQL: types to columns, values into columns, results into JSON. */
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBUnionValue,
  TIMESTAMP,
  VARCHAR,
} from '@duckdb/node-api'

/** @typedef {import('../tables.ts').ColumnType} ColumnType */
/** @typedef {{ name: string, type: ColumnType, places?: number }} Column */
/** @typedef {import('@duckdb/node-api').DuckDBAppender} Appender */

/** @type {Readonly<Record<Exclude<ColumnType, 'decimal'>, import('@duckdb/node-api').DuckDBType>>} */
const types = {
  text: VARCHAR,
  integer: BIGINT,
  number: DOUBLE,
  boolean: BOOLEAN,
  date: DATE,
  datetime: TIMESTAMP,
  json: VARCHAR,
}

/** The digits of an amount of money, which fit a machine word, so that sums are quick; a sum of them has 38. */
const decimalDigits = 18

/** @param {Column} column */
export function sqlType({ type, places = 0 }) {
  return type === 'decimal' ? `DECIMAL(${decimalDigits}, ${places})` : String(types[type])
}

/** @param {Appender} appender @param {Column} column @param {unknown} value */
export function appendValue(appender, { type, places = 0 }, value) {
  if (value === null || value === undefined) appender.appendNull()
  else if (type === 'integer' && Number.isSafeInteger(value))
    appender.appendBigInt(BigInt(/** @type {number} */ (value)))
  else if (type === 'number' && typeof value === 'number') appender.appendDouble(value)
  else if (type === 'decimal' && typeof value === 'number') appendDecimal(appender, value, places)
  else if (type === 'boolean' && typeof value === 'boolean') appender.appendBoolean(value)
  else if ((type === 'date' || type === 'datetime') && typeof value === 'string')
    appendTime(appender, type, value)
  else if (type === 'text' || type === 'json')
    appender.appendVarchar(typeof value === 'string' && type === 'text' ? value : JSON.stringify(value))
  else appender.appendNull()
}

/** @param {Appender} appender @param {number} value @param {number} places */
function appendDecimal(appender, value, places) {
  // Shifted as decimal text: multiplied by 100, 1.005 would be 100.49999999999999.
  const units = Math.round(Number(`${value}e${places}`))
  if (Math.abs(units) < 10 ** decimalDigits)
    appender.appendDecimal(new DuckDBDecimalValue(BigInt(units), decimalDigits, places))
  else appender.appendNull()
}

/** @param {Appender} appender @param {string} type @param {string} text */
function appendTime(appender, type, text) {
  const time = Date.parse(type === 'date' ? `${text.slice(0, 10)}T00:00:00Z` : text)
  if (Number.isNaN(time)) appender.appendNull()
  else if (type === 'date') appender.appendDate(new DuckDBDateValue(Math.floor(time / 86_400_000)))
  else appender.appendTimestamp(new DuckDBTimestampValue(BigInt(time) * 1000n))
}

/**
 * Converts a value to JSON: numbers stay numbers where nothing is lost, the rest becomes text.
 * @param {any} value @param {number} depth @returns {unknown}
 */
export function plain(value, depth) {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value !== 'object') return value
  if (depth > 8) return String(value)
  // Specification §4.5 rule 1: a decimal is a text, however few digits it has.
  if (value instanceof DuckDBDecimalValue) return value.toString()
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue)
    return value.toString().replace(/([+-]00)$/, 'Z')
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue)
    return value.items.map((item) => plain(item, depth + 1))
  if (value instanceof DuckDBStructValue)
    return Object.fromEntries(
      Object.entries(value.entries).map(([key, item]) => [key, plain(item, depth + 1)]),
    )
  if (value instanceof DuckDBMapValue)
    return value.entries.map(({ key, value: item }) => ({
      key: plain(key, depth + 1),
      value: plain(item, depth + 1),
    }))
  if (value instanceof DuckDBUnionValue) return plain(value.value, depth + 1)
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64')
  return String(value)
}
