/** Group queries as one SQL statement; `#state/questions/groups.ts` defines what they mean. */
import { Decimal } from '#leaf/decimal.ts'
import { type DatePart, type GroupAnswer, type GroupQuestion, numberPlaces } from '../../questions/groups.ts'
import { Slice, type Slices } from '#leaf/slices.ts'
import type { Statement } from '../servers/connection.ts'
import { datePattern } from '../language.ts'
import type { Dialect } from './dialect.ts'
import type { Layout, Measured as Value } from './layout.ts'
import type { SqlQuestion } from './questions.ts'

type Measured = GroupQuestion['measures'][number]

/** A column of the answer: the SQL that calculates it, shows it and sorts by it. */
interface Column {
  readonly inner: readonly string[]
  readonly shown: string
  /** The sort keys; values of two kinds sort by the kind first. */
  readonly sorts: readonly string[]
}

/** Builds the statement that answers a group query. */
export function groupsStatement(
  layout: Layout,
  { keep, from, values }: SqlQuestion,
  asked: GroupQuestion,
): Statement {
  const { keys, measures, order = [], offset = 0, limit = Infinity } = asked
  const { dialect: d } = layout
  const columns = [
    ...keys.map(({ field: name, part }, index) => keyColumn(layout.measured(name), part, `k${index}`, d)),
    ...measures.map((measure, index) => measureColumn(layout, measure, `m${index}`)),
  ]
  const group = keys.flatMap((_, index) => [`k${index}n`, `k${index}t`])
  const sorts = [...order, ...keys.map((_, column) => ({ column, descending: false }))].flatMap(
    ({ column, descending }) =>
      columns[column]!.sorts.map(
        (by) => `${by} ${descending ? 'DESC' : 'ASC'}${d.nulls(true, descending === true)}`,
      ),
  )
  const all = [...values, Number.isFinite(limit) ? limit : null, offset]
  const inner = columns.flatMap((column) => column.inner)
  return {
    text: `SELECT ${d.as('count(*) OVER ()', 'text')} AS group_count, ${d.as('sum(documents) OVER ()', 'text')} AS document_count,
        ${columns.map(({ shown }) => shown).join(', ')} FROM (${from(['count(*) AS documents', ...inner].join(', '), group)}) AS part
      ${sorts.length > 0 ? `ORDER BY ${sorts.join(', ')}` : ''} LIMIT $${all.length - 1} OFFSET $${all.length}`,
    keep,
    values: all,
  }
}

/** Reads the answer from the statement's rows. */
export function* readGroups(
  rows: readonly (readonly unknown[])[],
  { keys, measures }: GroupQuestion,
  { dialect }: Pick<Layout, 'dialect'>,
): Slices<GroupAnswer> {
  const slice = new Slice()
  const groups: unknown[][] = []
  for (const [, , ...columns] of rows) {
    const measuredColumns = measures.map((measure, index) =>
      measured(columns[keys.length + index], measure, dialect),
    )
    groups.push([...keys.map((_, index) => valueIn(columns[index], dialect)), ...measuredColumns])
    if (!slice.isOver()) continue
    yield
    slice.begin()
  }
  return { rows: groups, total: Number(rows[0]?.[0] ?? 0), documents: Number(rows[0]?.[1] ?? 0) }
}

/** Decodes a value, whose text has its kind as prefix: a number (`n`), a text, or null. */
function valueIn(shown: unknown, dialect: Dialect): number | string | null {
  if (typeof shown !== 'string') return null
  return shown.startsWith('n') ? Number(shown.slice(1)) : dialect.shown(shown.slice(1))
}

function measured(shown: unknown, { of, places }: Measured, dialect: Dialect): unknown {
  if (of === 'count') return Number(shown)
  if (of === 'min' || of === 'max') {
    const value = valueIn(shown, dialect)
    return places !== undefined && typeof value === 'number'
      ? Decimal.read((shown as string).slice(1))!.round(places)
      : value
  }
  if (shown === null) return null
  return places === undefined ? Number(shown) : Decimal.read(shown as string)!.round(places)
}

