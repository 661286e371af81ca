/**
 * The one form: made of a description of what is typed, whether that is a document, the arguments of a prompt or a tool,
 * or the filters of a list or a report. It shows what was typed until it is right, with each problem at its field.
 */
import { AppError, type AppErrorCode } from '#leaf/errors.ts'
import { jsonIn } from '#leaf/strict-json.ts'
import type { Params } from './requests.ts'
import { forPeople } from './messages.ts'
import { inputText, instantOf, plainNumber, type Reader, type TypedField } from './reader.ts'

/** What a form shows: what was typed, or else the values, in the words of its reader. */
export interface FormState {
  readonly form?: Params | undefined
  readonly values?: Values
  /** What is wrong, each behind its place, such as `items[2].qty: …`. */
  readonly problems?: readonly string[] | undefined
  readonly reader: Reader
  /** What the names of inputs begin with; a form whose names others know, such as an address, has nothing there. */
  readonly prefix?: string
}

/** A form as a view draws it. */
export interface ShownForm {
  readonly inputs: readonly ShownInput[]
  /** The problems of the whole; each of the others stands at its input. */
  readonly problems: readonly string[]
  readonly isAtFields: boolean
}

interface Showing extends Omit<FormState, 'problems' | 'prefix'> {
  readonly values: Values
  readonly at: ReadonlyMap<string, string>
}

/** An input as a view draws it. */
export interface ShownInput extends TypedField {
  readonly key: string
  readonly text: string
  readonly chosen: readonly string[]
  readonly problem: string
  /** The value that somebody else has stored meanwhile; set where it differs from what was typed. */
  readonly now?: string
  readonly rows: readonly ShownRow[]
}

interface ShownRow {
  readonly index: number
  /** The name of a stored row; empty for a new one. */
  readonly name: string
  readonly isDeleted: boolean
  readonly problem: string
  readonly cells: readonly ShownInput[]
}

/** The rows of a table that a page shows; others stay as they are. */
export const mostRows = 40
const mostNewRows = 20

type Values = Readonly<Record<string, unknown>>

/** Returns a form with its problems, in the reader's language, at its inputs. */
export function shownForm(
  fields: readonly TypedField[],
  { problems = [], values = {}, prefix = 'f.', ...state }: FormState,
): ShownForm {
  const { at, whole } = placed(problems, fields, state.reader)
  const inputs = fields.map((field) => shownInput(field, prefix, { ...state, values, at }, field.name))
  return { inputs, problems: whole, isAtFields: at.size > 0 }
}

function shownInput(field: TypedField, prefix: string, state: Showing, place: string): ShownInput {
  const { form, values, at, reader } = state
  const key = prefix + field.name
  const value = values[field.name]
  const typed = form && !field.fixed && field.kind !== 'password'
  const text = typed ? textIn(field, key, form) : inputText(field, value, reader)
  const stored = typed ? chosenIn(field, key, form) : Array.isArray(value) ? value.map(String) : []
  const options = field.options ?? []
  return {
    ...field,
    // What is stored stays choosable, even if it is an option no more.
    options: field.kind === 'select' && text !== '' && !options.includes(text) ? [...options, text] : options,
    key,
    text,
    chosen: stored,
    problem: at.get(place) ?? '',
    rows: field.kind === 'table' ? shownRows(field, key, state) : [],
  }
}

function shownRows(field: TypedField, key: string, state: Showing): ShownRow[] {
  const { form, values, at } = state
  const stored = storedRows(values[field.name])
  const live = form ? liveRows(field, key, form) : []
  const more = form?.get('more') === field.name ? 3 : 0
  const count = form && !field.fixed ? rowsIn(form, key) + more : stored.length + (field.fixed ? 0 : 1)
  return Array.from({ length: Math.min(count, mostRows + mostNewRows) }, (_, index) => {
    const sent = live.indexOf(index)
    const path = `${field.name}[${sent}]`
    const name = form ? (form.get(`${key}.${index}.name`) ?? '') : nameIn(stored[index])
    const row = stored.find((one) => one['name'] === name) ?? {}
    return {
      index,
      name,
      isDeleted: form?.get(`${key}.${index}._delete`) !== undefined,
      problem: sent < 0 ? '' : (at.get(path) ?? ''),
      cells: (field.columns ?? []).map((column) =>
        shownInput(column, `${key}.${index}.`, { ...state, values: row }, `${path}.${column.name}`),
      ),
    }
  })
}

