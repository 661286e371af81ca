/** A list: a page of rows in the words of their reader, and the same as a table. */
import {
  type KeptView,
  type ListAskable,
  type ListField,
  type ListQuestion,
  problemAtEnd,
  questionIn,
  questionWith,
} from './list-question.ts'
import type { Reader } from './reader.ts'
import { type Params, queryOf } from './requests.ts'
import { problemsAsked, shownForm } from './typed-form.ts'

const rowsOfPage = 50
/** The most rows of a file, and of each part in which they are read. */
const mostExported = 10_000
const rowsOfPart = 1000

/** A row: its `name` says where it leads. */
export type ListRow = Readonly<Record<string, unknown>>

/** A page of rows. */
export interface FoundRows {
  readonly data: readonly ListRow[]
  readonly total: number
  readonly moreThanTotal: boolean
  /** What the address of the next page has besides; undefined on the last one. */
  readonly next: Readonly<Record<string, string>> | undefined
}

/** A value as a view draws it. */
export interface ShownCell {
  readonly value: string
  readonly isNumber?: true
  /** Set for a moment, which everybody reads in their own time. */
  readonly isTime?: true
}

const numbers: ReadonlySet<string> = new Set(['number', 'integer', 'currency', 'percent'])

/** True for fields whose values are aligned as numbers are. */
export function isNumber({ type }: Pick<ListField, 'type'>): boolean {
  return numbers.has(type)
}

/** A source of rows. */
export interface RowSource<Field extends ListField = ListField> {
  /** The field by which people know a row, and by which they open it. */
  readonly head: Field
  /** Returns the columns beside it: those chosen, else the usual ones and what was asked. */
  columns(question: ListQuestion): readonly Field[]
  /** AppError `invalid` with `data.problems` for filters and orders that cannot be understood. */
  find(question: ListQuestion, columns: readonly Field[], limit: number): Promise<FoundRows>
  /** Returns the values of each row in the words of its reader. */
  worded(rows: readonly ListRow[], columns: readonly Field[]): Promise<readonly (readonly ShownCell[])[]>
}

/** Returns a page of rows as the view draws them. */
export async function pageOfRows<Field extends ListField>(source: RowSource<Field>, question: ListQuestion) {
  const columns = source.columns(question)
  const { data, next, ...found } = await source.find(question, columns, rowsOfPage)
  const cells = await source.worded(data, columns)
  const rows = data.map((row, index) => ({
    name: String(row['name']),
    head: String(row[source.head.name]),
    cells: cells[index]!,
  }))
  const shown = columns.map((column) => ({
    name: column.name,
    label: column.label,
    isNumber: isNumber(column),
  }))
  return { columns: shown, rows, next, ...found }
}

/** Returns what was asked for as a table, in the columns that were asked for, as values and not as words. */
export async function sheetOf<Field extends ListField>(
  name: string,
  source: RowSource<Field>,
  question: ListQuestion,
) {
  const { head } = source
  const columns = [...(head.name === 'name' ? [] : [head]), ...source.columns(question)]
  const rows: unknown[][] = []
  let from: ListQuestion | undefined = { ...question, after: undefined, offset: 0 }
  while (from && rows.length < mostExported) {
    const { data, next } = await source.find(from, columns, rowsOfPart)
    for (const row of data) rows.push([row['name'], ...columns.map((column) => row[column.name])])
    from = next && { ...from, after: next['after'], offset: Number(next['offset'] ?? 0) }
  }
  return { name, columns: [{ label: 'name' }, ...columns], rows: rows.slice(0, mostExported) }
}

/** A list as its page asks for it. */
interface AskedList {
  readonly askable: ListAskable
  readonly head: ListField
  /** True where what is found by words is ordered as well. */
  readonly ordersFound?: true
  /** The address of the same as a file, without its question. */
  readonly file: string
}

/** Whoever asks for a list: with which address, how they read, and the views that they keep of it. */
export interface ListAsker {
  /** The query of the address. */
  readonly search: string
  readonly reader: Reader
  readonly views: readonly KeptView[]
}

/** Returns a list as its view draws it; a filter that cannot be understood is told at its input. */
export async function shownList(
  { search, reader, views }: ListAsker,
  list: AskedList,
  find: (question: ListQuestion) => Promise<Awaited<ReturnType<typeof pageOfRows>>>,
): Promise<Record<string, unknown>> {
  const { askable } = list
  const querystring = questionWith(search, views)
  const { form, ...question } = questionIn(querystring, askable, reader)
  const shown = (problems?: readonly string[]) => ({
    ...formOf(querystring, list, { form, question, reader, problems }),
    views: views.map((view) => ({ ...view, isThis: view.query === queryOf({ querystring }) })),
  })
  try {
    const { next, ...found } = await find(question)
    return { choices: [], ...shown(), ...found, next: next ? queryOf({ querystring }, next) : '' }
  } catch (error) {
    const none = { columns: [], rows: [], total: 0, moreThanTotal: false, next: '', choices: [] }
    return { ...shown(problemsAsked(error).map((problem) => problemAtEnd(problem, askable, form))), ...none }
  }
}

function formOf(
  querystring: string,
  { askable, head, ordersFound, file }: AskedList,
  {
    form,
    question,
    reader,
    problems,
  }: {
    readonly form: Params
    readonly question: ListQuestion
    readonly reader: Reader
    readonly problems: readonly string[] | undefined
  },
) {
  const { words, order } = question
  const isOrdered = words.trim() === '' || ordersFound === true
  return {
    ...shownForm(askable.inputs, { form, problems, reader }),
    filtered: question.filters.length,
    isFaulty: problems !== undefined,
    words,
    given: question.given.map(([field, operator, value]) => {
      const label = askable.fields.find(({ name }) => name === field)?.label ?? field
      return `${label} ${operator} ${typeof value === 'string' ? value : JSON.stringify(value)}`
    }),
    filters: question.given.length > 0 ? JSON.stringify(question.given) : '',
    order,
    isOrdered,
    byBest: words.trim() !== '' && (!isOrdered || order === ''),
    head: { name: head.name, label: head.label },
    fields: askable.fields.map(({ name, label }) => ({ name, label })),
    chosen: question.columns,
    query: queryOf({ querystring }),
    file,
    orderedBy: (name: string) => queryOf({ querystring }, { order: order === name ? `${name} desc` : name }),
    isFirst: question.after === undefined && question.offset === 0,
  }
}

/** Returns the part of a question that the log tells. */
export function seen({ words, filters, order }: ListQuestion): Readonly<Record<string, unknown>> {
  return { ...(words !== '' && { words }), filters: filters.map(([...filter]) => filter), order }
}
