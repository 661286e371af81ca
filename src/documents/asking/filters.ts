/**
 * Reads filters, orders and field lists as callers write them. A query on a field that the caller may not
 * read on every row would reveal its values, so such a field is unknown here, and so is a masked one.
 */
import { joined, unknownAmong } from '#leaf/names.ts'
import { sqlName } from '#sandbox/tables.ts'
import { AppError } from '#leaf/errors.ts'
import { all, always, type Condition, compared, not, order, type SortKey } from '#state/questions.ts'
import { jsonIn } from '#leaf/strict-json.ts'
import { isMissing, show } from '../../core/values.ts'
import type { Access } from '../permission.ts'
import { edgeOf, type Operator, operatorOf, triplesOf, unknownOperator } from './filter-forms.ts'
import type { Doctype, Field, FieldType, Origin } from '../platform/platform.ts'
import { standardOf } from '../platform/standard-fields.ts'
import { holdsUser } from './user-fields.ts'
import { readValue } from '../values.ts'

/** Operators that look into texts. */
export const ofTexts: ReadonlySet<Operator> = new Set([
  'like',
  'not like',
  'contains',
  'not contains',
  'starts with',
])
/** The types of fields that hold no texts. */
const unlikeText: ReadonlySet<FieldType> = new Set(['number', 'integer', 'currency', 'percent', 'check'])
const statuses = ['draft', 'submitted', 'cancelled']

// The daemon answers nobody else while it compares, so the cost of one question is bounded.
const mostConditions = 50
const mostPatterns = 10
const mostOrders = 10
const longestPattern = 500

/** A condition on one field after reading, its value already of the field's type. */
export interface Filter {
  readonly field: string
  readonly operator: Operator
  readonly value: unknown
}

/** A field that can be compared: one of the doctype, or one that every document has. */
export type Comparable = Pick<Field, 'name' | 'type' | 'options' | 'precision'>

/** What filters and orders are read for: fields, and which of them the asker may compare. */
export type Comparing = Pick<Access, 'knows' | 'queryable' | 'masks'> & {
  readonly asker: { readonly principal: { readonly user: string }; readonly now: number }
  readonly doctype: Pick<Doctype, 'name' | 'fields' | 'rules'> & { readonly origin?: Pick<Origin, 'columns'> }
}

/** Reads filters in any of their forms. AppError `invalid` lists every problem. */
export function readFilters(access: Comparing, filters: unknown): Filter[] {
  const problems: string[] = []
  const conditions: Filter[] = []
  const triples = triplesOf(filters, access.doctype.name, mostConditions, problems)
  if (triples.length > mostConditions)
    throw new AppError(
      'invalid',
      `filters: at most ${mostConditions} conditions; ["in", ["a", "b"]] asks for several values in one`,
    )
  for (const [field, operator, value] of triples) {
    const comparable = comparableField(access, field)
    if (typeof comparable === 'string') problems.push(comparable)
    else {
      const condition = readCondition(access, comparable, operator, value)
      if (typeof condition === 'string') problems.push(`${field}: ${condition}`)
      else conditions.push(condition)
    }
  }
  if (conditions.filter(({ operator }) => ofTexts.has(operator)).length > mostPatterns)
    problems.push(`at most ${mostPatterns} conditions with ${[...ofTexts].join(', ')}`)
  if (problems.length > 0)
    throw new AppError('invalid', `filters: ${joined(problems)}`, { data: { problems } })
  return conditions
}

