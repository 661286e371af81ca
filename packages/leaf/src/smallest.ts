/** Sorting in slices, since the time of a comparison depends on the texts that are compared. */
import { Slice, type Slices } from './slices.ts'

type Compare<T> = (a: T, b: T) => number

/** The number of items sorted in one step, however long the texts compared are. */
const runLength = 64

/** Returns the first `count` by an order, without sorting the rest; each is made from an item when its turn comes. */
export function* smallest<Item, T = Item>(
  items: readonly Item[],
  compare: Compare<NoInfer<T>>,
  count: number,
  made = (item: Item): T => item as unknown as T,
): Slices<T[]> {
  const slice = new Slice()
  const most = Math.min(count, items.length)
  if (most <= 0) return []
  let best: T[] = []
  let others: T[] = []
  // It goes from the end: the items made last are most often wanted first, and then little is sorted.
  for (let index = items.length - 1; index >= 0; index--) {
    const item = made(items[index]!)
    if (best.length < most || compare(item, best[most - 1]!) < 0) others.push(item)
    if (others.length >= Math.max(runLength, most)) {
      best = yield* merged(best, yield* sorted(others, compare), compare, most)
      others = []
    }
    if (slice.isOver()) yield* slice.pause()
  }
  return yield* merged(best, yield* sorted(others, compare), compare, most)
}

/** Sorts all items; the sort is stable. */
export function* sorted<T>(items: readonly T[], compare: Compare<T>): Slices<T[]> {
  const slice = new Slice()
  let runs: T[][] = []
  for (let from = 0; from < items.length; from += runLength) {
    runs.push(items.slice(from, from + runLength).sort(compare))
    if (slice.isOver()) yield* slice.pause()
  }
  while (runs.length > 1) {
    const longer: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      longer.push(yield* merged(runs[at]!, runs[at + 1] ?? [], compare, Infinity))
      if (slice.isOver()) yield* slice.pause()
    }
    runs = longer
  }
  return runs[0] ?? []
}

/** Merges two sorted lists, up to so many items. */
function* merged<T>(one: T[], other: T[], compare: Compare<T>, most: number): Slices<T[]> {
  if (other.length === 0) return one
  if (most === Infinity && compare(one.at(-1)!, other[0]!) <= 0) return one.concat(other)
  const slice = new Slice()
  const both: T[] = []
  for (let [a, b] = [0, 0]; both.length < most && (a < one.length || b < other.length);) {
    const first = b >= other.length || (a < one.length && compare(one[a]!, other[b]!) <= 0)
    both.push(first ? one[a++]! : other[b++]!)
    // Reading the clock costs as much as comparing two numbers.
    if (both.length % 16 === 0 && slice.isOver()) yield* slice.pause()
  }
  return both
}
