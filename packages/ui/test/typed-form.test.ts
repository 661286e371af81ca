/** The one form: values as people of each language and zone write them, and back again without a loss. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  givenIn,
  inputText,
  instantOf,
  marksOf,
  plainNumber,
  type Reader,
  shownForm,
  touchedIn,
  type TypedField,
} from '#ui/forms.ts'
import { messagesIn } from '#ui/pages.ts'
import { readParams } from '#ui/requests.ts'

const messages = messagesIn(join(import.meta.dirname, 'words'))
const english: Reader = { language: 'en', timeZone: 'UTC', messages: messages.en }
const german: Reader = { language: 'de', timeZone: 'Europe/Berlin', messages: messages.de }

const fields: readonly TypedField[] = [
  { name: 'amount', label: 'Amount', kind: 'number' },
  { name: 'open', label: 'Open', kind: 'flag' },
  { name: 'at', label: 'At', kind: 'datetime', instant: true },
  { name: 'text', label: 'Text', kind: 'text' },
  { name: 'state', label: 'State', kind: 'select', options: ['New', 'Done'] },
  { name: 'tags', label: 'Tags', kind: 'several', options: ['a', 'b', 'c'] },
  { name: 'fixed', label: 'Fixed', kind: 'line', fixed: true },
  {
    name: 'items',
    label: 'Items',
    kind: 'table',
    columns: [
      { name: 'item', label: 'Item', kind: 'line' },
      { name: 'qty', label: 'Qty', kind: 'number' },
    ],
  },
]
const values = {
  amount: -1234.5,
  open: true,
  at: '2026-03-29T00:30:00.000Z',
  text: '\nfirst\nsecond ',
  state: 'Retired',
  tags: ['a', 'c'],
  fixed: 'x',
  items: [
    { name: 'r1', item: 'one', qty: 1 },
    { name: 'r2', item: 'two', qty: 2.25 },
  ],
}

/** What a browser sends of a form that nobody has changed. */
function untouched(reader: Reader): URLSearchParams {
  const sent = new URLSearchParams({ began: marksOf(fields, values, reader) })
  for (const input of shownForm(fields, { values, reader }).inputs) {
    if (input.fixed) continue
    for (const [index, option] of (input.options ?? []).entries())
      if (input.kind === 'several' && input.chosen.includes(option)) sent.set(`${input.key}.${index}`, option)
    if (input.kind === 'table') sent.set(`${input.key}.rows`, String(input.rows.length))
    else if (input.kind !== 'several') sent.set(input.key, input.text.replaceAll('\n', '\r\n'))
    for (const row of input.rows) {
      sent.set(`${input.key}.${row.index}.name`, row.name)
      for (const cell of row.cells) sent.set(cell.key, cell.text)
    }
  }
  return sent
}

