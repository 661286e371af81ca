/** Lists, of documents or of what the daemon holds itself: a page of rows in the words of their reader, and the same as a file. */
import { AppError } from '#leaf/errors.ts'
import { type Params, queryOf } from '#ui/requests.ts'
import { isNumber, type ShownValue } from '../documents/document-words.ts'
import { problemsIn, type Visit } from '../own-page.ts'
import { type Reader, shownForm } from '#ui/forms.ts'
import {
  type Askable,
  type AskedField,
  problemAtEnd,
  questionIn,
  type RecordQuestion,
} from '../documents/record-question.ts'
import { questionWith, viewsOf } from './saved-views.ts'
import { searchOf } from '../session-middleware.ts'
import { readerOf } from '../views.ts'

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

/** A source of rows. */
export interface RowSource {
  /** The field by which people know a row, and by which they open it. */
  readonly head: AskedField
  /** Returns the columns beside it: those chosen, else the usual ones and what was asked. */
  columns(question: RecordQuestion): readonly AskedField[]
  /** AppError `invalid` with `data.problems` for filters and orders that cannot be understood. */
  find(question: RecordQuestion, columns: readonly AskedField[], limit: number): Promise<FoundRows>
  /** Returns the values of each row in the words of its reader. */
  worded(
    rows: readonly ListRow[],
    columns: readonly AskedField[],
  ): Promise<readonly (readonly ShownValue[])[]>
}

/** Returns a page of rows as the view draws them. */
export async function pageOfRows(source: RowSource, question: RecordQuestion) {
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
export async function sheetOf(name: string, source: RowSource, question: RecordQuestion) {
  const { head } = source
  const columns = [...(head.name === 'name' ? [] : [head]), ...source.columns(question)]
  const rows: unknown[][] = []
  let from: RecordQuestion | undefined = { ...question, after: undefined, offset: 0 }
  while (from && rows.length < mostExported) {
    const { data, next } = await source.find(from, columns, rowsOfPart)
    for (const row of data) rows.push([row['name'], ...columns.map((column) => row[column.name])])
    from = next && { ...from, after: next['after'], offset: Number(next['offset'] ?? 0) }
  }
  return { name, columns: [{ label: 'name' }, ...columns], rows: rows.slice(0, mostExported) }
}

/** A list as its page asks for it. */
interface AskedList {
  /** The name under which views of the list are kept: a doctype, or the path of the page. */
  readonly key: string
  readonly askable: Askable
  readonly head: AskedField
  /** True where what is found by words is ordered as well. */
  readonly ordersFound?: true
  /** The address of the same as a file, without its question. */
  readonly file: string
}

/** Returns a list as its view draws it; a filter that cannot be understood is told at its input. */
export async function shownList(
  visit: Visit,
  list: AskedList,
  find: (question: RecordQuestion) => Promise<Awaited<ReturnType<typeof pageOfRows>>>,
): Promise<Record<string, unknown>> {
  const { askable } = list
  const reader = readerOf(visit.ctx)
  const views = viewsOf(visit.account, list.key)
  const querystring = questionWith(searchOf(visit.ctx), views)
  const { form, ...question } = questionIn(querystring, askable, reader)
  const shown = (problems?: readonly string[]) => ({
    ...formOf(querystring, list, { form, question, reader, problems }),
    views: views.map((view) => ({ ...view, isThis: view.query === queryOf({ querystring }) })),
  })
  try {
    const { next, ...found } = await find(question)
    return { choices: [], ...shown(), ...found, next: next ? queryOf({ querystring }, next) : '' }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error
    const none = { columns: [], rows: [], total: 0, moreThanTotal: false, next: '', choices: [] }
    return { ...shown(problemsIn(error).map((problem) => problemAtEnd(problem, askable, form))), ...none }
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
    readonly question: RecordQuestion
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
export function seen({ words, filters, order }: RecordQuestion): Readonly<Record<string, unknown>> {
  return { ...(words !== '' && { words }), filters: filters.map(([...filter]) => filter), order }
}
