/**
 * Filters, orders and field lists as callers write them. Whoever queries a field that it may not
 * read on every row would learn its values, so such a field is unknown here, and so is a masked one.
 */
import { unknownName } from '../core/names.ts'
import { AppError } from '../core/errors.ts'
import { all, type Condition, compared, not, type SortKey } from '../core/conditions.ts'
import { show } from '../core/values.ts'
import type { Access } from './permission.ts'
import { type Field, standardFields } from './platform.ts'
import { readValue } from './values.ts'

/** What a condition can ask, in tools' filters and in the site's reports. */
export const operators = [
  '=',
  '!=',
  '>',
  '<',
  '>=',
  '<=',
  'like',
  'not like',
  'in',
  'not in',
  'between',
  'is',
] as const
/** An operator that was read: synonyms such as `==` are gone. */
export type Operator = (typeof operators)[number]

// The daemon answers nobody else while it compares: what one question may cost is bounded.
const mostConditions = 50
const mostPatterns = 10
const mostOrders = 10
const longestPattern = 500

/** One condition on one field as it was read, its value already of the field's type. */
export interface Filter {
  readonly field: string
  readonly operator: Operator
  readonly value: unknown
}

/** What can be compared: a field of the doctype, or one that every document has. */
export type Comparable = Pick<Field, 'name' | 'type' | 'options' | 'precision'>

const operatorWords: ReadonlyMap<string, Operator> = new Map([
  ...operators.map((operator) => [operator, operator] as const),
  ['==', '='],
  ['<>', '!='],
  ['equals', '='],
])

/**
 * Reads filters in any of their forms: `{field: value}`, `{field: [operator, value]}`,
 * `[[field, operator, value], …]`. AppError `invalid` lists every problem.
 */
export function readFilters(access: Access, filters: unknown): Filter[] {
  const problems: string[] = []
  const conditions: Filter[] = []
  const triples = triplesOf(filters, problems)
  if (triples.length > mostConditions)
    throw new AppError('invalid', `filters: at most ${mostConditions} conditions`)
  for (const [field, operator, value] of triples) {
    const comparable = comparableField(access, field)
    if (typeof comparable === 'string') problems.push(comparable)
    else {
      const condition = readCondition(comparable, operator, value)
      if (typeof condition === 'string') problems.push(`${field}: ${condition}`)
      else conditions.push(condition)
    }
  }
  if (conditions.filter(({ operator }) => operator.endsWith('like')).length > mostPatterns)
    problems.push(`at most ${mostPatterns} conditions with like or not like`)
  if (problems.length > 0)
    throw new AppError('invalid', `filters: ${problems.join('; ')}`, { data: { problems } })
  return conditions
}

/** The field of that name where the principal may compare it; otherwise why not. */
export function comparableField(access: Access, name: string): Comparable | string {
  const standard = standardFields.get(name)
  if (standard) return { name, type: standard, options: [] }
  const field = access.doctype.fields.get(name)
  if (field && access.knows(field)) {
    if (field.type === 'table' || field.type === 'json')
      return `${name} holds ${field.type === 'table' ? 'rows' : 'JSON'} and cannot be compared`
    if (access.queryable(field)) return field
    if (access.masks(field))
      return `${name} is masked for you and cannot be used in filters, order, search or totals`
  }
  const known = [...access.doctype.fields.values()].filter((other) => access.queryable(other))
  return `${unknownName('field', name, [...standardFields.keys(), ...known.map((other) => other.name)])} of ${access.doctype.name}`
}

/** What holds of the documents that pass all filters. */
export function conditionOf(filters: readonly Filter[]): Condition {
  return all(
    ...filters.map(({ field, operator, value }) => {
      const name = storedName(field)
      switch (operator) {
        case 'not in':
        case 'not like':
          return not(compared(name, operator.slice(4), value))
        case 'between': {
          const [from, to] = value as [unknown, unknown]
          return all(compared(name, '>=', from), compared(name, '<=', to))
        }
        case 'is':
          return compared(name, value === 'set' ? '!=' : '=', null)
        default:
          return compared(name, operator, value)
      }
    }),
  )
}

/** The name of a field in what is stored. */
export function storedName(field: string): string {
  return field === 'name' ? 'id' : field
}

