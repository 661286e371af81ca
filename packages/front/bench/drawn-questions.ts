/** What the search for outages draws: documents that the lowest role may write, and questions that it may ask of them. */
import * as fc from 'fast-check'

/** A doctype that anybody may fill, with a field of every type that holds something. */
export const thing = `doctype: Thing
naming: { rule: hash }
title_field: title
search_fields: [title, body]
fields:
  - { fieldname: title, type: text, index: true }
  - { fieldname: body, type: long_text }
  - { fieldname: count, type: integer }
  - { fieldname: ratio, type: number }
  - { fieldname: amount, type: currency }
  - { fieldname: day, type: date }
  - { fieldname: at, type: datetime }
  - { fieldname: kind, type: select, options: [a, b, c] }
  - { fieldname: done, type: check }
  - { fieldname: extra, type: json }
  - { fieldname: other, type: link, doctype: Thing }
  - { fieldname: rows, type: table, doctype: Thing Row }
permissions:
  - { role: Assistant User, actions: [read, write, create, delete, report, comment, assign], if_owner: true }
`
export const thingRow = `doctype: Thing Row
child: true
fields:
  - { fieldname: note, type: long_text }
  - { fieldname: qty, type: number }
`

const plain = ['title', 'body', 'count', 'ratio', 'amount', 'day', 'at', 'kind', 'done', 'other']
const columns = [...plain, 'extra', 'rows', 'name', 'owner', 'creation', 'modified', 'docstatus']
const large = 90_000
const mostBytes = 500_000
const text = (piece: string, length: number): string =>
  piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
const nested = (depth: number): string => `${'['.repeat(depth)}1${']'.repeat(depth)}`

/** What one kind of data is: how many documents, and the nth of them. */
export interface DrawnData {
  readonly name: string
  readonly count: number
  readonly document: (n: number) => Readonly<Record<string, unknown>>
}

/** Data whose shape, and not whose number, makes work. */
export const dataKinds: readonly DrawnData[] = [
  {
    name: 'many small documents',
    count: 20_000,
    document: (n) => ({
      title: `thing ${n}`,
      count: n,
      amount: n / 4,
      day: '2026-01-31',
      kind: 'abc'[n % 3],
    }),
  },
  {
    name: 'long texts of one character',
    count: 700,
    document: () => ({ title: '"', body: text('"', large) }),
  },
  {
    name: 'long texts of many lengths',
    count: 700,
    document: (n) => ({ title: `${n}`, body: text('ab ', large - n) }),
  },
  {
    name: 'long texts that differ at their end',
    count: 700,
    document: (n) => ({ body: `${text('a', large)}${n}` }),
  },
  {
    name: 'many words',
    count: 400,
    document: (n) => ({
      body: Array.from({ length: 12_000 }, (_, word) => (n * 12_000 + word).toString(36)).join(' '),
    }),
  },
  {
    name: 'tables of a thousand rows',
    count: 60,
    document: (n) => ({
      title: `${n}`,
      rows: Array.from({ length: 1000 }, (_, row) => ({ note: `row ${row}`, qty: row })),
    }),
  },
  {
    name: 'one large document',
    count: 1,
    document: () => ({
      body: text('é', large),
      rows: Array.from({ length: 15 }, () => ({ note: text('"\\', large), qty: 1 })),
    }),
  },
  {
    name: 'deep and wide JSON',
    count: 300,
    document: (n) => ({
      extra:
        n % 2 === 0
          ? JSON.parse(nested(60))
          : Object.fromEntries(Array.from({ length: 4000 }, (_, key) => [`k${key}`, { v: [key] }])),
    }),
  },
  {
    name: 'numbers as texts',
    count: 5000,
    document: (n) => ({ title: `${'0'.repeat(n % 140)}${n}.0`, count: String(n), amount: `${n}e-1` }),
  },
]

