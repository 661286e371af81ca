/** Counts, sums, averages and extremes over the rows that the principal may read. */
import { AppError } from '../core/errors.ts'
import { dateParts, type GroupKey, type Measure } from '../core/groups.ts'
import type { Principal } from '../core/principal.ts'
import { comparableField, conditionOf, type Filter, readFilters, storedName } from './filters.ts'
import { accessFor, collectionFor, type Documents, requireAction } from './documents.ts'
import type { Access } from './permission.ts'
import type { AggregateFunction } from './platform.ts'
import { openTo } from './reading.ts'
import { isSummable, placesOf } from './values.ts'

/** One column to calculate over the documents of a group, such as the sum of `amount`. */
export interface Metric {
  readonly function: AggregateFunction
  /** Not needed to count. */
  readonly field?: string
  /** The name in the result; `sum_amount` by default. */
  readonly as?: string
}

/** Which documents are meant, by what they are grouped, and what is calculated over each group. */
export interface AggregateQuery {
  readonly doctype: string
  readonly filters?: unknown
  /** Fields; a date or time also as `order_date:month` (year, quarter, month, week, day). */
  readonly groupBy?: readonly string[]
  readonly metrics?: readonly Metric[]
  /** A column of the result, with asc or desc; by default the first metric, the largest first. */
  readonly orderBy?: string
  /** Groups in the answer; 100 by default. */
  readonly limit?: number
  readonly offset?: number
}

/** A page of groups: one row each, with the group's keys and its metrics by name; metrics of money are decimals. */
export interface AggregatePage {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** How many groups there are. */
  readonly total: number
  readonly offset: number
  /** How many documents were counted. */
  readonly documents: number
}

/** How many of the documents that the principal may read pass the filters; to count others would tell of them. */
export async function countDocuments(
  documents: Documents,
  principal: Principal,
  doctype: string,
  filters?: unknown,
): Promise<number> {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'read')
  const holds = openTo(access, conditionOf(readFilters(access, filters)))
  return await collectionFor(documents, access.doctype).count({ holds })
}

/**
 * Groups and totals for the tools. AppError `not_found` or `forbidden` as for a list, `invalid` with
 * every fault of the query.
 */
export async function aggregateDocuments(
  documents: Documents,
  principal: Principal,
  query: AggregateQuery,
): Promise<AggregatePage> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  return await aggregateIn(documents, access, readFilters(access, query.filters), query)
}

/** Aggregates with conditions that were read already. */
export async function aggregateIn(
  documents: Documents,
  access: Access,
  filters: readonly Filter[],
  query: Omit<AggregateQuery, 'doctype' | 'filters'>,
): Promise<AggregatePage> {
  const problems: string[] = []
  const keys = (query.groupBy ?? []).map((text) => readKey(access, text, problems))
  const metrics = (query.metrics?.length ? query.metrics : [{ function: 'count' as const }]).map((metric) =>
    readMetric(access, metric, problems),
  )
  const names = [...keys, ...metrics].map(({ name }) => name)
  if (new Set(names).size < names.length)
    problems.push('two columns have one name; give metrics another "as"')
  const order = readGroupOrder(query.orderBy, names, keys.length, problems)
  if (problems.length > 0) throw new AppError('invalid', problems.join('; '), { data: { problems } })
  const { offset = 0, limit = 100 } = query
  const { rows, ...counts } = await collectionFor(documents, access.doctype).aggregate(
    { keys, measures: metrics, order: [order], offset, limit },
    { holds: openTo(access, conditionOf(filters)) },
  )
  return {
    rows: rows.map((row) => Object.fromEntries(names.map((name, column) => [name, row[column]]))),
    ...counts,
    offset,
  }
}

function readKey(access: Access, text: string, problems: string[]): GroupKey & { readonly name: string } {
  const [name, part] = text.split(':') as [string, string | undefined]
  const field = comparableField(access, name)
  const known = dateParts.find((one) => one === part)
  if (typeof field === 'string') problems.push(`group_by: ${field}`)
  else if (part !== undefined && (!known || (field.type !== 'date' && field.type !== 'datetime')))
    problems.push(`group_by: "${text}": a date or time can be grouped by ${dateParts.join(', ')}`)
  return { name: part === undefined ? name : `${name}_${part}`, field: storedName(name), part: known }
}

function readMetric(access: Access, metric: Metric, problems: string[]): Measure & { readonly name: string } {
  const name =
    metric.as ?? (metric.field === undefined ? metric.function : `${metric.function}_${metric.field}`)
  if (!/^[A-Za-z_]\w{0,62}$/.test(name)) problems.push(`metrics: "${name}" cannot be a column's name`)
  if (metric.field === undefined) {
    if (metric.function !== 'count') problems.push(`metrics: ${metric.function} needs a field`)
    return { name, of: metric.function }
  }
  const field = comparableField(access, metric.field)
  if (typeof field === 'string') problems.push(`metrics: ${field}`)
  else if ((metric.function === 'sum' || metric.function === 'avg') && !isSummable(field.type))
    problems.push(`metrics: ${metric.field} is a ${field.type}; ${metric.function} needs a number`)
  const places = typeof field === 'string' ? undefined : placesOf(field)
  return { name, of: metric.function, field: storedName(metric.field), places }
}

function readGroupOrder(
  orderBy: string | undefined,
  names: readonly string[],
  keys: number,
  problems: string[],
): { readonly column: number; readonly descending: boolean } {
  // By default the largest first; dates and names in their own order.
  if (orderBy === undefined) return { column: keys, descending: true }
  const [name = '', direction = 'asc'] = orderBy.trim().split(/\s+/)
  if (!names.includes(name) || !/^(?:asc|desc)$/i.test(direction))
    problems.push(`order_by: use one of ${names.join(', ')}, with asc or desc`)
  return { column: names.indexOf(name), descending: direction.toLowerCase() === 'desc' }
}