/** Reads `order_by`: `field`, `field desc`, several with commas; what is equal in all of them comes by name. */
export function readOrder(access: Access, orderBy: string): readonly SortKey[] {
  const keys: SortKey[] = []
  const problems: string[] = []
  const parts = orderBy.split(',', mostOrders + 1)
  if (parts.length > mostOrders) throw new AppError('invalid', `order_by: at most ${mostOrders} fields`)
  for (const part of parts) {
    const match = /^\s*`?([A-Za-z_]\w*)`?(?:\s+(asc|desc))?\s*$/i.exec(part)
    const field = match
      ? comparableField(access, match[1]!)
      : `cannot read ${show(part.trim())}; write "field desc"`
    if (typeof field === 'string') problems.push(field)
    else keys.push({ field: storedName(field.name), descending: match![2]?.toLowerCase() === 'desc' })
  }
  if (problems.length > 0)
    throw new AppError('invalid', `order_by: ${problems.join('; ')}`, { data: { problems } })
  return keys
}

function triplesOf(filters: unknown, problems: string[]): [string, unknown, unknown][] {
  if (filters === undefined || filters === null) return []
  if (Array.isArray(filters)) {
    // A single triple without the outer list is what models write most often.
    const triples =
      filters.length === 3 && typeof filters[0] === 'string' ? [filters] : (filters as unknown[])
    return triples.slice(0, mostConditions + 1).flatMap((triple): [string, unknown, unknown][] => {
      if (Array.isArray(triple) && triple.length === 3 && typeof triple[0] === 'string')
        return [[triple[0], triple[1], triple[2]]]
      problems.push(`${show(triple)} must be [field, operator, value]`)
      return []
    })
  }
  if (typeof filters !== 'object') {
    problems.push('must be an object such as {"status": "Open", "amount": [">", 100]}')
    return []
  }
  return Object.entries(filters).map(([field, value]): [string, unknown, unknown] => {
    const pair = Array.isArray(value) ? (value as unknown[]) : undefined
    if (pair?.length === 2 && typeof pair[0] === 'string' && looksLikeOperator(pair[0]))
      return [field, pair[0], pair[1]]
    return pair ? [field, 'in', pair] : [field, '=', value]
  })
}

function looksLikeOperator(word: string): boolean {
  return operatorWords.has(word.toLowerCase()) || /^[^\w\s]+$/.test(word)
}

function readCondition(field: Comparable, word: unknown, value: unknown): Filter | string {
  const operator = typeof word === 'string' ? operatorWords.get(word.trim().toLowerCase()) : undefined
  if (operator === undefined) return `unknown operator ${show(word)}; use one of ${operators.join(', ')}`
  const condition = (read: unknown): Filter => ({ field: field.name, operator, value: read })
  switch (operator) {
    case 'is':
      return value === 'set' || value === 'not set' ? condition(value) : 'is takes "set" or "not set"'
    case 'like':
    case 'not like':
      return typeof value === 'string' && value.length <= longestPattern
        ? condition(value)
        : `${operator} takes a text such as "%acme%"`
    case 'in':
    case 'not in': {
      const list = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value
      if (!Array.isArray(list) || list.length > 1000) return `${operator} takes a list of at most 1000 values`
      const values = list.map((item: unknown) => readOperand(field, item))
      return values.find((item) => 'problem' in item)?.problem ?? condition(values.map((item) => item.value))
    }
    case 'between': {
      if (!Array.isArray(value) || value.length !== 2) return 'between takes [from, to]'
      const [from, to] = [readOperand(field, value[0]), readOperand(field, value[1], 'end')]
      return from.problem ?? to.problem ?? condition([from.value, to.value])
    }
    default: {
      const read = readOperand(field, value, operator === '<=' || operator === '>' ? 'end' : 'start')
      return read.problem ?? condition(read.value)
    }
  }
}

/** A value to compare with; a date stands for the whole day where a time is compared. */
function readOperand(
  field: Comparable,
  value: unknown,
  edge: 'start' | 'end' = 'start',
): { value?: unknown; problem?: string } {
  if (
    field.type === 'datetime' &&
    typeof value === 'string' &&
    /^\s*\d{4}-\d{2}-\d{2}\s*$/.test(value) &&
    edge === 'end'
  )
    return readValue(field, `${value.trim()}T23:59:59.999Z`)
  if (field.name === 'docstatus' && typeof value === 'string') {
    const status = ['draft', 'submitted', 'cancelled'].indexOf(value.toLowerCase())
    if (status >= 0) return { value: status }
  }
  // An unknown option matches nothing; saying so helps the caller more than an empty answer.
  return readValue(field.type === 'text' ? { ...field, type: 'long_text' } : field, value)
}
