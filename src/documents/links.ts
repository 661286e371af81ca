import { accessTo } from './permission.ts'
import type { Doctype } from './platform.ts'
import { collectionFor } from './documents.ts'
import type { StoredDocument } from './stored.ts'
import type { Work } from './work.ts'

/** What links to a document; only what the principal may read is named. */
export interface Links {
  readonly count: number
  /** Empty, or ` (Sales Order "SO-1", …)`. */
  readonly text: string
}

const mostNamed = 5

/** Finds the documents that link to one, by link fields, dynamic links and rows. */
export async function linksTo(
  { documents, principal, tx }: Work,
  doctype: string,
  name: string,
  counts: (document: StoredDocument) => boolean,
): Promise<Links> {
  const named: string[] = []
  let count = 0
  for (const other of documents.platform.doctypes.values()) {
    if (other.child) continue
    const access = accessTo(principal, other, documents.clock.now())
    const found = new Map<string, StoredDocument>()
    for (const query of linkQueries(documents.platform.doctypes, other, doctype, name))
      for (const document of await collectionFor(documents, other, tx).find(query))
        found.set(document.id, document)
    for (const document of found.values()) {
      if ((other.name === doctype && document.id === name) || !counts(document)) continue
      // Also what the principal may not read: it would be left with a link to nothing.
      count++
      if (named.length < mostNamed && access.allows('read', document))
        named.push(`${other.name} "${document.id}"`)
    }
  }
  const rest = count > named.length ? ', …' : ''
  return { count, text: named.length > 0 ? ` (${named.join(', ')}${rest})` : '' }
}

interface LinkQuery {
  readonly where?: Readonly<Record<string, unknown>>
  readonly filter?: (document: StoredDocument) => boolean
}

function linkQueries(
  doctypes: ReadonlyMap<string, Doctype>,
  other: Doctype,
  doctype: string,
  name: string,
): LinkQuery[] {
  const queries: LinkQuery[] = []
  for (const field of other.fields.values()) {
    // What was amended is history, not a link that holds it.
    if (field.name === 'amended_from') continue
    if (field.type === 'link' && field.doctype === doctype) queries.push({ where: { [field.name]: name } })
    if (field.type === 'dynamic_link')
      queries.push({
        where: { [field.name]: name },
        filter: (document) => document[field.doctypeField!] === doctype,
      })
    if (field.type !== 'table') continue
    const columns = [...doctypes.get(field.doctype!)!.fields.values()]
    const links = columns.filter((column) => column.type === 'link' && column.doctype === doctype)
    if (links.length > 0)
      queries.push({
        filter: (document) => {
          const rows = document[field.name]
          return (
            Array.isArray(rows) &&
            rows.some((row: Record<string, unknown>) => links.some((column) => row[column.name] === name))
          )
        },
      })
  }
  return queries
}
