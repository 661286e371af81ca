/** A form of 30 fields: shown, drawn as HTML, and read as a browser sends it. `node --import tsx packages/ui/bench/forms.ts [ROUNDS]` */
import { join } from 'node:path'
import process from 'node:process'
import { givenIn, type Reader, shownForm, type TypedField } from '#ui/forms.ts'
import { createViews, messagesIn, readersOf } from '#ui/pages.ts'
import { readParams } from '#ui/requests.ts'
import { table } from '../../../bench/server-process.ts'

const rounds = Number(process.argv[2] ?? 5000)
const messages = messagesIn(join(import.meta.dirname, '../test/words'))
const reader: Reader = { language: 'de', timeZone: 'Europe/Berlin', messages: messages.de }
const kinds = ['line', 'number', 'datetime', 'select', 'flag', 'text'] as const
const fields = Array.from({ length: 30 }, (_, at): TypedField => {
  const kind = kinds[at % kinds.length]!
  return { name: `field_${at}`, label: `Field ${at}`, kind, instant: true, options: ['new', 'done'] }
})
const values = Object.fromEntries(
  fields.map(({ name, kind }, at) => {
    if (kind === 'number') return [name, at + 0.5]
    return [name, kind === 'datetime' ? '2026-03-29T12:30:00.000Z' : kind === 'flag' ? true : 'new']
  }),
)
const sent = new URLSearchParams(
  shownForm(fields, { values, reader }).inputs.map(({ key, text }): [string, string] => [key, text]),
).toString()

const timed = (work: () => unknown): string => {
  for (let warm = 0; warm < rounds / 10; warm++) work()
  const used = process.cpuUsage()
  for (let round = 0; round < rounds; round++) work()
  const { user, system } = process.cpuUsage(used)
  return ((user + system) / rounds).toFixed(1)
}

const read = (): Record<string, unknown> =>
  givenIn(readParams(new URLSearchParams(sent)), fields, { reader, values })
if (Number(read()['field_1']) !== 1.5) throw new Error('a number was read wrong')
const render = createViews({
  folder: join(import.meta.dirname, '../test/views'),
  readerOf: readersOf(messages),
  globals: { scriptPath: '/forms.mjs', suggestionsPath: '/suggestions/' },
  data: () => ({ zone: '', note: '' }),
})
const shown = shownForm(fields, { values, reader })
const problems = ['field_1: must be a number, not "x"', 'field_2 is required']
table(
  ['a form of 30 fields', 'µs'],
  [
    ['shown', timed(() => shownForm(fields, { values, reader }))],
    ['drawn', timed(() => render(undefined, 'pay', { shown, fault: '', csrf: '' }))],
    ['read', timed(read)],
    ['shown again, with two problems', timed(() => shownForm(fields, { values, reader, problems }))],
  ],
)
