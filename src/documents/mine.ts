/** What a person finds on their start page: what is assigned to them, and what was changed last of what they may read. */
import { ofKey } from './history.ts'
import type { Principal } from '../core/principal.ts'
import { always } from '#state/questions.ts'
import { permitted } from './asking/reading.ts'
import { titleOf } from './asking/searching.ts'
import { belonging } from './belongings.ts'
import { type Documents, readableAccesses, unlessAway, findReadable } from './documents.ts'
import type { StoredDocument } from './writing/stored.ts'
import { standardOf } from './platform/standard-fields.ts'

/** A document in a list of several doctypes. */
export interface NamedDocument {
  readonly doctype: string
  readonly name: string
  readonly title: string
  readonly time: string
}

/** The most assignments that are looked at. */
const mostAssigned = 200

/** Returns the documents that are assigned to the principal and that it may still read, the newest first. */
export async function assignedTo(
  documents: Documents,
  principal: Principal,
  limit: number,
): Promise<readonly (NamedDocument & { readonly note: string })[]> {
  const assignments = await belonging(documents.store, 'assignment').find({
    where: { user: principal.user },
    order: [{ field: 'time', descending: true }],
    limit: mostAssigned,
  })
  const found: (NamedDocument & { note: string })[] = []
  for (const { key, time, note } of assignments) {
    if (found.length >= limit) break
    const { doctype, name } = ofKey(key)
    const seen = await unlessAway(documents, doctype, findReadable(documents, principal, { doctype, name }))
    if (!seen) continue
    const { access, document } = seen
    access.show([document])
    found.push({ doctype, name, title: titleOf(access, document), time, note })
  }
  return found
}

/** Returns the documents of all doctypes that were changed last, of those that the principal may read. */
export async function changedLast(
  documents: Documents,
  principal: Principal,
  limit: number,
): Promise<readonly NamedDocument[]> {
  const order = [{ field: 'modified', descending: true }]
  const newest = await Promise.all(
    readableAccesses(documents, principal)
      // Some tables of others do not tell when a row was changed.
      .filter(({ doctype }) => standardOf(doctype).has('modified'))
      .map(async (access) => {
        const first = async (): Promise<readonly StoredDocument[]> => {
          for await (const page of permitted(access, always, { order, limit })) return page
          return []
        }
        const page = (await unlessAway(documents, access.doctype.name, first())) ?? []
        return page.map((document) => ({ access, document }))
      }),
  )
  return newest
    .flat()
    .sort((a, b) => (a.document.modified < b.document.modified ? 1 : -1))
    .slice(0, limit)
    .map(({ access, document }) => {
      access.show([document])
      const { id: name, modified: time } = document
      return { doctype: access.doctype.name, name, title: titleOf(access, document), time }
    })
}