const hostile = fc.constantFrom(
  '',
  ' ',
  '%',
  '"',
  'a',
  '*',
  '00',
  '\u0000',
  '\ud800',
  text('%"', 200),
  text('%a', 2000),
  text('_', 5000),
  text('a', 20_000),
  text('"', 400_000),
  text('\u0301', 20_000),
  text('a b ', 20_000),
  text('(', 10_000),
  nested(90),
  '-1e308',
)
/** Mostly what makes sense: what is refused at once costs little. */
const rarely = <T>(usual: fc.Arbitrary<T>): fc.Arbitrary<T | string> =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: hostile })
const value = rarely(
  fc.oneof(fc.integer(), fc.constantFrom<unknown>(null, true, 0.5, '2026-01-31', '%a%', 'a', 'thing 7')),
)
const column = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...columns) },
  { weight: 1, arbitrary: hostile },
)
const operator = fc.constantFrom('=', '!=', '<', '>=', 'like', 'not like', 'in', 'not in', 'between', 'is')
const some = <T>(one: fc.Arbitrary<T>, most = 10): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.array(one, { maxLength: most }) },
    // The same thousands of times, as far as a body may be so long.
    {
      weight: 1,
      arbitrary: fc.tuple(one, fc.constantFrom(100, 5000)).map(([of, n]) => {
        const size = JSON.stringify(of)?.length ?? 1
        return Array<T>(Math.min(n, Math.ceil(mostBytes / size))).fill(of)
      }),
    },
  )
const condition = fc.tuple(column, operator, fc.oneof(value, some(value)))
const filters = fc.oneof(
  some(condition, 12),
  fc.dictionary(fc.constantFrom(...columns), fc.oneof(value, fc.tuple(operator, value)), { maxKeys: 5 }),
)
const order = fc
  .array(fc.tuple(fc.constantFrom(...columns), fc.constantFrom('', ' desc')), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.map((part) => part.join('')).join(', '))
const metric = fc.record({
  function: fc.constantFrom('count', 'sum', 'avg', 'min', 'max', 'count_distinct'),
  field: fc.constantFrom(...columns),
})
const sql = fc.constantFrom(
  'SELECT * FROM thing ORDER BY body, title',
  'SELECT body, count(*) FROM thing GROUP BY body',
  'SELECT max(length(body)) FROM thing',
  'SELECT a.body FROM thing a, thing b WHERE a.body < b.body LIMIT 1000',
  'SELECT count(*) FROM thing a, thing b, thing c, thing d',
  "SELECT string_agg(body, '') FROM thing",
)
const number = fc.oneof(
  fc.constantFrom(0, 1, 20, 1000, 1000, 5000, 1e9, -1),
  fc.integer({ min: 0, max: 1000 }),
)

/** Arguments by the name that tools give them. */
const named: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  doctype: rarely(fc.constant('Thing')),
  cursor: fc.constant(''),
  fields: fc.oneof(fc.constant(['*']), some(column)),
  filters,
  order_by: rarely(order),
  group_by: some(column, 4),
  metrics: some(metric, 4),
  sql,
  query: fc.oneof(sql, hostile, fc.constantFrom('thing', 'row', 'a')),
  code: fc.constantFrom('print(len(get_documents("Thing")))', 'x = "a" * 10**8', 'print(1)'),
  data: fc.oneof(
    fc.dictionary(fc.constantFrom(...plain, 'rows', 'extra'), fc.oneof(value, some(value)), { maxKeys: 6 }),
    some(fc.constant({ title: 'x' }), 5),
  ),
}

interface Described {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly items?: Described
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
}

function ofType({ type, enum: choices, items, properties }: Described): fc.Arbitrary<unknown> {
  if (choices) return fc.constantFrom(...choices)
  const [kind] = Array.isArray(type) ? (type as string[]) : [type as string | undefined]
  if (kind === 'integer' || kind === 'number') return number
  if (kind === 'boolean') return fc.boolean()
  if (kind === 'array') return some(items ? ofType(items) : value)
  if (kind === 'object' && properties) return argumentsOf({ properties })
  if (kind === 'object') return fc.dictionary(fc.oneof(column, hostile), value, { maxKeys: 20 })
  return kind === 'string' ? hostile : value
}

/** Arguments as a tool's schema asks for them, and some that it does not. */
export function argumentsOf({ properties = {}, required = [] }: Described): fc.Arbitrary<unknown> {
  const entries = Object.entries(properties).map(
    ([name, described]) => [name, named[name] ?? ofType(described)] as const,
  )
  return fc.record(Object.fromEntries(entries), {
    requiredKeys: required.filter((name) => name in properties),
  })
}

/** Pages of documents, with what may stand in their address. */
export const address: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('/documents/Thing', '/documents', '/prompts', '/desk', '/approvals', '/skills', '/'),
    fc.dictionary(fc.constantFrom(...columns, 'q', 'after', 'sort', 'filter', 'page'), hostile, {
      maxKeys: 4,
    }),
  )
  .map(([path, query]) => {
    // A request line has an end.
    const short = Object.entries(query).map(([key, of]) => [key, of.slice(0, 2000).replace('\ud800', '')])
    return `${path}?${new URLSearchParams(short as [string, string][]).toString()}`
  })
