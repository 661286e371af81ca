/** Finds documents by words: only in fields that the caller could filter by, only among rows that it may read. */
import { searchedTypes } from '../values.ts'
import {
  all,
  any,
  type Condition,
  not,
  type Term,
  type AskedWord,
  bestFirst,
  mistyped,
  respelt,
  type WordAnswer,
  type WordHit,
  splitWords,
} from '#state/questions.ts'
import { AppError } from '#leaf/errors.ts'
import { fold } from '#leaf/names.ts'
import type { Principal } from '../../core/principal.ts'
import { show } from '../../core/values.ts'
import { inTurns, Slice, type Slices } from '#leaf/slices.ts'
import { smallest } from '#leaf/smallest.ts'
import { comparableField, conditionOf, openTo, storedName } from './filters.ts'
import { filtersOf } from './linked-filters.ts'
import { namingFields, nearText } from './near-names.ts'
import {
  accessFor,
  type Documents,
  readableAccesses,
  requireAction,
  type Reach,
  unlessAway,
} from '../documents.ts'
import type { Doctype, Field } from '../platform/platform.ts'
import { countSome, type DocumentPage } from './reading.ts'
import { type StoredDocument, valueOf } from '../writing/stored.ts'

/** A document that was found. */
export interface SearchHit {
  readonly doctype: string
  readonly name: string
  readonly title: string
  readonly score: number
  /** Absent where the documents do not tell. */
  readonly modified?: string
}

/** A page of search results, best first. */
export interface FoundPage {
  readonly results: readonly SearchHit[]
  /** The number of matching documents that the caller may read. */
  readonly total: number
  readonly searched: readonly string[]
  /** What the results are, where they are not what has all the words. */
  readonly note?: string
}

/** Searches one doctype, or all that the principal may read. */
export async function searchDocuments(
  documents: Documents,
  principal: Principal,
  query: {
    readonly words: string
    readonly doctype?: string
    /** Filters of a search in one doctype, as `list_documents` takes them. */
    readonly filters?: unknown
    readonly limit: number
    readonly offset?: number
  },
): Promise<FoundPage> {
  // A question is short: the work of a search grows with its words.
  const words = boundedWords(query.words.slice(0, 500))
  if (words.length === 0)
    throw new AppError(
      'invalid',
      `query: ${show(query.words)} has no word such as "invoice" (list_documents)`,
    )
  const accesses =
    query.doctype === undefined
      ? readableAccesses(documents, principal)
      : [accessFor(documents, principal, query.doctype)]
  // A doctype whose documents may only be created is known, but not searched.
  for (const access of accesses) requireAction(access, 'read')
  const { offset = 0, limit } = query
  const found: Hit[] = []
  let total = 0
  const unavailable: string[] = []
  for (const access of accesses) {
    const filters = query.doctype === undefined ? [] : await filtersOf(access, query.filters)
    const holds = openTo(access, conditionOf(filters))
    const asked = findWords(access, words, { holds, limit: offset + limit })
    // Of a search through everything, what lies in a source that is away is left out.
    const answer =
      query.doctype === undefined ? await unlessAway(documents, access.doctype.name, asked) : await asked
    if (!answer) {
      unavailable.push(access.doctype.name)
      continue
    }
    total += answer.total
    for (const hit of answer.found) found.push({ access, hit, partly: answer.partly })
  }
  const inOrder = smallest(found, (a, b) => bestFirst(a.hit, b.hit), offset + limit)
  const best = await inTurns(inOrder, documents.stop)
  const page = best.slice(offset)
  const results = await inTurns(shownHits(page), documents.stop)
  const searched = accesses.map((access) => access.doctype.name).filter((name) => !unavailable.includes(name))
  const away = `${unavailable.join(', ')}: cannot be searched now, since the source is away or has changed`
  const has = total === 0 ? 'words like these' : best[0]?.partly ? 'all of these words' : undefined
  const nothing = has === undefined ? undefined : `nothing that you may read has ${has}`
  const note = unavailable.length > 0 ? away : nothing
  return { results, total, searched, ...(note !== undefined && { note }) }
}

interface Hit {
  readonly access: Reach
  readonly hit: WordHit<StoredDocument>
  readonly partly: boolean
}

function* shownHits(page: readonly Hit[]): Slices<SearchHit[]> {
  const results: SearchHit[] = []
  const slice = new Slice()
  for (const { access, hit } of page) {
    const document = hit.document()
    access.show([document])
    const title = titleOf(access, document)
    const { id: name, score } = hit
    const { modified } = document as Partial<StoredDocument>
    results.push({
      doctype: access.doctype.name,
      name,
      title,
      score,
      ...(typeof modified === 'string' && { modified }),
    })
    if (slice.isOver()) yield* slice.pause()
  }
  return results
}

/** The most words of a question; the others are dropped, since each is looked up by itself. */
const mostWords = 12
/** The most candidates for a mistyped word that are looked at. */
const mostGuesses = 2000

/** Returns the distinct words, without single letters where there are longer words: single letters occur everywhere. */
function boundedWords(text: string): string[] {
  const all = [...new Set(splitWords(text))]
  const longer = all.filter((word) => word.length > 1)
  return (longer.length > 0 ? longer : all).slice(0, mostWords)
}

