/** A list: what an address asks, the rows that are shown, the views that somebody keeps, and the same as a table. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { AppError } from '#leaf/errors.ts'
import type { Reader, TypedField } from '#ui/forms.ts'
import {
  filterInputs,
  keptQuery,
  type ListQuestion,
  pageOfRows,
  questionIn,
  type RowSource,
  sheetOf,
  shownList,
} from '#ui/lists.ts'
import { messagesIn } from '#ui/pages.ts'

const { de } = messagesIn(join(import.meta.dirname, 'words'))
const reader: Reader = { language: 'de', timeZone: 'UTC', messages: de }
const head = { name: 'name', label: 'Name', type: 'text' }
const columns = [
  { name: 'amount', label: 'Amount', type: 'currency' },
  { name: 'open', label: 'Open', type: 'check' },
]
const kinds = { name: 'line', amount: 'number', open: 'flag' } as const
const inputs = [head, ...columns].flatMap(({ name, label }) =>
  filterInputs({ name, label, kind: kinds[name as keyof typeof kinds] } satisfies TypedField, de.text),
)
const askable = { inputs, fields: columns }

/** Holds 2,500 rows; numbers are asked for between two ends. */
function source(asked: ListQuestion[] = []): RowSource {
  const rows = Array.from({ length: 2500 }, (_, at) => ({ name: `R${at}`, amount: at, open: at % 2 === 0 }))
  return {
    head,
    columns: ({ columns: chosen }) =>
      columns.filter(({ name }) => chosen.length === 0 || chosen.includes(name)),
    find: (question, _, limit) => {
      asked.push(question)
      const ends = Object.fromEntries(question.filters.map(([, end, value]) => [end, Number(value)]))
      if (Object.values(ends).some(Number.isNaN)) {
        const problems = [`amount: must be a number, not ${JSON.stringify(question.filters[0]![2])}`]
        return Promise.reject(new AppError('invalid', problems[0]!, { data: { problems } }))
      }
      const { '>=': from = 0, '<=': to = Infinity } = ends
      const found = rows.filter(({ amount }) => amount >= from && amount <= to)
      const next = question.offset + limit
      return Promise.resolve({
        data: found.slice(question.offset, next),
        total: found.length,
        moreThanTotal: false,
        next: next < found.length ? { offset: String(next) } : undefined,
      })
    },
    worded: (some, shown) =>
      Promise.resolve(some.map((row) => shown.map(({ name }) => ({ value: String(row[name]) })))),
  }
}

describe('a list', () => {
  it('asks for numbers between two ends and for texts by a part, as the language writes them', () => {
    assert.deepEqual(
      inputs.map(({ name, label, kind }) => [name, label, kind]),
      [
        ['name', 'Name', 'line'],
        ['amount.from', 'Amount, ab', 'number'],
        ['amount.to', 'Amount, bis', 'number'],
        ['open', 'Open', 'yesno'],
      ],
    )
    const query =
      'f.name=x&f.amount.from=1.000,5&f.open=true&words=%20a&order=amount%20desc&offset=-7&c.open=1&c.x=1'
    const { form: _, ...question } = questionIn(query, askable, reader)
    assert.deepEqual(question, {
      words: ' a',
      filters: [
        ['name', 'contains', 'x'],
        ['amount', '>=', '1000.5'],
        ['open', '=', 'true'],
      ],
      given: [],
      order: 'amount desc',
      columns: ['open'],
      after: undefined,
      offset: 0,
    })
    assert.equal(questionIn('order=amount;drop', askable, reader).order, '')
    assert.deepEqual(questionIn('filters=[[1,2,3],["a","=",1]]', askable, reader).given, [['a', '=', 1]])
  })

  it('shows a page of rows, and where the next one is', async () => {
    const asker = { search: '?f.amount.from=10', reader, views: [] }
    const list = { askable, head, file: '/file' }
    const shown = await shownList(asker, list, (question) => pageOfRows(source(), question))
    const { rows, total, next } = shown as Awaited<ReturnType<typeof pageOfRows>>
    assert.deepEqual([rows.length, rows[0]!.name, total], [50, 'R10', 2490])
    assert.equal(next, 'f.amount.from=10&offset=50')
  })

  it('tells what is wrong with a filter at the end that has it, and shows no rows', async () => {
    const asker = { search: '?f.amount.to=viel', reader, views: [] }
    const shown = await shownList(asker, { askable, head, file: '/file' }, (question) =>
      pageOfRows(source(), question),
    )
    assert.deepEqual([shown['isFaulty'], shown['rows']], [true, []])
    const told = (shown['inputs'] as { name: string; problem: string }[]).filter(
      ({ problem }) => problem !== '',
    )
    assert.deepEqual(
      told.map(({ name, problem }) => [name, problem]),
      [['amount.to', 'Das ist keine Zahl: "viel".']],
    )
  })

  it('begins as somebody keeps it, and keeps neither the page nor what is blank', async () => {
    assert.equal(
      keptQuery('?words=a&f.name=&c.open=1&after=x&offset=9&csrf=secret&order=amount'),
      'words=a&c.open=1&order=amount',
    )
    assert.throws(() => keptQuery(`?words=${'x'.repeat(5000)}`), { code: 'invalid' })
    const views = [{ name: '', query: 'f.amount.from=2000&c.open=1' }]
    for (const [search, filters, chosen] of [
      ['', 1, ['open']],
      ['?words=', 0, ['open']],
      ['?words=&c.amount=1', 0, ['amount']],
    ] as const) {
      const asked: ListQuestion[] = []
      await shownList({ search, reader, views }, { askable, head, file: '/file' }, (question) =>
        pageOfRows(source(asked), question),
      )
      assert.deepEqual([asked[0]!.filters.length, asked[0]!.columns], [filters, chosen], search)
    }
  })

  it('is the same as a table, read in parts', async () => {
    const asked: ListQuestion[] = []
    const table = await sheetOf('rows', source(asked), questionIn('offset=40', askable, reader))
    assert.deepEqual([table.rows.length, table.rows[0], asked.length], [2500, ['R0', 0, true], 3])
  })
})
