/** What the library asks of documents: its prompts take names of them as arguments, and permissions hold there too. */
import { AppError } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { listDoctypes } from '../documents/describing.ts'
import { getDocument, listDocuments } from '../documents/reading.ts'
import { doctypeOfDoctypes } from '../library/words.ts'
import type { LinkTargets } from '../library/library.ts'
import type { Documents } from '../documents/documents.ts'

/** Names of the documents of one snapshot: the library that asks for them is of the same. */
export function linkTargets(documents: Documents): LinkTargets {
  const found = async (
    principal: Principal,
    doctype: string,
    typed: string,
    limit: number,
  ): Promise<{ values: string[]; total: number }> => {
    const page = await listDocuments(documents, principal, {
      doctype,
      filters: { name: ['like', `${typed}%`] },
      fields: ['name'],
      limit,
      orderBy: 'name asc',
    })
    return { values: page.data.map((row) => String(row['name'])), total: page.total }
  }
  const doctypes = (principal: Principal): string[] =>
    listDoctypes(documents, principal).map(({ doctype }) => doctype)
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
        : getDocument(documents, principal, doctype, name).then(() => true, nothingToSee(false)),
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
