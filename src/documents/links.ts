import { all, compared, type Condition } from '../core/conditions.ts'
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
    for (const holds of linking(documents.platform.doctypes, other, doctype, name))
      for (const document of await collectionFor(documents, other, tx).find({ holds }))
        found.set(document.id, document)
    for (const document of found.values()) {
      if ((other.name === doctype && document.id === name) || !counts(document)) continue
      // Also what the principal may not read: it would be left with a link to nothing.
      count++
      if (named.length < mostNamed && access.allows('read', document)) {
        access.show([document])
        named.push(`${other.name} "${document.id}"`)
      }
    }
  }
  const rest = count > named.length ? ', …' : ''
  return { count, text: named.length > 0 ? ` (${named.join(', ')}${rest})` : '' }
}

/** What holds of the documents of a doctype that link to one. */
function linking(
  doctypes: ReadonlyMap<string, Doctype>,
  other: Doctype,
  doctype: string,
  name: string,
): Condition[] {
  const conditions: Condition[] = []
  for (const field of other.fields.values()) {
    // What was amended is history, not a link that holds it.
    if (field.name === 'amended_from') continue
    if (field.type === 'link' && field.doctype === doctype) conditions.push(compared(field.name, '=', name))
    if (field.type === 'dynamic_link')
      conditions.push(all(compared(field.name, '=', name), compared(field.doctypeField!, '=', doctype)))
    if (field.type !== 'table') continue
    for (const column of doctypes.get(field.doctype!)!.fields.values())
      if (column.type === 'link' && column.doctype === doctype)
        conditions.push({ call: 'in', of: [{ value: name }, { field: field.name, column: column.name }] })
  }
  return conditions
}
