/**
 * A full-text index of one doctype in memory. Before each search it catches up with the changes that
 * were kept since (see history.ts), so what a search finds is what a list would show.
 */
import { setImmediate } from 'node:timers/promises'
import MiniSearch, { type SearchResult } from 'minisearch'
import { collectionFor, type Documents } from './documents.ts'
import { changedSince, lastChange } from './history.ts'
import type { SearchEntry, SearchIndex } from './memory.ts'
import type { Doctype, Field } from './platform.ts'
import type { StoredDocument } from './stored.ts'

/** One document that a search found. */
export interface Hit {
  readonly name: string
  readonly score: number
  /** The same without a word about other documents, for those who may not read all. */
  readonly ownScore: number
}

const indexedTypes = new Set(['text', 'long_text', 'select', 'link', 'dynamic_link'])
const portion = 200
/** A question of more words than these is asked with the first of them; each is looked up by itself. */
const mostWords = 12
/** Beyond so many changes it is quicker to begin anew. */
const mostToCatchUp = 20_000

/** The fields of a doctype that are indexed, those of rows as `items.item`. */
export function indexedFields(
  doctypes: ReadonlyMap<string, Doctype>,
  doctype: Doctype,
): { readonly path: string; readonly fields: readonly Field[] }[] {
  return [...doctype.fields.values()].flatMap((field) => {
    if (indexedTypes.has(field.type)) return [{ path: field.name, fields: [field] }]
    if (field.type !== 'table') return []
    return [...doctypes.get(field.doctype!)!.fields.values()]
      .filter((column) => indexedTypes.has(column.type))
      .map((column) => ({ path: `${field.name}.${column.name}`, fields: [field, column] }))
  })
}

/**
 * Finds documents by words in the fields given, best first; of those that are not `open` to the caller nothing
 * counts: neither what they hold, nor how many of them hold a word.
 */
export async function findWords(
  documents: Documents,
  doctype: Doctype,
  words: string,
  fields: readonly string[],
  open: (hits: readonly Hit[]) => Promise<readonly Hit[]>,
): Promise<readonly Hit[]> {
  const index = await upToDate(documents, doctype)
  const bounded = boundedWords(words)
  const options = {
    fields: ['name', ...fields],
    prefix: (term: string) => term.length >= 2,
    // Typing errors are forgiven in long words; numbers and codes have to match.
    fuzzy: (term: string) => (term.length >= 5 && !/\d/.test(term) ? 0.2 : false),
    boost: { name: 3, ...(doctype.titleField !== undefined && { [doctype.titleField]: 2 }) },
  }
  const find = (combineWith: 'AND' | 'OR'): Promise<readonly Hit[]> =>
    open(
      index.texts.search(bounded, { ...options, combineWith }).map((hit) => ({
        name: String(hit.id),
        score: hit.score,
        ownScore: ownScore(hit, options.boost),
      })),
    )
  // Documents with all words; only where there is none that the caller may read, those with any of them: that
  // another document has them all would otherwise show in the answer.
  const all = await find('AND')
  return all.length > 0 ? all : await find('OR')
}

/** Different words, without single letters where there are longer ones: those stand in every document. */
function boundedWords(words: string): string {
  const all = [...new Set(words.toLowerCase().split(/\s+/))].filter((word) => word !== '')
  const longer = all.filter((word) => word.length > 1)
  return (longer.length > 0 ? longer : all).slice(0, mostWords).join(' ')
}

/** A score that follows from the document alone: the usual one weighs a word by how many documents have it. */
function ownScore(hit: SearchResult, boost: Readonly<Record<string, number>>): number {
  const words = Object.entries(hit.match).map(([term, fields]) => {
    const exact = hit.queryTerms.includes(term) ? 1 : 0.5
    return exact * Math.max(...fields.map((field) => boost[field] ?? 1))
  })
  return words.reduce((sum, word) => sum + word, 0)
}

async function upToDate(documents: Documents, doctype: Doctype): Promise<SearchIndex> {
  const paths = indexedFields(documents.platform.doctypes, doctype).map(({ path }) => path)
  const signature = paths.join()
  let index = documents.memory.indexes.get(doctype.name)
  if (index?.signature !== signature) {
    index = emptyIndex(paths, signature)
    documents.memory.indexes.set(doctype.name, index)
  }
  const catching = index
  // One after another: two that catch up at once would add a document twice.
  index.ready = index.ready.catch(() => undefined).then(() => catchUp(documents, doctype, catching, paths))
  await index.ready
  return index
}

function emptyIndex(paths: readonly string[], signature: string): SearchIndex {
  const texts = new MiniSearch<SearchEntry>({ fields: ['name', ...paths], autoVacuum: { minDirtCount: 500 } })
  return { signature, texts, seen: -1, ready: Promise.resolve() }
}

async function catchUp(
  documents: Documents,
  doctype: Doctype,
  index: SearchIndex,
  paths: readonly string[],
): Promise<void> {
  const { store } = documents
  const last = await lastChange(store, doctype.name)
  if (last === index.seen) return
  const collection = collectionFor(documents, doctype)
  // New, or behind an older state that was put back, or too far behind.
  if (index.seen < 0 || last < index.seen || last - index.seen > mostToCatchUp) {
    index.texts.removeAll()
    // In portions, so that other requests are answered meanwhile and the documents are never held together.
    let after: readonly unknown[] | undefined
    for (;;) {
      const page = await collection.find({ after, limit: portion })
      index.texts.addAll(page.map((document) => entryOf(document, paths)))
      if (page.length < portion) break
      after = [page.at(-1)!.id]
      await setImmediate()
    }
  } else {
    for (const name of await changedSince(store, doctype, index.seen, last)) {
      const document = await collection.get(name)
      if (index.texts.has(name)) index.texts.discard(name)
      if (document) index.texts.add(entryOf(document, paths))
    }
  }
  index.seen = last
}

function entryOf(document: StoredDocument, paths: readonly string[]): SearchEntry {
  const entry: Record<string, string> = { id: document.id, name: document.id }
  for (const path of paths) {
    const [field, column] = path.split('.') as [string, string | undefined]
    const value = document[field]
    if (column === undefined) entry[path] = typeof value === 'string' ? value : ''
    else {
      const rows = Array.isArray(value) ? (value as Record<string, unknown>[]) : []
      entry[path] = rows.map((row) => (typeof row[column] === 'string' ? row[column] : '')).join('\n')
    }
  }
  return entry as unknown as SearchEntry
}
