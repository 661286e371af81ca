import { all, any, compared, type Condition } from '../core/conditions.ts'
import { accessTo } from './permission.ts'
import type { Principal } from '../core/principal.ts'
import type { Doctype, Field } from './platform.ts'
import { collectionFor, type Documents } from './documents.ts'
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

/**
 * The documents that link to one and that the principal may read, of each doctype the newest: by fields that it can
 * read on each of them, so that no hidden field is told by its link.
 */
export async function linkedFrom(
  documents: Documents,
  principal: Principal,
  doctype: string,
  name: string,
  most: number,
): Promise<{ doctype: string; name: string }[]> {
  const found: { doctype: string; name: string }[] = []
  const { doctypes } = documents.platform
  for (const other of doctypes.values()) {
    if (other.child) continue
    const access = accessTo(principal, other, documents.clock.now())
    if (!access.may('read')) continue
    const ways = linking(doctypes, other, doctype, name, (field) => access.queryable(field))
    if (ways.length === 0) continue
    const holds = all(any(...ways), access.where('read'))
    const order = [{ field: 'creation', descending: true }]
    const links = await collectionFor(documents, other).find({ holds, order, limit: most })
    access.show(links)
    for (const { id } of links)
      if (other.name !== doctype || id !== name) found.push({ doctype: other.name, name: id })
  }
  return found
}

/** What holds of the documents of a doctype that link to one, by fields that may be asked. */
function linking(
  doctypes: ReadonlyMap<string, Doctype>,
  other: Doctype,
  doctype: string,
  name: string,
  asks: (field: Field) => boolean = () => true,
): Condition[] {
  const conditions: Condition[] = []
  for (const field of other.fields.values()) {
    if (!asks(field)) continue
    // What was amended is history, not a link that holds it.
    if (field.name === 'amended_from') continue
    if (field.type === 'link' && field.doctype === doctype) conditions.push(compared(field.name, '=', name))
    if (field.type === 'dynamic_link')
      conditions.push(all(compared(field.name, '=', name), compared(field.doctypeField!, '=', doctype)))
    if (field.type !== 'table') continue
    for (const column of doctypes.get(field.doctype!)!.fields.values())
      if (column.type === 'link' && column.doctype === doctype && asks(column))
        conditions.push({ call: 'in', of: [{ value: name }, { field: field.name, column: column.name }] })
  }
  return conditions
}
