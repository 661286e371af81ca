/** Finds documents of a table by words. */
import { LargeMap } from '#leaf/large-map.ts'
import { Slice, type Slices } from '#leaf/slices.ts'
import { smallest } from '#leaf/smallest.ts'
import type { Stop } from '#leaf/stop.ts'
import {
  type AskedWord,
  bestFirst,
  scorer,
  type WordAnswer,
  type WordHit,
  type WordQuestion,
} from '../questions/words.ts'
import { type AnyQuery, count, gather, matching, select, testOf, type TableView } from './select.ts'
import type { Stored } from '../store.ts'
import type { StoppableQuery, CollectionReads } from '../stored-collection.ts'
import type { Table } from './table.ts'
import type { WordIndex } from './word-index.ts'

/** The most hits held beside those that are wanted. */
const mostHits = 10_000

/** Finds the documents that have the words, best first. */
function* searching(view: TableView, question: WordQuestion, query: AnyQuery): Slices<WordAnswer<Stored>> {
  const { offset = 0, limit = Infinity, holds } = query
  const end = offset + limit
  const score = scorer(question)
  let found: WordHit<Stored>[] = []
  let total = 0
  const take = (document: Stored): void => {
    const result = score(document)
    if (result <= 0) return
    total++
    found.push({ id: document.id, score: result, document: () => document })
  }
  if (view.changes?.size) yield* matching(view, { holds }, undefined, take)
  else {
    const { table, now } = view
    const matches = testOf({ holds })
    const ids = yield* candidates(yield* wordsOf(view), question)
    const slice = new Slice()
    for (const [id] of ids) {
      // A document written since is read as it is now.
      const document = table.living(id, now)
      if (document && matches(document)) take(document)
      // A word may stand in every document, so the hits are cut now and then.
      if (found.length > mostHits + 2 * end) found = yield* smallest(found, bestFirst, end)
      if (slice.isOver()) yield* slice.pause()
    }
  }
  return { found: (yield* smallest(found, bestFirst, end)).slice(offset), total }
}

/** Returns words of documents that begin with `start`. */
function* beginning(view: TableView, start: string, { limit = Infinity }: AnyQuery): Slices<string[]> {
  const words: string[] = []
  for (const word of (yield* wordsOf(view)).beginning(start)) if (words.push(word) >= limit) break
  return words
}

/** Returns the word index, which is built in slices at the first search. */
function* wordsOf({ table }: TableView): Slices<WordIndex> {
  const { words } = table
  yield* table.prepare()
  while (!words.whole) {
    yield
    words.goOn(table.sorted)
  }
  return words
}

/** Returns the ids of candidates: all documents that have the words are among them. */
function* candidates(index: WordIndex, { words, all }: WordQuestion): Slices<LargeMap<string, true>> {
  const wanted: { readonly words: readonly string[]; readonly count: number }[] = []
  for (const asked of words) wanted.push(yield* spellings(index, asked))
  const fewest = [...wanted].sort((a, b) => a.count - b.count)
  const ids = new LargeMap<string, true>()
  const slice = new Slice()
  for (const one of all ? fewest.slice(0, 1) : wanted)
    for (const word of one.words)
      for (const id of index.ids(word)) {
        ids.set(id, true)
        if (slice.isOver()) yield* slice.pause()
      }
  return ids
}

/** Returns the indexed words that an asked word may match, and the number of documents that have them. */
function* spellings(
  index: WordIndex,
  { word, instead }: AskedWord,
): Slices<{ readonly words: readonly string[]; readonly count: number }> {
  const words = [...instead]
  const slice = new Slice()
  let count = 0
  if (word.length === 1) words.push(word)
  else
    for (const one of index.beginning(word)) {
      words.push(one)
      if (slice.isOver()) yield* slice.pause()
    }
  for (const one of words) count += index.count(one)
  return { words, count }
}

/** Returns the read operations of a collection, run in slices. */
export function tableReads(
  view: () => TableView,
  run: <R>(work: Slices<R>, stop: Stop | undefined) => Promise<R>,
): CollectionReads {
  const found = (query: StoppableQuery): Promise<Stored[]> => run(select(view(), query), query.stop)
  return {
    find: async (query) => upToBytes(await found(query), query.bytes),
    page: async (query, upTo) => {
      const { where, holds, stop } = query
      const all = await found(query)
      const page = upToBytes(all, query.bytes)
      const total = upTo > 0 ? await run(count(view(), { where, holds, limit: upTo }), stop) : 0
      return { found: page, total, cut: page.length < all.length }
    },
    count: (query) => run(count(view(), query), query.stop),
    aggregate: (groups, query) => run(gather(view(), groups, query), query.stop),
    search: (words, query) => run(searching(view(), words, query), query.stop),
    beginning: (start, _, query) => run(beginning(view(), start, query), query.stop),
  }
}

/** Cuts a list of documents after about so many bytes. */
export function upToBytes(found: Stored[], bytes = Infinity): Stored[] {
  if (bytes === Infinity) return found
  let left = bytes
  let end = 0
  while (end < found.length && left > 0) left -= weightOf(found[end++])
  return end === found.length ? found : found.slice(0, end)
}

function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let weight = 8
  const members = value as Readonly<Record<string, unknown>>
  for (const name in members) weight += name.length + weightOf(members[name])
  return weight
}

/** Runs work after the table's declared sort orders are made; one without them is read by its indexes at once. */
export function* prepared<R>(table: Table, work: Slices<R>): Slices<R> {
  if (table.spec!.ordered.length > 0) yield* table.prepare()
  return yield* work
}
