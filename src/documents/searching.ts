/** Finding documents by words: only in fields that the caller could filter by, only among rows that it may read. */
import { all, any, not, type Term } from '../core/conditions.ts'
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { smallest } from '../core/smallest.ts'
import {
  type AskedWord,
  bestFirst,
  mistyped,
  type WordAnswer,
  type WordHit,
  splitWords,
} from '../core/words.ts'
import { comparableField, conditionOf, readFilters } from './filters.ts'
import { accessFor, collectionFor, type Documents, readableAccesses, requireAction } from './documents.ts'
import type { Access } from './permission.ts'
import type { Doctype, Field } from './platform.ts'
import { countSome, type DocumentPage, openTo } from './reading.ts'
import { type StoredDocument, valueOf } from './stored.ts'

/** A document that was found. */
export interface SearchHit {
  readonly doctype: string
  readonly name: string
  readonly title: string
  readonly score: number
  readonly modified: string
}

/** A page of what a search found, best first. */
export interface FoundPage {
  readonly results: readonly SearchHit[]
  /** How many documents there are that the caller may read. */
  readonly total: number
  readonly searched: readonly string[]
}

/** Searches one doctype, or all that the principal may read. */
export async function searchDocuments(
  documents: Documents,
  principal: Principal,
  query: {
    readonly words: string
    readonly doctype?: string
    readonly limit: number
    readonly offset?: number
  },
): Promise<FoundPage> {
  // A question, not a text: the work of a search grows with its words.
  const words = boundedWords(query.words.slice(0, 500))
  if (words.length === 0) throw new AppError('invalid', 'query: must have at least one word')
  const accesses =
    query.doctype === undefined
      ? readableAccesses(documents, principal)
      : [accessFor(documents, principal, query.doctype)]
  // What may only be created is known, but not searched.
  for (const access of accesses) requireAction(access, 'read')
  const { offset = 0, limit } = query
  const found: { readonly access: Access; readonly hit: WordHit<StoredDocument> }[] = []
  let total = 0
  for (const access of accesses) {
    const answer = await findWords(documents, access, words, offset + limit)
    total += answer.total
    for (const hit of answer.found) found.push({ access, hit })
  }
  const page = smallest(found, (a, b) => bestFirst(a.hit, b.hit), offset + limit).slice(offset)
  const results = page.map(({ access, hit }): SearchHit => {
    const document = hit.document()
    access.show([document])
    const { name: doctype } = access.doctype
    const title = titleOf(access, document)
    return { doctype, name: hit.id, title, score: hit.score, modified: document.modified }
  })
  return { results, total, searched: accesses.map((access) => access.doctype.name) }
}

/** A question of more words than these is asked with the first of them; each is looked up by itself. */
const mostWords = 12
/** So many words that may be meant by a mistyped one are looked at. */
const mostGuesses = 2000

/** Different words, without single letters where there are longer ones: those stand in every document. */
function boundedWords(text: string): string[] {
  const all = [...new Set(splitWords(text))]
  const longer = all.filter((word) => word.length > 1)
  return (longer.length > 0 ? longer : all).slice(0, mostWords)
}

/**
 * Documents with all words; where there is none that the caller may read, typing errors are forgiven, and then those
 * with any of the words are found: that another document has them all would otherwise show in the answer.
 */
async function findWords(
  documents: Documents,
  access: Access,
  asked: readonly string[],
  limit: number,
): Promise<WordAnswer<StoredDocument>> {
  const collection = collectionFor(documents, access.doctype)
  const holds = openTo(access)
  const title = access.doctype.titleField
  const fields = [
    { path: 'id', weight: 3 },
    ...searchable(documents, access).map((path) => ({ path, weight: path === title ? 2 : 1 })),
  ]
  const find = (words: readonly AskedWord[], all: boolean): Promise<WordAnswer<StoredDocument>> =>
    collection.search({ words, all, fields }, { holds, limit })
  const same = await find(
    asked.map((word) => ({ word, instead: [] })),
    true,
  )
  if (same.total > 0) return same
  const words: AskedWord[] = []
  for (const word of asked) {
    const guess = mistyped(word)
    const guesses = guess
      ? await collection.wordsBeginning(guess.begins, fields, { holds, limit: mostGuesses })
      : []
    words.push({ word, instead: guesses.filter((one) => one !== word && guess!.matches(one)) })
  }
  const meant = await find(words, true)
  return meant.total > 0 || words.length === 1 ? meant : await find(words, false)
}