/**
 * Reads what a form holds, as the verbs take it: what was left blank is null. `values` are those that are stored.
 * AppError `invalid` with `data.problems` for what is no JSON.
 */
export function givenIn(
  form: Params,
  fields: readonly TypedField[],
  { values = {}, reader, prefix = 'f.' }: Pick<FormState, 'values' | 'reader' | 'prefix'>,
): Record<string, unknown> {
  const open = fields.filter(({ fixed }) => !fixed)
  const given = open.map((field): [string, unknown] => {
    const value = givenFor(form, field, prefix + field.name, { values, reader })
    return [field.name, field.kind === 'json' && typeof value === 'string' ? jsonIn(value) : value]
  })
  const problems = given.flatMap(([name, value]) => (value === undefined ? [`${name}: must be JSON`] : []))
  if (problems.length > 0) throw new AppError('invalid', problems.join('; '), { data: { problems } })
  return Object.fromEntries(given)
}

/** Returns what was given without what was left blank. */
export function withoutBlanks(given: Values): Values {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}

function givenFor(
  form: Params,
  field: TypedField,
  key: string,
  { values, reader }: { readonly values: Values; readonly reader: Reader },
): unknown {
  const text = form.get(key)?.replaceAll('\r\n', '\n')
  switch (field.kind) {
    case 'flag':
      return text !== undefined
    case 'several':
      return chosenIn(field, key, form)
    case 'table':
      return givenRows(form, field, key, { stored: storedRows(values[field.name]), reader })
    case 'number':
      return text === undefined ? null : plainNumber(text, reader)
    case 'datetime':
      return text === undefined ? null : field.instant ? instantOf(text, reader) : text
    default:
      return text ?? null
  }
}

/** Reads the rows of a table; those to be deleted come last, so that the places of the others are those of the result. */
function givenRows(
  form: Params,
  field: TypedField,
  key: string,
  { stored, reader }: { readonly stored: readonly Values[]; readonly reader: Reader },
): Values[] {
  const columns = (field.columns ?? []).filter(({ fixed }) => !fixed)
  const rows = liveRows(field, key, form).map((index) => {
    const name = form.get(`${key}.${index}.name`)
    const before = stored.find((row) => row['name'] === name) ?? {}
    const cells = columns.flatMap((column): [string, unknown][] => {
      const at = `${key}.${index}.${column.name}`
      const isSame = textIn(column, at, form) === inputText(column, before[column.name], reader)
      return name !== undefined && isSame
        ? []
        : [[column.name, givenFor(form, column, at, { values: {}, reader })]]
    })
    // A new row leaves out what is blank: its defaults are filled in.
    const told = name === undefined ? cells.filter(([, value]) => value !== null) : cells
    return { ...(name !== undefined && { name }), ...Object.fromEntries(told) }
  })
  const gone = indexesOf(form, key).flatMap((index) => {
    const name = form.get(`${key}.${index}.name`)
    const isGone = name !== undefined && form.get(`${key}.${index}._delete`) !== undefined
    return isGone ? [{ name, _delete: true }] : []
  })
  return [...rows, ...gone]
}