/**
 * Finds documents with all words; if the caller may read none, forgives typing errors, and then finds those with any of
 * the words. Whether an unreadable document has them all must not show in the answer.
 */
async function findWords(
  access: Reach,
  asked: readonly string[],
  { holds, limit }: { readonly holds: Condition; readonly limit: number },
): Promise<WordAnswer<StoredDocument> & { readonly partly: boolean }> {
  const collection = access.collection()
  const title = access.doctype.titleField
  const fields = [
    { path: 'id', weight: 3 },
    ...searchable(access).map((path) => ({ path, weight: path === title ? 2 : 1 })),
  ]
  const find = (words: readonly AskedWord[], all: boolean): Promise<WordAnswer<StoredDocument>> =>
    collection.search({ words, all, fields }, { holds, limit })
  const same = await find(
    asked.map((word) => ({ word, instead: [] })),
    true,
  )
  if (same.total > 0) return { ...same, partly: false }
  const near = async (begins: string, matches: (one: string) => boolean): Promise<string[]> =>
    (await collection.wordsBeginning(begins, fields, { holds, limit: mostGuesses })).filter(matches)
  const words: AskedWord[] = []
  for (const word of asked) {
    const spelt = respelt(word)
    const instead: string[] = []
    for (const begins of spelt.begins) instead.push(...(await near(begins, (one) => spelt.matches(one))))
    const guess = mistyped(word)
    if (guess) instead.push(...(await near(guess.begins, (one) => guess.matches(one))))
    words.push({ word, instead: instead.filter((one) => one !== word) })
  }
  const meant = await find(words, true)
  const isWhole = meant.total > 0 || words.length === 1
  return { ...(isWhole ? meant : await find(words, false)), partly: !isWhole }
}

/** A suggested name for a link field. */
export interface LinkSuggestion {
  readonly value: string
  readonly label: string
  readonly description: string
}

/** Suggests documents for a link field: names and titles that contain the typed text, those that begin with it first. */
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
  { readonly suggestions: readonly LinkSuggestion[]; readonly near?: string } & Pick<
    DocumentPage,
    'total' | 'moreThanTotal'
  >
> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  const typed = { value: query.typed.replace(/^["'%*\s]+|["'%*\s]+$/g, '').toLowerCase() }
  const names = namingFields(access)
  const texts = names.map((name): Term => ({ field: storedName(name) }))
  const begins = any(
    ...texts.map((text) => ({ call: 'starts_with', of: [{ call: 'lower', of: [text] }, typed] })),
  )
  let within = any(...texts.map((text) => ({ call: 'contains', of: [text, typed] })))
  const open = openTo(access, conditionOf(await filtersOf(access, query.filters)))
  const collection = access.collection()
  const found = [...(await collection.find({ holds: all(open, begins), limit: query.limit }))]
  if (found.length < query.limit)
    found.push(
      ...(await collection.find({
        holds: all(open, within, not(begins)),
        limit: query.limit - found.length,
      })),
    )
  if (found.length === 0 && typed.value !== '' && !access.doctype.origin) {
    // Written otherwise: this looks at each document, so it comes last.
    within = spelt(texts, typed.value)
    found.push(...(await collection.find({ holds: all(open, within), limit: query.limit })))
  }
  access.show(found)
  const none = found.length === 0 && typed.value !== ''
  const near = none ? await nearText(access, names, typed.value, false) : undefined
  return {
    ...(await countSome(collection, all(open, within))),
    ...(near !== undefined && { near }),
    suggestions: found.map((document) => ({
      value: document.id,
      label: titleOf(access, document),
      description: describe(access, document),
    })),
  }
}

function spelt(texts: readonly Term[], typed: string): Condition {
  const part = { value: fold(typed) }
  return any(...texts.map((text) => ({ call: 'contains', of: [{ call: 'folded', of: [text] }, part] })))
}

/** Returns the title of a document as far as the principal may read it; its name otherwise. */
export function titleOf(access: Reach, document: StoredDocument): string {
  const field = access.doctype.fields.get(access.doctype.titleField ?? '')
  const title = field && access.shows(field, document) === 'clear' ? valueOf(document, field.name) : null
  return typeof title === 'string' && title !== '' ? title : document.id
}

function describe(access: Reach, document: StoredDocument): string {
  return access.doctype.searchFields
    .filter((name) => name !== access.doctype.titleField && name !== 'notes')
    .map((name) => access.doctype.fields.get(name)!)
    .filter((field) => field.type !== 'long_text' && access.shows(field, document) === 'clear')
    .map((field) => valueOf(document, field.name))
    .filter((value): value is string => typeof value === 'string' && value !== document.id)
    .slice(0, 3)
    .join(', ')
}

/** Returns the searchable fields of a doctype, those of rows as `items.item`. */
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

/** Returns the fields to search: a match in a field that the principal cannot read everywhere would reveal its content. */
function searchable(access: Reach): string[] {
  return searchedFields(access.documents.platform.doctypes, access.doctype)
    .filter(({ fields }) => fields.every((field) => access.queryable(field)))
    .filter(({ fields }) => fields.length > 1 || typeof comparableField(access, fields[0]!.name) !== 'string')
    .map(({ path }) => path)
}
