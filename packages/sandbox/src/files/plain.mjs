// @ts-check
/** Reads text, CSV and JSON. */
import { parse } from 'csv-parse/sync'
import { FileFault } from './zip.mjs'

/** @typedef {import('./collected.mjs').Collected} Collected */

/** Decodes bytes: by their byte order mark, as UTF-8, or in the one encoding that maps every byte. @param {Buffer} bytes */
export function decode(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  if (bytes.subarray(0, 8192).includes(0))
    throw new FileFault('is neither text nor a kind of file that can be read')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** @param {string} text @param {Collected} out */
export function readCsv(text, out) {
  /** @type {string[][]} */
  let rows
  try {
    rows = parse(text, {
      bom: true,
      delimiter: delimiterOf(text),
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: 1_000_000,
    })
  } catch (error) {
    throw new FileFault(`is not readable as CSV: ${error instanceof Error ? error.message : String(error)}`)
  }
  out.table(
    { name: 'csv' },
    rows.map((row) => row.map(valueOf)),
  )
}

/** @param {string} text @param {Collected} out */
export function readJson(text, out) {
  let value
  try {
    value = JSON.parse(withDigits(text.replace(/^\uFEFF/, '')))
    out.page(JSON.stringify(value, null, 1))
  } catch (error) {
    throw new FileFault(`is not readable as JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  const records = Array.isArray(value)
    ? value.filter((item) => typeof item === 'object' && item !== null && !Array.isArray(item))
    : []
  if (records.length === 0 || records.length !== value.length) return
  const columns = [...new Set(records.slice(0, 1000).flatMap((record) => Object.keys(record)))].slice(0, 500)
  out.table(
    { name: 'json', header: columns },
    records.map((record) => columns.map((column) => (Object.hasOwn(record, column) ? record[column] : null))),
  )
}

/** Turns whole numbers that JavaScript would round into texts of their digits. @param {string} json */
function withDigits(json) {
  const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g
  return json.replace(token, (found) =>
    /^-?\d{16,}$/.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found,
  )
}

/** Returns the separator that occurs most often in the first lines, outside of quotes. @param {string} text */
function delimiterOf(text) {
  const head = text
    .slice(0, 20_000)
    .replace(/"[^"]*"/g, '')
    .split('\n')
    .slice(0, 20)
  const counts = [',', ';', '\t', '|'].map((mark) => ({
    mark,
    count: Math.min(...head.filter((line) => line.trim() !== '').map((line) => line.split(mark).length - 1)),
    all: head.join('').split(mark).length,
  }))
  return counts.sort((a, b) => b.count - a.count || b.all - a.all)[0]?.mark
}

/** Parses numbers, except those that would lose something, such as 007 or a long account number. @param {string} text */
function valueOf(text) {
  const trimmed = text.trim()
  if (trimmed === '') return null
  if (trimmed !== '-0' && /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(trimmed)) return Number(trimmed)
  return text
}
