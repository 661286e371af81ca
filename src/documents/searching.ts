/** Finding documents by words: only in fields that the caller could filter by, only among rows that it may read. */
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { smallest } from '../core/smallest.ts'
import { comparableField, conditionOf, readFilters } from './filters.ts'
import { accessFor, collectionFor, type Documents, requireAction } from './documents.ts'
import { type Access, accessTo, readsAll } from './permission.ts'
import { permitted } from './reading.ts'
import { findWords, type Hit, indexedFields } from './search-index.ts'
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
  const words = query.words.trim().slice(0, 500)
  if (words === '') throw new AppError('invalid', 'query: must have at least one word')
  const accesses =
    query.doctype === undefined
      ? readable(documents, principal)
      : [accessFor(documents, principal, query.doctype)]
  // What may only be created is known, but not searched.
  for (const access of accesses) requireAction(access, 'read')
  const found: { access: Access; hit: Hit }[] = []
  for (const access of accesses) {
    const open = (hits: readonly Hit[]) => permittedHits(documents, access, hits)
    const hits = await findWords(documents, access.doctype, words, searchable(documents, access), open)
    for (const hit of hits) found.push({ access, hit })
  }
  const offset = query.offset ?? 0
  const page = smallest(
    found,
    (a, b) => b.hit.score - a.hit.score || (a.hit.name < b.hit.name ? -1 : 1),
    offset + query.limit,
  )
  const results: SearchHit[] = []
  for (const { access, hit } of page.slice(offset)) {
    const document = await collectionFor(documents, access.doctype).get(hit.name)
    if (document)
      results.push({
        doctype: access.doctype.name,
        name: hit.name,
        title: titleOf(access, document),
        score: Math.round(hit.score * 100) / 100,
        modified: document.modified,
      })
  }
  return { results, total: found.length, searched: accesses.map((access) => access.doctype.name) }
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
): Promise<{ readonly suggestions: readonly LinkSuggestion[]; readonly total: number }> {
  const access = accessFor(documents, principal, query.doctype)
  requireAction(access, 'read')
  const typed = query.typed.trim().toLowerCase()
  const rank = (document: StoredDocument): number => {
    const texts = [document.id.toLowerCase(), titleOf(access, document).toLowerCase()]
    if (texts.some((text) => text.startsWith(typed))) return 0
    return texts.some((text) => text.includes(typed)) ? 1 : 2
  }
  let total = 0
  let best: { readonly document: StoredDocument; readonly rank: number }[] = []
  for await (const page of permitted(documents, access, conditionOf(readFilters(access, query.filters)))) {
    const matching = page
      .map((document) => ({ document, rank: rank(document) }))
      .filter((candidate) => candidate.rank < 2)
    total += matching.length
    best = smallest(
      [...best, ...matching],
      (a, b) => a.rank - b.rank || (a.document.id < b.document.id ? -1 : 1),
      query.limit,
    )
  }
  return {
    total,
    suggestions: best.map(({ document }) => ({
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

function readable(documents: Documents, principal: Principal): Access[] {
  return [...documents.platform.doctypes.values()]
    .filter((doctype) => !doctype.child)
    .map((doctype) => accessTo(principal, doctype, documents.clock.now()))
    .filter((access) => access.may('read'))
}

/** A match in a field that the principal cannot read everywhere would tell what stands in it. */
function searchable(documents: Documents, access: Access): string[] {
  return indexedFields(documents.platform.doctypes, access.doctype)
    .filter(({ fields }) => fields.every((field) => access.queryable(field)))
    .filter(({ fields }) => fields.length > 1 || typeof comparableField(access, fields[0]!.name) !== 'string')
    .map(({ path }) => path)
}

async function permittedHits(
  documents: Documents,
  access: Access,
  hits: readonly Hit[],
): Promise<readonly Hit[]> {
  if (readsAll(access)) return hits
  const collection = collectionFor(documents, access.doctype)
  const mine: Hit[] = []
  for (const hit of hits) {
    const document = await collection.get(hit.name)
    if (document && access.allows('read', document)) mine.push({ ...hit, score: hit.ownScore })
  }
  return mine
}