/** Returns the places of the rows that are to be there: stored ones that are not deleted, and new ones that are not blank. */
function liveRows(field: TypedField, key: string, form: Params): number[] {
  return indexesOf(form, key).filter((index) => {
    if (form.get(`${key}.${index}._delete`) !== undefined) return false
    const told = (column: TypedField): boolean => form.get(`${key}.${index}.${column.name}`) !== undefined
    return form.get(`${key}.${index}.name`) !== undefined || (field.columns ?? []).some(told)
  })
}

function indexesOf(form: Params, key: string): number[] {
  return [...Array(rowsIn(form, key)).keys()]
}

function rowsIn(form: Params, key: string): number {
  const count = Number(form.get(`${key}.rows`) ?? 0)
  return Number.isInteger(count) ? Math.min(Math.max(count, 0), mostRows + mostNewRows) : 0
}

/** Returns the rows of a table that are stored, as far as a form shows them. */
function storedRows(value: unknown): readonly Values[] {
  return Array.isArray(value) ? (value as Values[]).slice(0, mostRows) : []
}

/** Returns the name of a stored row; a new one has none. */
function nameIn(row: Values | undefined): string {
  return typeof row?.['name'] === 'string' ? row['name'] : ''
}

/** Returns the options that are ticked; each box says which it is, for there may be others by now. */
function chosenIn({ kind, options = [] }: TypedField, key: string, form: Params): string[] {
  if (kind !== 'several') return []
  const sent = new Set(
    [...Array(options.length + mostRows).keys()].map((index) => form.get(`${key}.${index}`)),
  )
  return options.filter((option) => sent.has(option))
}

/** Returns the text that a form holds for a field, in the form in which `inputText` writes its value. */
function textIn({ kind }: TypedField, key: string, form: Params): string {
  const text = (form.get(key) ?? '').replaceAll('\r\n', '\n')
  return kind === 'flag' && text !== '' ? 'true' : text
}

/** Places problems by the path with which each begins. */
function placed(problems: readonly string[], fields: readonly TypedField[], { messages }: Reader) {
  const say = (problem: string): string => messages.problem(problem)
  const at = new Map<string, string>()
  const whole: string[] = []
  const known = new Map(fields.map((field) => [field.name, field]))
  const isField = (path: string): boolean =>
    [path, path.replace(/\[[^]*/, ''), /^\w+/.exec(path)?.[0] ?? ''].some((name) => known.has(name))
  const add = (path: string, said: string): void => {
    at.set(path, [at.get(path), said].filter(Boolean).join(' '))
  }
  // The catalogue may know the sentence with the name of the field, and say it better than without.
  const behind = (path: string, rest: string): string => {
    const name = `${path}: `
    const [whole, said] = [messages.fault(name + rest), say(rest)]
    if (!whole.startsWith(name)) return whole
    return said === rest ? whole.slice(name.length) : said
  }
  for (const problem of problems.map(forPeople)) {
    const missing = /^"?([\w.[\], ]+)"? (?:is|are) required(?: \(\w+\))?$/.exec(problem)?.[1]?.split(', ')
    const [, path = '', rest = ''] = /^([\w.[\]]+): ([^]*)$/.exec(problem) ?? []
    if (missing?.every(isField)) for (const one of missing) add(one, say('is required'))
    else if (isField(path)) add(path, behind(path, rest))
    else whole.push(say(problem))
  }
  return { at, whole }
}

/** Returns the problems that an error tells one by one, or its message. */
export function problemsIn(error: AppError): readonly string[] {
  const { problems = [] } = (error.data ?? {}) as { readonly problems?: readonly string[] }
  return problems.length > 0 ? problems : [error.message]
}

/** Returns the problems of what was asked and cannot be understood; every other error goes on. */
export function problemsAsked(error: unknown): readonly string[] {
  if (!(error instanceof AppError) || error.code !== 'invalid') throw error
  return problemsIn(error)
}

/** Refuses a form for what is wrong at one of its fields. */
export function refusedAt(name: string, code: AppErrorCode, problem: string): AppError {
  return new AppError(code, problem, { data: { problems: [`${name}: ${problem}`] } })
}