/** Returns the field of that name where the principal may compare it; otherwise the reason why not. */
export function comparableField(access: Comparing, name: string): Comparable | string {
  const known = standardOf(access.doctype)
  const standard = known.get(name)
  if (standard) return { name, type: standard, options: [] }
  const field = access.doctype.fields.get(name)
  if (field && access.knows(field)) {
    if (field.type === 'table' || field.type === 'json')
      return `${name} holds ${field.type === 'table' ? 'rows' : 'JSON'} and cannot be compared${joinOf(access, field)}`
    if (access.queryable(field)) return field
    if (access.masks(field))
      return `${name} is masked for you and cannot be used in filters, order, search or totals`
  }
  const fields = [...access.doctype.fields.values()].filter((other) => access.queryable(other))
  if (/^\w+\.\w+$/.test(name)) {
    const head = fields.find((other) => other.name === name.split('.')[0])
    return `${name}: only fields of ${access.doctype.name} itself fit here; query_and_analyze joins doctypes and child tables${head ? joinOf(access, head) : ''}`
  }
  const names = [...fields.map((other) => other.name), ...known.keys()]
  return unknownAmong('field', name, names)
}

/** Returns the statement that reads what a link or a table leads to. */
function joinOf({ doctype }: Comparing, { name, type, doctype: target }: Field): string {
  if (target === undefined || (type !== 'table' && type !== 'link')) return ''
  const on = type === 'table' ? 'b.parent = a.name' : `b.name = a.${name}`
  return `; such as query_and_analyze {"query": "SELECT b.* FROM ${sqlName(doctype.name)} a JOIN ${sqlName(target)} b ON ${on}"}`
}

/** Returns the condition that all filters pass. */
export function conditionOf(filters: readonly Filter[]): Condition {
  return all(
    ...filters.map(({ field, operator, value }) => {
      const name = storedName(field)
      switch (operator) {
        case 'not in':
        case 'not like':
        case 'not contains':
          return not(compared(name, operator.slice(4), value))
        case 'starts with':
          return {
            call: 'starts_with',
            of: [{ call: 'lower', of: [{ field: name }] }, { value: String(value).toLowerCase() }],
          }
        case 'between':
        case 'not between': {
          const [from, to] = value as [unknown, unknown]
          const within = all(compared(name, '>=', from), compared(name, '<=', to))
          return operator === 'between' ? within : not(within)
        }
        case 'is':
          return compared(name, value === 'set' ? '!=' : '=', null)
        default:
          return compared(name, operator, value)
      }
    }),
  )
}

/** Returns the condition for documents that the principal may read and that pass the given one. */
export function openTo(access: Access, condition: Condition = always): Condition {
  return all(condition, access.where('read'))
}

/** Returns the name of a field in the stored document. */
export function storedName(field: string): string {
  return field === 'name' ? 'id' : field
}

/** Reads `order_by`: `field`, `field desc`, several with commas; documents equal in all of them are ordered by name. */
export function readOrder(access: Comparing, orderBy: string): readonly SortKey[] {
  const keys: SortKey[] = []
  const problems: string[] = []
  const parts = orderBy.split(',', mostOrders + 1)
  if (parts.length > mostOrders)
    throw new AppError('invalid', `order_by: at most ${mostOrders} fields, not ${orderBy.split(',').length}`)
  for (const part of parts) {
    const match = /^\s*`?([A-Za-z_]\w*)`?(?:\s+(asc|desc))?\s*$/i.exec(part)
    const field = match
      ? comparableField(access, match[1]!)
      : `cannot read ${show(part.trim())}; write the field, and asc or desc`
    if (typeof field === 'string') problems.push(field)
    else keys.push({ field: storedName(field.name), descending: match![2]?.toLowerCase() === 'desc' })
  }
  if (problems.length > 0)
    throw new AppError('invalid', `order_by: ${joined(problems)}`, { data: { problems } })
  return keys
}

