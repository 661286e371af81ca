/** Counts, sums, averages and extremes over the rows that the principal may read. */
import { Decimal, DecimalSum } from '../core/decimal.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { order } from '../core/expression-values.ts'
import { type Comparable, comparableField, conditionOf, type Filter, readFilters } from './filters.ts'
import { accessFor, collectionFor, type Documents, requireAction } from './documents.ts'
import type { Access } from './permission.ts'
import type { AggregateFunction } from './platform.ts'
import { openTo, permitted } from './reading.ts'
import { type StoredDocument, valueOf } from './stored.ts'
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
  const names = [...keys.map((key) => key.name), ...metrics.map((metric) => metric.name)]
  if (new Set(names).size < names.length)
    problems.push('two columns have one name; give metrics another "as"')
  const compare = readGroupOrder(query.orderBy, names, keys.length, problems)
  if (problems.length > 0) throw new AppError('invalid', problems.join('; '), { data: { problems } })
  let counted = 0
  const groups = new Map<string, { values: readonly unknown[]; sums: Sum[] }>()
  const add = (document: StoredDocument): void => {
    const values = keys.map((key) => key.read(document))
    // As JSON, because joined texts could make one group of two.
    const id = JSON.stringify(values)
    let group = groups.get(id)
    if (!group) groups.set(id, (group = { values, sums: metrics.map(() => emptySum()) }))
    for (const [index, metric] of metrics.entries()) addTo(group.sums[index]!, metric, document)
  }
  for await (const page of permitted(documents, access, conditionOf(filters))) {
    counted += page.length
    page.forEach(add)
  }
  // Without groups there is one row, even over nothing.
  if (keys.length === 0 && groups.size === 0)
    groups.set('[]', { values: [], sums: metrics.map(() => emptySum()) })
  const rows = [...groups.values()].map(({ values, sums }) =>
    Object.fromEntries([
      ...keys.map((key, index): [string, unknown] => [key.name, values[index]]),
      ...metrics.map((metric, index): [string, unknown] => [metric.name, resultOf(metric, sums[index]!)]),
    ]),
  )
  rows.sort(compare)
  const offset = query.offset ?? 0
  return {
    rows: rows.slice(offset, offset + (query.limit ?? 100)),
    total: rows.length,
    offset,
    documents: counted,
  }
}

interface Key {
  readonly name: string
  read(document: StoredDocument): unknown
}

interface ReadMetric {
  readonly name: string
  readonly function: AggregateFunction
  readonly field: Comparable | undefined
}

interface Sum {
  count: number
  readonly sum: DecimalSum
  least: unknown
  most: unknown
}

/** What a date is shortened to; these texts sort as the times that they stand for. */
const parts: ReadonlyMap<string, (date: string) => string> = new Map([
  ['year', (date) => date.slice(0, 4)],
  ['quarter', (date) => `${date.slice(0, 4)}-Q${Math.ceil(Number(date.slice(5, 7)) / 3)}`],
  ['month', (date) => date.slice(0, 7)],
  ['week', weekOf],
  ['day', (date) => date.slice(0, 10)],
])

function readKey(access: Access, text: string, problems: string[]): Key {
  const [name, part] = text.split(':') as [string, string | undefined]
  const field = comparableField(access, name)
  if (typeof field === 'string') problems.push(`group_by: ${field}`)
  else if (part !== undefined && (!parts.has(part) || (field.type !== 'date' && field.type !== 'datetime')))
    problems.push(`group_by: "${text}": a date or time can be grouped by ${[...parts.keys()].join(', ')}`)
  const shorten = part === undefined ? undefined : parts.get(part)
  return {
    name: part === undefined ? name : `${name}_${part}`,
    read: (document) => {
      const value = valueOf(document, name)
      return shorten && typeof value === 'string' ? shorten(value) : value
    },
  }
}

function readMetric(access: Access, metric: Metric, problems: string[]): ReadMetric {
  const name =
    metric.as ?? (metric.field === undefined ? metric.function : `${metric.function}_${metric.field}`)
  if (!/^[A-Za-z_]\w{0,62}$/.test(name)) problems.push(`metrics: "${name}" cannot be a column's name`)
  if (metric.field === undefined) {
    if (metric.function !== 'count') problems.push(`metrics: ${metric.function} needs a field`)
    return { name, function: metric.function, field: undefined }
  }
  const field = comparableField(access, metric.field)
  if (typeof field === 'string') problems.push(`metrics: ${field}`)
  else if ((metric.function === 'sum' || metric.function === 'avg') && !isSummable(field.type))
    problems.push(`metrics: ${metric.field} is a ${field.type}; ${metric.function} needs a number`)
  return { name, function: metric.function, field: typeof field === 'string' ? undefined : field }
}

function readGroupOrder(
  orderBy: string | undefined,
  names: readonly string[],
  keys: number,
  problems: string[],
): (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>) => number {
  const [name, direction = ''] = (orderBy ?? '').trim().split(/\s+/)
  if (
    orderBy !== undefined &&
    (!names.includes(name!) || !['', 'asc', 'desc'].includes(direction.toLowerCase()))
  )
    problems.push(`order_by: use one of ${names.join(', ')}, with asc or desc`)
  // By default the largest first; dates and names in their own order.
  const by = orderBy === undefined ? names[keys]! : name!
  const sign = orderBy === undefined || direction.toLowerCase() === 'desc' ? -1 : 1
  return (a, b) => {
    const first = sign * order(a[by] ?? null, b[by] ?? null)
    if (first !== 0) return first
    for (const other of names.slice(0, keys)) {
      const next = order(a[other] ?? null, b[other] ?? null)
      if (next !== 0) return next
    }
    return 0
  }
}

function emptySum(): Sum {
  return { count: 0, sum: new DecimalSum(), least: null, most: null }
}

function addTo(sum: Sum, { field }: ReadMetric, document: StoredDocument): void {
  if (!field) {
    sum.count++
    return
  }
  const value = valueOf(document, field.name)
  if (value === null) return
  sum.count++
  if (typeof value === 'number') sum.sum.add(value)
  if (sum.least === null || order(value, sum.least) < 0) sum.least = value
  if (sum.most === null || order(value, sum.most) > 0) sum.most = value
}

function resultOf({ function: kind, field }: ReadMetric, sum: Sum): unknown {
  if (kind === 'count') return sum.count
  const places = field && placesOf(field)
  // Other numbers: nobody reads more digits.
  const of = (result: Decimal): Decimal | number => (places === undefined ? result.toNumber() : result)
  switch (kind) {
    case 'sum':
      return of(sum.sum.total(places ?? 6))
    case 'avg': {
      // Nothing has no average, and JSON has no NaN.
      const average = sum.sum.average(places ?? 6)
      return average === undefined ? null : of(average)
    }
    default: {
      const extreme = kind === 'min' ? sum.least : sum.most
      return places !== undefined && typeof extreme === 'number' ? Decimal.of(extreme).round(places) : extreme
    }
  }
}

/** ISO 8601 week, such as 2026-W05. */
function weekOf(date: string): string {
  const day = new Date(`${date.slice(0, 10)}T00:00:00Z`)
  // A week belongs to the year of its Thursday.
  day.setUTCDate(day.getUTCDate() + 4 - (day.getUTCDay() || 7))
  const start = Date.UTC(day.getUTCFullYear(), 0, 1)
  const week = Math.ceil(((day.getTime() - start) / 86_400_000 + 1) / 7)
  return `${day.getUTCFullYear()}-W${String(week).padStart(2, '0')}`
}
