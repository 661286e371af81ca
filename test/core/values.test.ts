/** The rules of values that are read: a table of what is taken, what becomes of it, and what is refused. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Bounds, readAs, type ValueType, valueTypes } from '../../src/core/values.ts'

type Row = readonly [type: ValueType, given: unknown, bounds: Bounds, becomes: unknown]

const north = { options: ['North', 'South', 'West, far'] }

describe('a value', () => {
  it('is taken as itself or as text, and becomes what its type holds', () => {
    const rows: readonly Row[] = [
      ['text', 'one\ntwo', {}, 'one\ntwo'],
      ['text', 'one', { oneLine: true }, 'one'],
      ['text', 'four', { longest: 4 }, 'four'],
      ['text', 7, {}, '7'],
      ['text', '  ', { stored: true }, null],
      ['text', 'a\u202eb', { stored: true }, 'ab'],
      ['text', 'a\u202eb', {}, 'a\u202eb'],
      ['number', ' 1.255e1 ', { places: 1 }, 12.6],
      ['number', '-4', { most: 4 }, -4],
      ['integer', '+7', {}, 7],
      ['decimal', '1.005', {}, 1.01],
      ['decimal', '9999999999999.99', {}, 9999999999999.99],
      ['boolean', ' TRUE ', {}, true],
      ['boolean', 0, {}, false],
      ['date', ' 2024-02-29 ', {}, '2024-02-29'],
      ['datetime', '2026-03-31', { stored: true }, '2026-03-31T00:00:00.000Z'],
      ['datetime', '2026-03-31T23:59:59+23:59', { stored: true }, '2026-03-31T00:00:59.000Z'],
      ['datetime', '2026-03-31 14:30z', {}, '2026-03-31T14:30Z'],
      ['select', ' South ', north, 'South'],
      ['multiselect', 'South, North,South,', north, ['South', 'North']],
      ['multiselect', '["West, far"]', north, ['West, far']],
      ['multiselect', ['North', ''], north, ['North']],
      ['link', 'n'.repeat(200), {}, 'n'.repeat(200)],
      ['json', { a: 1 }, { longest: 7 }, { a: 1 }],
    ]
    for (const [type, given, bounds, becomes] of rows)
      assert.deepEqual(readAs(type, given, bounds), { value: becomes }, `${type} ${String(given)}`)
  })

  it('is refused with what is wrong where it could be read in two ways, or breaks a bound', () => {
    const rows: readonly (readonly [...Row])[] = [
      ['text', 'one\ntwo', { oneLine: true }, /one line/],
      ['text', 'one\r', { oneLine: true }, /one line/],
      ['text', 'fiver', { longest: 4 }, /at most 4 characters, not 5/],
      ['text', { a: 1 }, {}, /must be a text/],
      ['number', '1,5', {}, /must be a number/],
      ['number', '0x10', {}, /must be a number/],
      ['number', 5, { most: 4 }, /must be a number/],
      ['number', -5, { most: 4 }, /must be a number/],
      ['integer', '1.5', {}, /whole number/],
      ['integer', 2 ** 53, {}, /whole number/],
      ['decimal', '10000000000000', {}, /at most 15 digits, 2 of them after the point/],
      ['boolean', 'yes', {}, /true or false/],
      ['date', '2026-02-29', {}, /must be a date/],
      ['date', '31.3.2026', {}, /must be a date/],
      ['date', '0000-01-01', {}, /must be a date/],
      ['datetime', '2026-03-31T24:00', {}, /date and time/],
      ['datetime', '2026-03-31T12:60', {}, /date and time/],
      ['datetime', '2026-03-31T12:00:60', {}, /date and time/],
      ['datetime', '2026-03-31T12:00+24:00', {}, /date and time/],
      ['datetime', '2026-03-31T12:00-99:00', {}, /date and time/],
      ['datetime', '2026-03-31T12:00+01:60', {}, /date and time/],
      ['datetime', '2026-03-31T12:00+01', {}, /date and time/],
      ['select', 'south', north, /one of North, South, "West, far", not "south"; did you mean "South"/],
      ['multiselect', 'North,East', north, /some of .* not "East"/],
      ['multiselect', { North: true }, north, /a list or text with commas/],
      ['link', 'n'.repeat(201), {}, /name of a document/],
      ['json', { a: 10 }, { longest: 7 }, /at most 7 bytes/],
    ]
    for (const [type, given, bounds, why] of rows) {
      const read = readAs(type, given, bounds)
      assert.match('problem' in read ? read.problem : `was read as ${String(read.value)}`, why as RegExp)
    }
  })

  it('is suggested by what was typed, but no option a second time', () => {
    const rows: readonly (readonly [ValueType, typed: string, usual: string, readonly string[]])[] = [
      ['multiselect', '', '', ['North', 'South', 'West, far']],
      ['multiselect', 'North,', '', ['North,South', 'North,West, far']],
      ['multiselect', 'North, so', '', ['North,South']],
      ['multiselect', ' North ,n', '', []],
      ['select', 'SO', '', ['South']],
      ['boolean', 'T', '', ['true']],
      ['text', 'us', 'Usual', ['Usual']],
      ['text', 'x', 'Usual', []],
      ['text', '', '', []],
      ['link', '', 'Usual', []],
    ]
    for (const [type, typed, usual, suggested] of rows)
      assert.deepEqual(valueTypes[type].complete(typed, north, usual), suggested, `${type} ${typed}`)
  })
})
