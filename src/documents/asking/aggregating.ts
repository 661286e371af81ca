/** Calculates counts, sums, averages and extremes over the rows that the principal may read. */
import { AppError } from '#leaf/errors.ts'
import { joined, listed } from '#leaf/names.ts'
import { type Condition, dateParts, type GroupKey, type Measure } from '#state/questions.ts'
import type { Principal } from '../../core/principal.ts'
import { show } from '../../core/values.ts'
import { comparableField, conditionOf, type Filter, openTo, storedName } from './filters.ts'
import { filtersOf } from './linked-filters.ts'
import { accessFor, type Documents, requireAction, type Reach } from '../documents.ts'
import type { AggregateFunction } from '../platform/platform.ts'

import { isSummable, placesOf } from '../values.ts'

/** A column calculated over the documents of a group, such as the sum of `amount`. */
export interface Metric {
  readonly function: AggregateFunction
  /** The field to calculate over; a count needs none. */
  readonly field?: string
  /** The name in the result; `sum_amount` by default. */
  readonly as?: string
}

/** A question for totals: the documents, the fields to group by, and the metrics of each group. */
export interface AggregateQuery {
  readonly doctype: string
  readonly filters?: unknown
  /** Fields; a date or time also as `order_date:month` (year, quarter, month, week, day). */
  readonly groupBy?: readonly string[]
  readonly metrics?: readonly Metric[]
  /** A column of the result, with asc or desc; by default the first metric, the largest first. */
  readonly orderBy?: string
  /** The most groups in the answer; 100 by default. */
  readonly limit?: number
  readonly offset?: number
}

/** A page of groups: one row each, with the group's keys and its metrics by name; metrics of money are decimals. */
export interface AggregatePage {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  /** The number of groups. */
  readonly total: number
  readonly offset: number
  /** The number of documents counted. */
  readonly documents: number
  readonly counted?: CountedStates
}

/** How many of the documents counted are in each state, of a doctype that can be submitted: a draft in a total is no sale. */
export interface CountedStates {
  readonly draft: number
  readonly submitted: number
  readonly cancelled: number
}

/**
 * Counts the documents that the principal may read and that pass the filters, and how many of them are in each state; a
 * count of others would tell of them.
 */
export async function countStates(
  documents: Documents,
  principal: Principal,
  doctype: string,
  filters?: unknown,
): Promise<{ readonly count: number; readonly counted?: CountedStates }> {
  const access = accessFor(documents, principal, doctype)
  requireAction(access, 'read')
  const holds = openTo(access, conditionOf(await filtersOf(access, filters)))
  const counted = await statesOf(access, holds)
  if (!counted) return { count: await access.collection().count({ holds }) }
  return { count: counted.draft + counted.submitted + counted.cancelled, counted }
}

/** Counts the documents of each state that pass a condition; undefined where no document can be submitted. */
export async function statesOf(access: Reach, holds: Condition): Promise<CountedStates | undefined> {
  if (!access.doctype.submittable) return undefined
  const { rows } = await access
    .collection()
    .aggregate(
      { keys: [{ field: 'docstatus' }], measures: [{ of: 'count' }], order: [], limit: 3 },
      { holds },
    )
  const of = (state: number): number => Number(rows.find(([key]) => key === state)?.[1] ?? 0)
  return { draft: of(0), submitted: of(1), cancelled: of(2) }
}

/**
 * Groups documents and calculates totals. AppError `not_found` or `forbidden` as for a list, `invalid` with
 * every fault of the query.
 */
export async function aggregateDocuments(
  documents: Documents,
  principal: Principal,
  query: AggregateQuery,
): Promise<AggregatePage> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  return await aggregateIn(access, await filtersOf(access, query.filters), query)
}

