/** What somebody asks of a list of documents: words, filters by type, an order, columns, and the page. */
import { jsonIn } from '#leaf/strict-json.ts'
import type { Principal } from '../../core/principal.ts'
import { accessFor, type Documents } from '../../documents/documents.ts'
import type { Field } from '../../documents/platform/platform.ts'
import { standardFields, standardOf } from '../../documents/platform/standard-fields.ts'
import { comparableField } from '../../documents/asking/filters.ts'
import { type Params, readParams } from '#ui/requests.ts'
import { typedField } from './document-inputs.ts'
import { isNumber } from './document-words.ts'
import { type Reader, type TypedField, givenIn } from '#ui/forms.ts'

/** A filter as `list_documents` takes it. */
export type FieldFilter = readonly [field: string, operator: string, value: unknown]

/** A field by which documents are asked for and shown. */
export type AskedField = Pick<Field, 'name' | 'label' | 'type'> & Partial<Field>

/** What is asked of a list. */
export interface RecordQuestion {
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

/** The inputs of the filters of a doctype, and the fields that may be shown in columns. */
export interface Askable {
  readonly inputs: readonly TypedField[]
  readonly fields: readonly AskedField[]
}

const mostColumns = 12
/** The most documents before those of a page that words have found. */
export const mostOffset = 1000
const ranged: ReadonlySet<Field['type']> = new Set(['date', 'datetime'])

/** Returns by what a doctype's documents can be asked for by this principal. */
export function askableOf(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { messages: said }: Reader,
): Askable {
  const access = accessFor(documents, principal, doctype)
  const standard = [...standardOf(access.doctype)]
    .filter(([name]) => name !== 'name' && (name !== 'docstatus' || access.doctype.submittable))
    .map(([name, type]) => ({ name, type, label: said.text(`documents.field_${name}`) }))
  const known: AskedField[] = [...access.doctype.fields.values()].filter((field) => access.knows(field))
  const fields = [...known, ...standard].filter(({ type }) => !['table', 'long_text', 'json'].includes(type))
  const inputs = [...known, ...standard]
    .filter(({ name }) => typeof comparableField(access, name) !== 'string')
    .flatMap((field) => inputsFor(field, (name) => said.text(name)))
  return { inputs, fields }
}

/** A number and a time are asked for between two ends, a text by what it contains. */
export function inputsFor(field: AskedField, word: (name: string) => string): TypedField[] {
  const { description: _, required: __, longest: ___, ...plain } = typedField(field)
  const { label, name, kind } = plain
  if (name === 'docstatus') {
    const options = ['Draft', 'Submitted', 'Cancelled']
    const words = new Map(options.map((option, state) => [option, word(`documents.state_${state}`)]))
    return [{ ...plain, kind: 'select', options, words }]
  }
  if (kind === 'flag') return [{ ...plain, kind: 'yesno' }]
  if (!isNumber(field) && !ranged.has(field.type))
    return [{ ...plain, kind: kind === 'text' ? 'line' : kind }]
  const ends = ['from', 'to'] as const
  return ends.map((end) => ({
    ...plain,
    name: `${name}.${end}`,
    label: `${label}, ${word(`documents.${end}`)}`,
    kind: kind === 'datetime' ? 'date' : kind,
  }))
}

/** Reads the question in an address. */
export function questionIn(
  query: string,
  { inputs, fields }: Askable,
  reader: Reader,
): RecordQuestion & { readonly form: Params } {
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
  { inputs }: Pick<Askable, 'inputs'>,
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

/** Reads the filters that a link gives, as `list_documents` takes them; the documents say what is wrong with one. */
function givenFilters(form: Params): FieldFilter[] {
  const given = jsonIn(form.get('filters') ?? '')
  const isFilter = (one: unknown): one is FieldFilter =>
    Array.isArray(one) && one.length === 3 && typeof one[0] === 'string' && typeof one[1] === 'string'
  return Array.isArray(given) ? given.filter(isFilter).slice(0, mostGiven) : []
}

/** Puts the problem of a filter between two ends at the end that has it. */
export function problemAtEnd(problem: string, { inputs }: Askable, form: Params): string {
  const name = /^(\w+): /.exec(problem)?.[1]
  if (name === undefined || inputs.some((input) => input.name === name)) return problem
  const to = form.get(`f.${name}.to`)
  const end = to !== undefined && problem.includes(JSON.stringify(to).slice(0, 50)) ? 'to' : 'from'
  return problem.replace(name, `${name}.${end}`)
}

/** Returns the columns of a list: those chosen, else those by which people know a document, and what was asked. */
export function columnsFor(
  documents: Documents,
  principal: Principal,
  doctype: string,
  { columns, filters, order }: RecordQuestion,
  { fields }: Askable,
): readonly AskedField[] {
  if (columns.length > 0) return fields.filter(({ name }) => columns.includes(name))
  const { titleField, searchFields } = accessFor(documents, principal, doctype).doctype
  const own = fields.filter(({ name }) => !standardFields.has(name))
  const of = (type: Field['type']): AskedField[] => own.filter((field) => field.type === type)
  const byName = (names: readonly (string | undefined)[]): AskedField[] =>
    names.flatMap((name) => fields.find((field) => field.name === name) ?? [])
  const asked = byName([...filters.map(([field]) => field), order.replace(' desc', '')])
  const best = [
    ...byName([titleField]),
    ...asked,
    ...of('select').slice(0, 1),
    ...of('date').slice(0, 1),
    ...of('currency').slice(-1),
    ...byName(searchFields),
    ...own,
  ]
  return [...new Set(best)].slice(0, Math.max(6, asked.length + 2))
}