/** A name that a link field could hold. */
export interface LinkSuggestion {
  readonly value: string
  readonly label: string
  readonly description: string
}

/** Suggests documents for a link field: names and titles that contain what was typed, those that begin with it first. */
export async function suggestLinks(
  documents: Documents,
  principal: Principal,
  query: {
    readonly doctype: string
    readonly typed: string
    readonly filters?: unknown
    readonly limit: number
  },
): Promise<
  { readonly suggestions: readonly LinkSuggestion[] } & Pick<DocumentPage, 'total' | 'moreThanTotal'>
> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  const typed = { value: query.typed.trim().toLowerCase() }
  const title = access.doctype.titleField
  const titled = title !== undefined && typeof comparableField(access, title) !== 'string'
  const texts: readonly Term[] = [{ field: 'id' }, ...(titled ? [{ field: title }] : [])]
  const begins = any(
    ...texts.map((text) => ({ call: 'starts_with', of: [{ call: 'lower', of: [text] }, typed] })),
  )
  const within = any(...texts.map((text) => ({ call: 'contains', of: [text, typed] })))
  const open = openTo(access, conditionOf(readFilters(access, query.filters)))
  const collection = collectionFor(documents, access.doctype)
  const found = [...(await collection.find({ holds: all(open, begins), limit: query.limit }))]
  if (found.length < query.limit)
    found.push(
      ...(await collection.find({
        holds: all(open, within, not(begins)),
        limit: query.limit - found.length,
      })),
    )
  access.show(found)
  return {
    ...(await countSome(collection, all(open, within))),
    suggestions: found.map((document) => ({
      value: document.id,
      label: titleOf(access, document),
      description: describe(access, document),
    })),
  }
}

/** The title of a document as far as the principal may read it; its name otherwise. */
export function titleOf(access: Access, document: StoredDocument): string {
  const field = access.doctype.fields.get(access.doctype.titleField ?? '')
  const title = field && access.shows(field, document) === 'clear' ? valueOf(document, field.name) : null
  return typeof title === 'string' && title !== '' ? title : document.id
}

function describe(access: Access, document: StoredDocument): string {
  return access.doctype.searchFields
    .filter((name) => name !== access.doctype.titleField && name !== 'notes')
    .map((name) => access.doctype.fields.get(name)!)
    .filter((field) => field.type !== 'long_text' && access.shows(field, document) === 'clear')
    .map((field) => valueOf(document, field.name))
    .filter((value): value is string => typeof value === 'string' && value !== document.id)
    .slice(0, 3)
    .join(', ')
}

const searchedTypes = new Set(['text', 'long_text', 'select', 'link', 'dynamic_link'])

/** The fields of a doctype that can be searched, those of rows as `items.item`. */
function searchedFields(
  doctypes: ReadonlyMap<string, Doctype>,
  doctype: Doctype,
): { readonly path: string; readonly fields: readonly Field[] }[] {
  return [...doctype.fields.values()].flatMap((field) => {
    if (searchedTypes.has(field.type)) return [{ path: field.name, fields: [field] }]
    if (field.type !== 'table') return []
    return [...doctypes.get(field.doctype!)!.fields.values()]
      .filter((column) => searchedTypes.has(column.type))
      .map((column) => ({ path: `${field.name}.${column.name}`, fields: [field, column] }))
  })
}

/** A match in a field that the principal cannot read everywhere would tell what stands in it. */
function searchable(documents: Documents, access: Access): string[] {
  return searchedFields(documents.platform.doctypes, access.doctype)
    .filter(({ fields }) => fields.every((field) => access.queryable(field)))
    .filter(({ fields }) => fields.length > 1 || typeof comparableField(access, fields[0]!.name) !== 'string')
    .map(({ path }) => path)
}
