/** What the library asks of documents: its prompts take names of them as arguments, and permissions hold there too. */
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { listDoctypes } from '../documents/describing.ts'
import { getDocument, listDocuments } from '../documents/reading.ts'
import { doctypeOfDoctypes } from '../library/library.ts'
import type { Links } from '../library/site-library.ts'
import type { Snapshot } from './snapshot.ts'

/** Links to documents, always of the snapshot in use. */
export function linksOf(current: () => Snapshot): Links {
  const found = async (
    principal: Principal,
    doctype: string,
    typed: string,
    limit: number,
  ): Promise<{ values: string[]; total: number }> => {
    const page = await listDocuments(current().documents, principal, {
      doctype,
      filters: { name: ['like', `${typed}%`] },
      fields: ['name'],
      limit,
      orderBy: 'name asc',
    })
    return { values: page.data.map((row) => String(row['name'])), total: page.total }
  }
  const doctypes = (principal: Principal): string[] =>
    listDoctypes(current().documents, principal).map(({ doctype }) => doctype)
  return {
    find: async (principal, doctype, typed, limit) => {
      if (doctype !== doctypeOfDoctypes) {
        return found(principal, doctype, typed, limit).catch(nothingToSee({ values: [], total: 0 }))
      }
      const names = doctypes(principal).filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()))
      return { values: names.slice(0, limit), total: names.length }
    },
    exists: async (principal, doctype, name) =>
      doctype === doctypeOfDoctypes
        ? doctypes(principal).includes(name)
        : getDocument(current().documents, principal, doctype, name).then(() => true, nothingToSee(false)),
  }
}

/** What may not be seen does not exist; other faults stay faults. */
function nothingToSee<Nothing>(nothing: Nothing): (error: unknown) => Nothing {
  return (error) => {
    if (error instanceof AppError && (error.code === 'not_found' || error.code === 'forbidden'))
      return nothing
    throw error
  }
}
