/** What the daemon holds itself as rows of a list: asked for, ordered and paged by the language in which documents are. */
import { all, type Condition, following, not, sorting, type SortKey, tester } from '#state/questions.ts'
import {
  type Comparing,
  conditionOf,
  type Filter,
  readFilters,
  readOrder,
} from '../documents/asking/filters.ts'
import { cursorOf, readCursor } from '../documents/asking/reading.ts'
import type { Field } from '../documents/platform/platform.ts'
import { shownValue } from './documents/document-words.ts'
import type { Reader } from '#ui/forms.ts'
import { type AskedField, inputsFor } from './documents/record-question.ts'
import type { FoundRows, ListQuestion, RowSource } from '#ui/lists.ts'

/** A row that is held. */
export interface HeldRow {
  readonly id: string
  readonly name: string
  /** The values of fields that have several, one by one; the field itself holds them as a text. */
  readonly several?: readonly Readonly<Record<string, string>>[]
  readonly [field: string]: unknown
}

/** Who asks, and when. */
export interface HeldAsker {
  readonly user: string
  readonly reader: Reader
  readonly now: number
}

/** What a list of such rows is made of. */
export interface Held {
  /** All its fields, that at the head of a row first, and which of them are columns where none are chosen. */
  readonly fields: readonly [head: AskedField, ...beside: AskedField[]]
  readonly usual: readonly string[]
  readonly several?: ReadonlySet<string>
  /** The order where none is asked for. */
  readonly order: readonly SortKey[]
  /** Returns the rows that have the words, the best first; all of them without words. */
  readonly rows: (words: string) => Promise<readonly HeldRow[]> | readonly HeldRow[]
}

/** Returns such rows as a list: its head, by what it can be asked for, and its source. */
export function heldList(held: Held, { user, reader, now }: HeldAsker) {
  const [head, ...beside] = held.fields
  const known = new Map(held.fields.map((field) => [field.name, { ...plain, ...field }]))
  const asked: Comparing = {
    doctype: { name: '', fields: known, rules: [], origin: { columns: {} } },
    asker: { principal: { user }, now },
    knows: () => true,
    queryable: () => true,
    masks: () => false,
  }
  const { text } = reader.messages
  const inputs = held.fields.flatMap((field) => inputsFor(field, text))
  const source: RowSource<AskedField> = {
    head,
    columns: ({ columns, filters, order }) => {
      if (columns.length > 0) return beside.filter(({ name }) => columns.includes(name))
      const wanted = new Set([...held.usual, ...filters.map(([field]) => field), order.replace(' desc', '')])
      return beside.filter(({ name }) => wanted.has(name))
    },
    find: (question, _, limit) => found(held, asked, question, limit),
    worded: (rows, columns) =>
      Promise.resolve(
        rows.map((row) => columns.map((column) => shownValue(column, row[column.name], reader, row))),
      ),
  }
  return { head, askable: { inputs, fields: beside }, source }
}

const plain: Omit<Field, 'name' | 'label' | 'type'> = {
  description: '',
  required: false,
  unique: false,
  readOnly: true,
  allowOnSubmit: false,
  indexed: false,
  options: [],
  level: 0,
  source: '',
}

async function found(
  { rows, order: usualOrder, ...held }: Held,
  asked: Comparing,
  { words, filters, order, after, offset }: ListQuestion,
  limit: number,
): Promise<FoundRows> {
  const holds = tester(all(...readFilters(asked, filters).map(heldCondition(held))))
  const keys = order === '' ? usualOrder : readOrder(asked, order)
  const fitting = (await rows(words.trim())).filter((row) => holds(row))
  const counted = { total: fitting.length, moreThanTotal: false }
  if (words.trim() !== '' && order === '') {
    const data = fitting.slice(offset, offset + limit)
    const isMore = offset + limit < fitting.length
    return { ...counted, data, next: isMore ? { offset: String(offset + limit) } : undefined }
  }
  const isNext = after === undefined ? () => true : tester(following(keys, readCursor(after, keys)))
  const rest = fitting.filter((row) => isNext(row)).toSorted(sorting(keys))
  const data = rest.slice(0, limit)
  return {
    ...counted,
    data,
    next: rest.length > limit ? { after: cursorOf(keys, data.at(-1)!) } : undefined,
  }
}

/** A field of several values equals what one of them does. */
function heldCondition({ several = new Set() }: Pick<Held, 'several'>): (filter: Filter) => Condition {
  return (filter) => {
    const { field, operator, value } = filter
    if (!several.has(field) || !/^!?=$/.test(operator)) return conditionOf([filter])
    const has: Condition = { call: 'shares', of: [{ field: 'several', column: field }, { value: [value] }] }
    return operator === '=' ? has : not(has)
  }
}
