/** Groups and what is calculated over them, as one statement; `core/groups.ts` says what it means. */
import { Decimal } from '../core/decimal.ts'
import { type DatePart, type GroupAnswer, type GroupQuestion, numberPlaces } from '../core/groups.ts'
import type { Statement } from './postgres-connection.ts'
import { datePattern, field, quoted, sortable, unsorted } from './postgres-language.ts'
import type { SqlQuestion } from './postgres-questions.ts'

type Measured = GroupQuestion['measures'][number]

/** One column of the answer: how it is calculated, what is shown of it and what it sorts by. */
interface Column {
  readonly inner: readonly string[]
  readonly shown: string
  /** Values of two kinds sort by the kind first. */
  readonly sorts: readonly string[]
}

/** The statement that answers a question about the groups of documents. */
export function groupsStatement({ keep, from, values }: SqlQuestion, asked: GroupQuestion): Statement {
  const { keys, measures, order = [], offset = 0, limit = Infinity } = asked
  const columns = [
    ...keys.map(({ field: name, part }, index) => keyColumn(valueOf(name), part, `k${index}`)),
    ...measures.map((measure, index) => measureColumn(measure, `m${index}`)),
  ]
  const group = keys.flatMap((_, index) => [`k${index}n`, `k${index}t`])
  const sorts = [...order, ...keys.map((_, column) => ({ column, descending: false }))].flatMap(
    ({ column, descending }) =>
      columns[column]!.sorts.map((by) => `${by} ${descending ? 'DESC NULLS LAST' : 'ASC NULLS FIRST'}`),
  )
  const all = [...values, Number.isFinite(limit) ? limit : null, offset]
  const inner = columns.flatMap((column) => column.inner)
  return {
    text: `WITH part AS MATERIALIZED (${from(['count(*) AS documents', ...inner].join(', '), group)})
      SELECT whole.*, page.* FROM (SELECT count(*)::text, COALESCE(sum(documents), 0)::text FROM part) AS whole
      LEFT JOIN (SELECT row_number() OVER (${sorts.length > 0 ? `ORDER BY ${sorts.join(', ')}` : ''}) AS at,
          ${columns.map(({ shown }) => shown).join(', ')} FROM part ORDER BY at LIMIT $${all.length - 1} OFFSET $${all.length}) AS page
        ON true ORDER BY page.at`,
    keep,
    values: all,
  }
}

/** What the statement answered. */
export function readGroups(rows: readonly (readonly unknown[])[], asked: GroupQuestion): GroupAnswer {
  const [first] = rows
  const from = 3
  return {
    rows: rows
      .filter((row) => row[2] !== null)
      .map((row) => [
        ...asked.keys.map((_, index) => valueIn(row[from + index])),
        ...asked.measures.map((measure, index) => measured(row[from + asked.keys.length + index], measure)),
      ]),
    total: Number(first![0]),
    documents: Number(first![1]),
  }
}

/** A value as a kind in front of its text: nothing, a number or a text. */
function valueIn(shown: unknown): number | string | null {
  if (typeof shown !== 'string') return null
  return shown.startsWith('n') ? Number(shown.slice(1)) : unsorted(shown.slice(1))
}

function measured(shown: unknown, { of, places }: Measured): unknown {
  if (of === 'count') return Number(shown)
  if (of === 'min' || of === 'max') {
    const value = valueIn(shown)
    return places !== undefined && typeof value === 'number'
      ? Decimal.read((shown as string).slice(1))!.round(places)
      : value
  }
  if (shown === null) return null
  return places === undefined ? Number(shown) : Decimal.read(shown as string)!.round(places)
}

interface Value {
  readonly number: string
  readonly text: string
}

/** The number that a field holds, and the text; NULL where it holds none. */
function valueOf(name: string): Value {
  const json = field(name)
  if (name === 'id') return { number: 'NULL::numeric', text: `(${json} #>> '{}')` }
  const check = `${json}::text::boolean::int::numeric`
  return {
    number: `CASE jsonb_typeof(${json}) WHEN 'number' THEN ${json}::numeric WHEN 'boolean' THEN ${check} END`,
    text: `CASE jsonb_typeof(${json}) WHEN 'string' THEN d.data ->> ${quoted(name)} END`,
  }
}

function keyColumn({ number, text }: Value, part: DatePart | undefined, name: string): Column {
  const key = part === undefined ? text : partOf(text, part)
  return {
    inner: [`${number} AS ${name}n`, `(${key}) COLLATE "C" AS ${name}t`],
    shown: `COALESCE('n' || ${name}n, 't' || ${sortable(`${name}t`)})`,
    sorts: [`(${name}t IS NOT NULL)::int`, `${name}n`, sortable(`${name}t`)],
  }
}

function measureColumn({ of, field: name, places }: Measured, as: string): Column {
  const { number, text } = name === undefined ? { number: '1', text: 'NULL::text' } : valueOf(name)
  const digits = places ?? numberPlaces
  switch (of) {
    case 'count': {
      const any = name === undefined ? '*' : `COALESCE((${number})::text, ${text})`
      return { inner: [`count(${any}) AS ${as}`], shown: as, sorts: [as] }
    }
    case 'sum':
      return {
        inner: [`round(COALESCE(sum(${number}), 0), ${digits}) AS ${as}`],
        shown: `${as}::text`,
        sorts: [as],
      }
    case 'avg': {
      // Whole numbers are divided, so that halves are rounded as they are.
      const [sum, count] = [`${as}s`, `${as}c`]
      const twice = `2 * abs(${sum}) * 1e${digits}::numeric + ${count}`
      const unit = digits === 0 ? '1' : `0.${'1'.padStart(digits, '0')}`
      const result = `(sign(${sum}) * div(${twice}, 2 * NULLIF(${count}, 0)) * ${unit})`
      return {
        inner: [`sum(${number}) AS ${sum}`, `count(${number}) AS ${count}`],
        shown: `${result}::text`,
        sorts: [result],
      }
    }
    default: {
      const rounded = places === undefined ? number : `round(${number}, ${places})`
      const [n, t] = [`${as}n`, `${as}t`]
      // Numbers come before texts.
      const [first, second] = of === 'min' ? [n, t] : [t, n]
      return {
        inner: [`${of}(${rounded}) AS ${n}`, `${of}((${sortable(`(${text})`)}) COLLATE "C") AS ${t}`],
        shown: `CASE WHEN ${first} IS NOT NULL THEN '${first.at(-1)}' || ${first} ELSE '${second.at(-1)}' || ${second} END`,
        sorts: [
          `CASE WHEN ${first} IS NOT NULL THEN ${of === 'min' ? 1 : 2} WHEN ${second} IS NOT NULL THEN ${of === 'min' ? 2 : 1} ELSE 0 END`,
          first,
          `CASE WHEN ${first} IS NULL THEN ${second} END`,
        ],
      }
    }
  }
}

function partOf(text: string, part: DatePart): string {
  const month = `substr(${text}, 6, 2)::int`
  const day = `make_date(left(${text}, 4)::int, ${month}, 1) + (substr(${text}, 9, 2)::int - 1)`
  const shortened = {
    year: `left(${text}, 4)`,
    quarter: `left(${text}, 4) || '-Q' || (${month} + 2) / 3`,
    month: `left(${text}, 7)`,
    week: `to_char(${day}, 'IYYY"-W"IW')`,
    day: `left(${text}, 10)`,
  }[part]
  return `CASE WHEN ${text} ~ '${datePattern}' THEN ${shortened} ELSE ${text} END`
}
