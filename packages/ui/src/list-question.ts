/** What somebody asks of a list: words, filters by type, an order, columns, and the page. */
import { AppError } from '#leaf/errors.ts'
import { jsonIn } from '#leaf/strict-json.ts'
import type { Reader, TypedField } from './reader.ts'
import { type Params, readParams } from './requests.ts'
import { givenIn } from './typed-form.ts'

/** A filter as a list takes it. */
export type FieldFilter = readonly [field: string, operator: string, value: unknown]

/** A field by which rows are asked for and shown. */
export interface ListField {
  readonly name: string
  readonly label: string
  readonly type: string
}

/** What is asked of a list. */
export interface ListQuestion {
  readonly words: string
  readonly filters: readonly FieldFilter[]
  /** Those of the filters that no input has: a link led here with them. */
  readonly given: readonly FieldFilter[]
  /** A field, with ` desc` behind it for the other way around; empty for the newest first. */
  readonly order: string
  readonly columns: readonly string[]
  readonly after: string | undefined
  readonly offset: number
}

/** The inputs of the filters of a list, and the fields that may be shown in columns. */
export interface ListAskable<Field extends ListField = ListField> {
  readonly inputs: readonly TypedField[]
  readonly fields: readonly Field[]
}

const mostColumns = 12

/** Returns the inputs by which a field is asked for: a number and a time between two ends, a text by what it contains. */
export function filterInputs(field: TypedField, word: (name: string) => string): TypedField[] {
  const { name, label, kind } = field
  if (kind === 'flag') return [{ ...field, kind: 'yesno' }]
  if (kind !== 'number' && kind !== 'date' && kind !== 'datetime')
    return [{ ...field, kind: kind === 'text' ? 'line' : kind }]
  const ends = { from: word('list.from'), to: word('list.to') }
  return Object.entries(ends).map(([end, said]) => ({
    ...field,
    name: `${name}.${end}`,
    label: `${label}, ${said}`,
    kind: kind === 'datetime' ? 'date' : kind,
  }))
}

/** Reads the question in an address. */
export function questionIn(
  query: string,
  { inputs, fields }: ListAskable,
  reader: Reader,
): ListQuestion & { readonly form: Params } {
  const form = readParams(new URLSearchParams(query))
  const filters = filtersIn(givenIn(form, inputs, { reader }), { inputs })
  const more = givenFilters(form)
  const chosen = fields.map(({ name }) => name).filter((name) => form.get(`c.${name}`) !== undefined)
  return {
    form,
    words: (form.get('words') ?? '').slice(0, 500),
    filters: [...filters, ...more],
    given: more,
    order: /^\w{1,140}( desc)?$/.exec(form.get('order') ?? '')?.[0] ?? '',
    columns: chosen.slice(0, mostColumns),
    after: form.get('after'),
    offset: Math.min(1e6, Math.max(0, Math.floor(Number(form.get('offset')) || 0))),
  }
}

/** Returns the filters that were given, by the names of their inputs. */
export function filtersIn(
  given: Readonly<Record<string, unknown>>,
  { inputs }: Pick<ListAskable, 'inputs'>,
): readonly FieldFilter[] {
  return inputs.flatMap(({ name, kind }): FieldFilter[] => {
    const value = given[name]
    if (value === null || value === undefined) return []
    const [field = '', end] = name.split('.')
    if (end !== undefined) return [[field, end === 'from' ? '>=' : '<=', value]]
    return [kind === 'line' ? [field, 'contains', value] : [field, '=', value]]
  })
}

const mostGiven = 20

/** Reads the filters that a link gives, as they are asked; their source says what is wrong with one. */
function givenFilters(form: Params): FieldFilter[] {
  const given = jsonIn(form.get('filters') ?? '')
  const isFilter = (one: unknown): one is FieldFilter =>
    Array.isArray(one) && one.length === 3 && typeof one[0] === 'string' && typeof one[1] === 'string'
  return Array.isArray(given) ? given.filter(isFilter).slice(0, mostGiven) : []
}

/** Puts the problem of a filter between two ends at the end that has it. */
export function problemAtEnd(problem: string, { inputs }: ListAskable, form: Params): string {
  const name = /^(\w+): /.exec(problem)?.[1]
  if (name === undefined || inputs.some((input) => input.name === name)) return problem
  const to = form.get(`f.${name}.to`)
  const end = to !== undefined && problem.includes(JSON.stringify(to).slice(0, 50)) ? 'to' : 'from'
  return problem.replace(name, `${name}.${end}`)
}

/** A view of a list that somebody keeps; the one without a name is how the list begins. */
export interface KeptView {
  readonly name: string
  /** The query of its address. */
  readonly query: string
}

const longestQuery = 4000

/** Returns the question of a list: as it is asked, with the columns that the person keeps; as they keep it if nothing is asked. */
export function questionWith(search: string, views: readonly KeptView[]): string {
  const asked = kept(search)
  const usual = new URLSearchParams(views.find(({ name }) => name === '')?.query)
  if (new URLSearchParams(search).size === 0) return usual.toString()
  const columns = [...usual].filter(([name]) => isColumn(name))
  const isChosen = [...asked.keys()].some(isColumn)
  return new URLSearchParams([...new URLSearchParams(search), ...(isChosen ? [] : columns)]).toString()
}

const isColumn = (name: string): boolean => name.startsWith('c.')

/** Returns the query under which what is shown is kept. AppError `invalid` for one that is too long. */
export function keptQuery(search: string): string {
  const query = kept(search).toString()
  if (query.length > longestQuery) throw new AppError('invalid', 'this view is too long to be kept')
  return query
}

/** Returns the part of a question that is kept: neither the page nor what is empty. */
function kept(search: string): URLSearchParams {
  const isKept = ([name, value]: [string, string]): boolean =>
    value !== '' && /^([fc]\.[\w.]{1,200}|words|order|filters)$/.test(name)
  return new URLSearchParams([...new URLSearchParams(search)].filter(isKept))
}
