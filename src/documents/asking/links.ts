import { all, any, compared, type Condition } from '#state/questions.ts'
import type { Principal } from '../../core/principal.ts'
import type { Doctype, Field } from '../platform/platform.ts'
import { defaultOrder } from '../platform/standard-fields.ts'
import { readOrder } from './filters.ts'
import { type Documents, unlessAway, reachOf, type Work, findReadable } from '../documents.ts'
import { inPages } from './reading.ts'
import { titleOf } from './searching.ts'
import type { StoredDocument } from '../writing/stored.ts'

/** The documents that link to one; only those that the principal may read are named. */
export interface Links {
  readonly count: number
  /** Their names for a message: empty, or ` (Sales Order "SO-1", …)`. */
  readonly text: string
}

const mostNamed = 5

/** Finds the documents that link to one, by link fields, dynamic links and rows. */
export async function linksTo(
  {
    documents,
    principal,
    access: {
      doctype: { name: doctype },
    },
    tx,
  }: Work,
  name: string,
  counts: (document: StoredDocument) => boolean,
): Promise<Links> {
  const named: string[] = []
  let count = 0
  for (const other of documents.platform.doctypes.values()) {
    if (other.child) continue
    const access = reachOf(documents, principal, other)
    const seen = new Set(other.name === doctype ? [name] : [])
    for (const holds of linking(documents.platform.doctypes, other, doctype, name))
      for await (const page of inPages(access.collection(tx), { holds }))
        for (const document of page) {
          if (seen.has(document.id) || !counts(document)) continue
          seen.add(document.id)
          // Documents that the principal may not read count too: they would be left with a link to nothing.
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
 * Finds the documents that link to one and that the principal may read, of each doctype the newest: by fields that it can
 * read on each of them, so that no link reveals a hidden field.
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
    const access = reachOf(documents, principal, other)
    if (!access.may('read')) continue
    const ways = linking(doctypes, other, doctype, name, (field) => access.queryable(field))
    if (ways.length === 0) continue
    const holds = all(any(...ways), access.where('read'))
    const order = readOrder(access, defaultOrder(other))
    const links =
      (await unlessAway(documents, other.name, access.collection().find({ holds, order, limit: most }))) ?? []
    access.show(links)
    for (const { id } of links)
      if (other.name !== doctype || id !== name) found.push({ doctype: other.name, name: id })
  }
  return found
}

/** The most different documents whose titles are looked up for one page. */
const mostTitled = 100

/** Looks up the titles of documents: the function returns undefined for those that the principal may not read. */
export async function linkTitles(
  documents: Documents,
  principal: Principal,
  links: readonly { readonly doctype: string; readonly name: string }[],
): Promise<(doctype: string, name: string) => string | undefined> {
  const titles = new Map<string, string>()
  const asked = new Map(links.map((link) => [`${link.doctype}/${link.name}`, link]))
  const look = async (key: string, link: { doctype: string; name: string }): Promise<void> => {
    // The list stands without the titles of what is away.
    const seen = await unlessAway(documents, link.doctype, findReadable(documents, principal, link))
    if (!seen) return
    seen.access.show([seen.document])
    titles.set(key, titleOf(seen.access, seen.document))
  }
  await Promise.all([...asked].slice(0, mostTitled).map(([key, link]) => look(key, link)))
  return (doctype, name) => titles.get(`${doctype}/${name}`)
}

/** Returns the conditions for documents of a doctype that link to one, by the fields that may be asked. */
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
    // The link to an amended document is history and does not hold that document.
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
