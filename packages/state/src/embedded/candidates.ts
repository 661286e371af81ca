/** Chooses the index of a table that leaves the fewest documents to read for a query. */
import { comparison, conjuncts } from '../questions/conditions.ts'
import { type IndexKey, isIndexKey } from './field-index.ts'
import type { Query, Stored } from '../store.ts'
import type { Table } from './table.ts'

/** Candidates: the ids of documents, in no order; all that a query asks for are among them. */
export interface Candidates {
  readonly count: number
  /** True when these are exactly the documents that meet one of the conditions. */
  readonly exact: boolean
  each(take: (id: string) => void): void
}

/** Returns the candidates of the index that leaves the fewest documents to read; undefined where none helps. */
export function narrowest(
  table: Table,
  { where = {}, holds }: Pick<Query<Stored>, 'where' | 'holds'>,
): Candidates | undefined {
  const found: Candidates[] = []
  for (const [field, wanted] of Object.entries(where)) {
    // A checkbox is no number here.
    const some = isIndexKey(wanted) && withKeys(table, field, [wanted], typeof wanted === 'string')
    if (some) found.push(some)
  }
  for (const condition of holds ? conjuncts(holds) : []) {
    const compared = comparison(condition)
    if (!compared) continue
    const { field, operator, value } = compared
    const wanted = operator === '=' ? [value] : operator === 'in' ? value : undefined
    if (field === 'id' && Array.isArray(wanted)) {
      found.push(named(table, wanted))
      continue
    }
    const keys = wanted === undefined ? undefined : keysOf(wanted)
    const some = keys && withKeys(table, field, keys, table.index(field)?.arrays !== 0)
    if (some) found.push(some)
    else if (isRange(operator) && (typeof value === 'number' || typeof value === 'string')) {
      const range = table.ordered(field)?.compared(operator, value)
      if (range) found.push({ count: range.count, exact: true, each: idsOf([range]) })
    }
  }
  return found.sort((a, b) => a.count - b.count)[0]
}

/** Returns the documents with these ids. */
function named(table: Table, ids: readonly unknown[]): Candidates {
  const there = new Set(ids.filter((id) => typeof id === 'string' && table.get(id) !== undefined) as string[])
  return {
    count: there.size,
    exact: true,
    each: (take) => there.forEach((id) => take(id)),
  }
}

/** Returns the documents that may hold one of the keys; undefined where the field has neither an index nor an order. */
function withKeys(
  table: Table,
  field: string,
  keys: readonly IndexKey[],
  exact: boolean,
): Candidates | undefined {
  const index = table.index(field)
  if (!index) return inOrder(table, field, keys, exact)
  return {
    count: keys.reduce<number>((sum, key) => sum + index.count(key), 0),
    exact,
    each: (take) => {
      const seen = keys.length > 1 && index.arrays > 0 ? new Set<string>() : undefined
      for (const key of keys)
        for (const id of index.ids(key)) {
          if (seen?.has(id)) continue
          seen?.add(id)
          take(id)
        }
    },
  }
}

/** Does the same by the sort order of the field; a list may hold the key too. */
function inOrder(
  table: Table,
  field: string,
  keys: readonly IndexKey[],
  exact: boolean,
): Candidates | undefined {
  const order = table.ordered(field)
  if (!order) return undefined
  const values = new Set(keys.map((key) => (typeof key === 'boolean' ? Number(key) : key)))
  const lists = order.lists()
  const ranges = [...[...values].map((value) => order.compared('=', value)), lists]
  return {
    count: ranges.reduce((sum, range) => sum + range.count, 0),
    exact: exact && lists.count === 0,
    each: idsOf(ranges),
  }
}

function idsOf(
  ranges: readonly { each(visit: (document: Stored) => boolean): unknown }[],
): Candidates['each'] {
  return (take) => {
    for (const range of ranges)
      range.each(({ id }) => {
        take(id)
        return true
      })
  }
}

/** Returns the index keys of everything that equals one of the values; undefined where an index cannot tell. */
function keysOf(values: unknown): readonly IndexKey[] | undefined {
  const keys = new Set<IndexKey>()
  for (const value of Array.isArray(values) ? (values as readonly unknown[]) : [undefined]) {
    if (!isIndexKey(value)) return undefined
    keys.add(value)
    // A checkbox is 1 or true.
    if (typeof value === 'boolean') keys.add(Number(value))
    else if (value === 0 || value === 1) keys.add(value === 1)
  }
  return [...keys]
}

function isRange(operator: string): operator is '<' | '<=' | '>' | '>=' {
  return ['<', '<=', '>', '>='].includes(operator)
}