describe('the one form', () => {
  it('reads numbers as each language writes them, and leaves alone what is none', () => {
    for (const [text, reader, plain] of [
      ['1,234,567.5', english, '1234567.5'],
      ['1234.5', english, '1234.5'],
      ['-1,000', english, '-1000'],
      ['1,5', english, '1,5'],
      ['1.234.567,5', german, '1234567.5'],
      ['1.000', german, '1000'],
      ['1,5', german, '1.5'],
      [' 1 234,5 ', german, '1234.5'],
      ['1.5', german, '1.5'],
      ['zwölf', german, 'zwölf'],
      ['1,2,3', german, '1,2,3'],
    ] as const)
      assert.equal(plainNumber(text, reader), plain, text)
    for (const reader of [english, german])
      for (const value of [0, -0.5, 1000, 1234.5, 1e15, 0.1 + 0.2])
        assert.equal(Number(plainNumber(inputText(fields[0]!, value, reader), reader)), value)
  })

  it('takes a time as the clock of its reader showed it, on days when clocks change, too', () => {
    const at = fields.find(({ name }) => name === 'at')!
    for (const value of [
      '2026-03-29T00:30:00.000Z',
      '2026-03-29T01:30:00.000Z',
      '2026-10-25T03:30:00.000Z',
      '2026-07-01T12:00:00.000Z',
    ])
      for (const timeZone of ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'UTC']) {
        const reader: Reader = { ...english, timeZone }
        assert.equal(instantOf(inputText(at, value, reader), reader), value, timeZone)
      }
    assert.equal(inputText(at, '2026-07-01T12:00:00.000Z', german), '2026-07-01T14:00')
    assert.equal(instantOf('soon', german), 'soon')
  })

  it('sees no change in a form that nobody has changed, and each that somebody has', () => {
    for (const reader of [english, german]) {
      const same = readParams(untouched(reader))
      assert.deepEqual(
        touchedIn(same, fields, reader).map(({ name }) => name),
        [],
        reader.language,
      )
      for (const [key, value, name] of [
        ['f.amount', '1', 'amount'],
        ['f.text', '', 'text'],
        ['f.tags.1', 'b', 'tags'],
        ['f.items.1.qty', '3', 'items'],
        ['f.items.0._delete', '1', 'items'],
      ] as const) {
        const sent = untouched(reader)
        sent.set(key, value)
        assert.deepEqual(
          touchedIn(readParams(sent), fields, reader).map((field) => field.name),
          [name],
        )
      }
    }
  })

  it('sees a password that was typed, which no form begins with', () => {
    const secrets: readonly TypedField[] = [{ name: 'new', label: 'New', kind: 'password' }]
    const began = marksOf(secrets, { new: 'stored' }, english)
    const touched = (typed: string): number =>
      touchedIn(readParams(new URLSearchParams({ began, 'f.new': typed })), secrets, english).length
    assert.deepEqual([touched(''), touched('typed')], [0, 1])
    const form = readParams(new URLSearchParams({ 'f.new': 'typed' }))
    const shown = shownForm(secrets, { form, values: { new: 'stored' }, reader: english })
    assert.equal(shown.inputs[0]!.text, '', 'no form holds one')
  })

  it('gives rows as patches: what is there by its name, what is new without blanks, what is taken out last', () => {
    const sent = untouched(german)
    sent.set('f.items.rows', '5')
    sent.set('f.items.0._delete', '1')
    sent.set('f.items.1.qty', '1.000,5')
    sent.set('f.items.4.item', 'three')
    const { items, state, open } = givenIn(readParams(sent), fields, { values, reader: german })
    assert.deepEqual(items, [{ name: 'r2', qty: '1000.5' }, { item: 'three' }, { name: 'r1', _delete: true }])
    assert.deepEqual([state, open], ['Retired', true], 'what is an option no more stays until it is changed')
    const { inputs } = shownForm(fields, {
      form: readParams(sent),
      values,
      reader: german,
      problems: ['items[1].qty is required'],
    })
    const rows = inputs.find(({ name }) => name === 'items')!.rows
    assert.deepEqual(
      rows.map(({ isDeleted }) => isDeleted),
      [true, false, false, false, false],
    )
    assert.equal(rows[4]!.cells[1]!.problem, 'wird gebraucht.', 'the second of the rows that are to be there')
  })

  it('reads what is JSON as such, and refuses what is none at its field', () => {
    const json: readonly TypedField[] = [{ name: 'data', label: 'Data', kind: 'json' }]
    const read = (text: string): unknown =>
      givenIn(readParams(new URLSearchParams({ 'f.data': text })), json, { reader: english })
    assert.deepEqual([read('{"a": [1]}'), read('')], [{ data: { a: [1] } }, { data: null }])
    assert.throws(() => read('{a}'), { code: 'invalid', data: { problems: ['data: must be JSON'] } })
  })

  it('bounds the rows that somebody sends', () => {
    const sent = new URLSearchParams({
      'f.items.rows': '99999999',
      'f.items.59.item': 'x',
      'f.items.60.item': 'y',
    })
    const { items } = givenIn(readParams(sent), fields, { reader: english })
    assert.deepEqual(items, [{ item: 'x' }])
  })

  it('puts each problem at its field and into the language of its reader, and the others above all', () => {
    const shown = shownForm(fields, {
      form: readParams(untouched(german)),
      reader: german,
      problems: [
        'amount: must be a number, not "viel; oder: mehr"',
        'text, items[0].item are required',
        'delivery must not be before order',
        'nothing: is known of this',
      ],
    })
    const rows = shown.inputs.flatMap((input) => input.rows)
    const told = [...shown.inputs, ...rows.flatMap(({ cells }) => cells)]
    assert.deepEqual(
      told.filter(({ problem }) => problem !== '').map(({ key, problem }) => [key, problem]),
      [
        ['f.amount', 'Das ist keine Zahl: "viel; oder: mehr".'],
        ['f.text', 'wird gebraucht.'],
        ['f.items.0.item', 'wird gebraucht.'],
      ],
    )
    assert.equal(shown.isAtFields, true)
    assert.deepEqual(shown.problems, ['delivery must not be before order', 'nothing: is known of this'])
    assert.equal(messages.de.fault('must be a number, not "viel"'), 'Das ist keine Zahl: "viel".')
    assert.equal(
      messages.de.fault('user: there is no user "x" who may read Task "T"; must be JSON'),
      'Niemand namens x darf Task "T" lesen. Das ist kein JSON.',
    )
  })
})