function keyColumn({ number, text }: Value, part: DatePart | undefined, name: string, d: Dialect): Column {
  const key = part === undefined ? text : partOf(text, part, d)
  const sort = d.groupSort(`${name}t`)
  return {
    inner: [`${number} AS ${name}n`, `${d.groupKey(key)} AS ${name}t`],
    shown: `COALESCE('n' || ${name}n, 't' || ${d.groupText(sort)}) AS ${name}shown`,
    sorts: [`CASE WHEN ${name}t IS NULL THEN 0 ELSE 1 END`, `${name}n`, sort],
  }
}

function measureColumn(layout: Layout, { of, field: name, places }: Measured, as: string): Column {
  const { number, text } = name === undefined ? { number: '1', text: 'NULL' } : layout.measured(name)
  const { dialect: d } = layout
  const digits = places ?? numberPlaces
  switch (of) {
    case 'count': {
      const any =
        name === undefined ? '*' : `CASE WHEN (${number}) IS NOT NULL OR (${text}) IS NOT NULL THEN 1 END`
      return { inner: [`count(${any}) AS ${as}`], shown: as, sorts: [as] }
    }
    case 'sum':
      return {
        inner: [`round(COALESCE(sum(${number}), 0), ${digits}) AS ${as}`],
        shown: `${d.as(as, 'text')} AS ${as}shown`,
        sorts: [sortedBy(as, places, d)],
      }
    case 'avg': {
      // Whole numbers are divided, so that halves are rounded exactly.
      const [sum, count] = [`${as}s`, `${as}c`]
      const twice = `2 * abs(${sum}) * 1${'0'.repeat(digits)} + ${count}`
      const unit = digits === 0 ? '1' : `0.${'1'.padStart(digits, '0')}`
      const result = `(sign(${sum}) * ${d.quotient(twice, `(2 * NULLIF(${count}, 0))`)} * ${unit})`
      return {
        inner: [`sum(${number}) AS ${sum}`, `count(${number}) AS ${count}`],
        shown: `${d.as(result, 'text')} AS ${as}shown`,
        sorts: [sortedBy(result, places, d)],
      }
    }
    default: {
      const rounded = places === undefined ? number : `round(${number}, ${places})`
      const [n, t] = [`${as}n`, `${as}t`]
      const shownOf = (column: string): string => (column === t ? d.groupText(t) : n)
      // Numbers come before texts.
      const [first, second] = of === 'min' ? [n, t] : [t, n]
      return {
        inner: [`${of}(${rounded}) AS ${n}`, `${of}(${d.sortable(`(${text})`)}) AS ${t}`],
        shown: `COALESCE('${first.at(-1)}' || ${shownOf(first)}, '${second.at(-1)}' || ${shownOf(second)}) AS ${as}shown`,
        sorts: [
          `CASE WHEN ${first} IS NOT NULL THEN ${of === 'min' ? 1 : 2} WHEN ${second} IS NOT NULL THEN ${of === 'min' ? 2 : 1} ELSE 0 END`,
          first,
          `CASE WHEN ${first} IS NULL THEN ${second} END`,
        ],
      }
    }
  }
}

/** What is shown as a number sorts as that, so that digits which it does not show decide nothing; none has more than 1e308. */
function sortedBy(result: string, places: number | undefined, d: Dialect): string {
  if (places !== undefined) return result
  const bounded = `CASE WHEN ${result} > 1e308 THEN 1e308 WHEN ${result} < -1e308 THEN -1e308 ELSE ${result} END`
  return d.double(`(${bounded})`, 'long decimal')
}

function partOf(text: string, part: DatePart, d: Dialect): string {
  const month = d.as(`substr(${text}, 6, 2)`, 'int')
  const shortened = {
    year: `left(${text}, 4)`,
    quarter: `left(${text}, 4) || '-Q' || floor((${month} + 2) / 3)`,
    month: `left(${text}, 7)`,
    week: d.week(text),
    day: `left(${text}, 10)`,
  }[part]
  return `CASE WHEN ${d.matches(text, datePattern)} THEN ${shortened} ELSE ${text} END`
}
