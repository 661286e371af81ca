/** Finding documents of a table by words. */
import { smallest } from '../core/smallest.ts'
import {
  type AskedWord,
  bestFirst,
  scorer,
  type WordAnswer,
  type WordHit,
  type WordQuestion,
} from '../core/words.ts'
import {
  type AnyQuery,
  atOnce,
  count,
  gather,
  matching,
  select,
  type Slices,
  testOf,
  type TableView,
} from './select.ts'
import type { Stored } from './store.ts'
import type { CollectionReads } from './stored-collection.ts'
import type { WordIndex } from './word-index.ts'

const sliceLength = 100

/** The documents that have the words, best first. */
function* searching(view: TableView, question: WordQuestion, query: AnyQuery): Slices<WordAnswer<Stored>> {
  const { offset = 0, limit = Infinity, holds } = query
  const score = scorer(question)
  const found: WordHit<Stored>[] = []
  const take = (document: Stored): void => {
    const result = score(document)
    if (result > 0) found.push({ id: document.id, score: result, document: () => document })
  }
  if (view.changes?.size) yield* matching(view, { holds }, undefined, take)
  else {
    const { table, now } = view
    const matches = testOf({ holds })
    const ids = yield* candidates(yield* wordsOf(view), question)
    let left = sliceLength
    for (const id of ids) {
      // What was written since is met as it is now.
      const document = table.living(id, now)
      if (document && matches(document)) take(document)
      if (--left > 0) continue
      left = sliceLength
      yield
    }
  }
  const total = found.length
  return { found: smallest(found, bestFirst, offset + limit).slice(offset), total }
}

/** Words of documents that begin so. */
function* beginning(view: TableView, start: string, { limit = Infinity }: AnyQuery): Slices<string[]> {
  const words: string[] = []
  for (const word of (yield* wordsOf(view)).beginning(start)) if (words.push(word) >= limit) break
  return words
}

/** The index, which is made in slices with the first search. */
function* wordsOf({ table }: TableView): Slices<WordIndex> {
  const { words } = table
  while (!words.whole) {
    yield
    words.goOn(table.sorted, sliceLength)
  }
  return words
}

/** Documents among which all are that have the words. */
function* candidates(index: WordIndex, { words, all }: WordQuestion): Slices<Set<string>> {
  const wanted: { readonly words: readonly string[]; readonly count: number }[] = []
  for (const asked of words) wanted.push(yield* spellings(index, asked))
  const fewest = [...wanted].sort((a, b) => a.count - b.count)
  const ids = new Set<string>()
  let left = sliceLength
  for (const one of all ? fewest.slice(0, 1) : wanted)
    for (const word of one.words)
      for (const id of index.ids(word)) {
        ids.add(id)
        if (--left > 0) continue
        left = sliceLength * 50
        yield
      }
  return ids
}

/** The words of documents that a word may mean, and how many documents have them. */
function* spellings(
  index: WordIndex,
  { word, instead }: AskedWord,
): Slices<{ readonly words: readonly string[]; readonly count: number }> {
  const words = [...instead]
  let count = 0
  if (word.length === 1) words.push(word)
  else
    for (const one of index.beginning(word)) {
      words.push(one)
      if (words.length % 1000 === 0) yield
    }
  for (const one of words) count += index.count(one)
  return { words, count }
}

/** Reads of a collection, run at once or in slices. */
export function tableReads(view: () => TableView, run: <R>(work: Slices<R>) => Promise<R>): CollectionReads {
  return {
    find: (query) => run(select(view(), query)),
    page: async (query, upTo) => {
      const { where, holds } = query
      const found = await run(select(view(), query))
      return { found, total: await run(count(view(), { where, holds, limit: upTo })) }
    },
    count: (query) => run(count(view(), query)),
    aggregate: (groups, query) => run(gather(view(), groups, query)),
    search: (words, query) => run(searching(view(), words, query)),
    beginning: (start, _, query) => run(beginning(view(), start, query)),
  }
}

/** All slices without anybody in between. */
export async function whole<R>(work: Slices<R>): Promise<R> {
  return atOnce(work)
}