function readCondition(access: Comparing, field: Comparable, word: unknown, value: unknown): Filter | string {
  const operator = operatorOf(word)
  if (operator === undefined) return unknownOperator(word)
  if (ofTexts.has(operator) && unlikeText.has(field.type))
    return `${operator} compares texts, and this is a ${field.type}; use =, >, < or between`
  const condition = (read: unknown, means = operator): Filter => ({
    field: field.name,
    operator: means,
    value: read,
  })
  const read = (one: unknown, edge: 'start' | 'end' | 'both' = 'both'): Operand =>
    readOperand(access, field, one, edge)
  switch (operator) {
    case 'is':
      if (value === null) return condition('not set')
      return value === 'set' || value === 'not set'
        ? condition(value)
        : `is takes "set" or "not set", not ${show(value)}`
    case 'like':
    case 'not like':
    case 'contains':
    case 'not contains':
    case 'starts with':
      return patternProblem(field, operator, value) ?? condition(value)
    case 'in':
    case 'not in': {
      const list = typeof value === 'string' ? listOf(value) : value
      if (!Array.isArray(list) || list.length > 1000 || list.length === 0)
        return `${operator} takes a list of one to 1000 values, such as ["${operator}", ["a", "b"]]`
      const values = list.map((item: unknown) => read(item))
      return values.find((item) => 'problem' in item)?.problem ?? condition(values.map((item) => item.value))
    }
    case 'between':
    case 'not between': {
      if (!Array.isArray(value) || value.length !== 2)
        return `${operator} takes [from, to], not ${show(value)}`
      const [from, to] = [read(value[0], 'start'), read(value[1], 'end')]
      if (order(from.value, to.value) > 0) return `${operator} takes [from, to], the smaller one first`
      return from.problem ?? to.problem ?? condition([from.value, to.value])
    }
    case '=':
    case '!=': {
      // A day is many moments, and a month many days: equal to it is what lies in it.
      const [from, to] = isTime(field) ? [read(value, 'start'), read(value, 'end')] : [read(value), undefined]
      if (to === undefined || order(from.value, to.value) === 0) return from.problem ?? condition(from.value)
      return from.problem ?? condition([from.value, to.value], operator === '=' ? 'between' : 'not between')
    }
    default: {
      const one = read(value, edgeOf(operator))
      return one.problem ?? condition(one.value)
    }
  }
}

function isTime({ type }: Comparable): boolean {
  return type === 'date' || type === 'datetime'
}

/** Tells what is wrong with the text that a text operator looks for; a select has only its options to look into. */
function patternProblem(
  { type, options }: Comparable,
  operator: Operator,
  value: unknown,
): string | undefined {
  const isPattern = operator.endsWith('like')
  if (typeof value !== 'string' || value === '' || value.length > longestPattern)
    return `${operator} takes a text such as ${isPattern ? '"%acme%"' : '"acme"'}`
  const part = value.replaceAll('%', '').toLowerCase()
  if (type !== 'select' || part.includes('_') || options.some((one) => one.toLowerCase().includes(part)))
    return undefined
  return `no option has ${show(value)} in it; they are ${options.join(', ')}`
}

/** Reads a list in a text: JSON, or with commas, where the whole may also be one value that has some. */
function listOf(text: string): readonly unknown[] {
  const list = text.trimStart().startsWith('[') ? jsonIn(text) : undefined
  if (Array.isArray(list)) return list
  const parts = text.split(',').map((item) => item.trim())
  return parts.length > 1 ? [text, ...parts] : parts
}

type Operand = { readonly value?: unknown; readonly problem?: string }

/** Reads a value to compare with: days come in words as well, `me` is the asking user, and a state of documents has a name. */
function readOperand(
  { asker, doctype }: Comparing,
  field: Comparable,
  value: unknown,
  edge: 'start' | 'end' | 'both',
): Operand {
  if (field.name === 'docstatus' && !isMissing(value)) {
    const status =
      typeof value === 'string' && !/^[0-2]$/.test(value)
        ? statuses.indexOf(value.toLowerCase())
        : Number(value)
    return statuses[status] === undefined
      ? { problem: `must be one of ${statuses.join(', ')} or 0, 1, 2, not ${show(value)}` }
      : { value: status }
  }
  if (value === 'me' && holdsUser(doctype, field.name)) return { value: asker.principal.user }
  // An unknown option matches nothing; an error helps the caller more than an empty answer.
  return readValue(field.type === 'text' ? { ...field, type: 'long_text' } : field, value, {
    now: asker.now,
    edge,
  })
}