/** Aggregates with conditions that were read already. */
export async function aggregateIn(
  access: Reach,
  filters: readonly Filter[],
  query: Omit<AggregateQuery, 'doctype' | 'filters'>,
): Promise<AggregatePage> {
  const problems: string[] = []
  const keys = (query.groupBy ?? []).map((text) => readKey(access, text, problems))
  const metrics = (query.metrics?.length ? query.metrics : [{ function: 'count' as const }]).map((metric) =>
    readMetric(access, metric, problems),
  )
  const columns = [...keys, ...metrics]
  const names = columns.map(({ name }) => name)
  if (new Set(names).size < names.length)
    problems.push(`of the columns ${names.join(', ')} two have one name; give one another name: "as"`)
  const order = readGroupOrder(query.orderBy, names, keys.length, problems)
  if (problems.length > 0) throw new AppError('invalid', joined(problems), { data: { problems } })
  const { offset = 0, limit = 100 } = query
  const holds = openTo(access, conditionOf(filters))
  const { rows, ...counts } = await access
    .collection()
    .aggregate({ keys, measures: metrics, order: [order], offset, limit }, { holds })
  const counted = await statesOf(access, holds)
  return {
    rows: rows.map((row) =>
      Object.fromEntries(
        columns.map(({ name, isTick }, at) => [name, isTick && row[at] !== null ? row[at] === 1 : row[at]]),
      ),
    ),
    ...counts,
    ...(counted && { counted }),
    offset,
  }
}

/** Returns the column of a group, such as `order_date_month`. */
export function groupName(text: string): string {
  return text.split(':', 2).join('_')
}

/** Returns the column of a metric, such as `sum_amount`. */
export function metricName({ as, field, function: of }: Metric): string {
  return as ?? (field === undefined ? of : `${of}_${field}`)
}

/** A column of the answer; stores count a tick as 0 or 1, which shows as it does in lists. */
interface Named {
  readonly name: string
  readonly isTick: boolean
}

function readKey(access: Reach, text: string, problems: string[]): GroupKey & Named {
  const [name, part] = text.split(':') as [string, string | undefined]
  const field = comparableField(access, name)
  const known = dateParts.find((one) => one === part)
  if (typeof field === 'string') problems.push(`group_by: ${field}`)
  else if (part !== undefined && (!known || (field.type !== 'date' && field.type !== 'datetime')))
    problems.push(
      `group_by: "${text}": only dates and times have parts (${dateParts.join(', ')}); ${name} is a ${field.type}`,
    )
  const isTick = typeof field !== 'string' && field.type === 'check'
  return { name: groupName(text), field: storedName(name), part: known, isTick }
}

function readMetric(access: Reach, metric: Metric, problems: string[]): Measure & Named {
  const name = metricName(metric)
  if (!/^[A-Za-z_]\w{0,62}$/.test(name))
    problems.push(
      `metrics: "${name}" cannot be a column's name; letters, digits and _ can, as in "${name.replace(/\W+/g, '_')}"`,
    )
  if (metric.field === undefined) {
    if (metric.function !== 'count')
      problems.push(`metrics: ${metric.function} needs a field${numbers(access)}`)
    return { name, of: metric.function, isTick: false }
  }
  const field = comparableField(access, metric.field)
  if (typeof field === 'string') problems.push(`metrics: ${field}`)
  else if ((metric.function === 'sum' || metric.function === 'avg') && !isSummable(field.type))
    problems.push(
      `metrics: ${metric.field} is a ${field.type}; ${metric.function} needs a number${numbers(access)}`,
    )
  const places = typeof field === 'string' ? undefined : placesOf(field)
  const isExtreme = metric.function === 'min' || metric.function === 'max'
  const isTick = isExtreme && typeof field !== 'string' && field.type === 'check'
  return { name, of: metric.function, field: storedName(metric.field), places, isTick }
}

/** Names the fields of numbers that the principal may compare. */
function numbers(access: Reach): string {
  const fields = [...access.doctype.fields.values()].filter(
    (field) => isSummable(field.type) && access.queryable(field),
  )
  return fields.length > 0 ? `: ${listed(fields.map(({ name }) => name))}` : ', and there is none'
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
    problems.push(`order_by: cannot read ${show(orderBy)}; use one of ${names.join(', ')}, with asc or desc`)
  return { column: names.indexOf(name), descending: direction.toLowerCase() === 'desc' }
}
