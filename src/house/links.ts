/** The library's queries to documents: its prompts take document names as arguments, and permissions hold there too. */
import { AppError } from '#leaf/errors.ts'
import type { Principal } from '../core/principal.ts'
import { listDoctypes } from '../documents/describing.ts'
import { getDocument, listDocuments } from '../documents/asking/reading.ts'
import { doctypeOfDoctypes } from '../library/words.ts'
import type { LinkTargets } from '../library/library.ts'
import type { Documents } from '../documents/documents.ts'
import { accessTo } from '../documents/permission.ts'

/** Finds names of documents in one snapshot: the library that asks for them is of the same. */
export function linkTargets(documents: Documents): LinkTargets {
  const found: LinkTargets['find'] = async (principal, doctype, typed, limit) => {
    const page = await listDocuments({ ...documents, asker: principal }, principal, {
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
    reads: (principal, doctype) => {
      const found = documents.platform.doctypes.get(doctype)
      return found !== undefined && accessTo(principal, found, documents.clock.now()).may('read')
    },
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
        : getDocument({ ...documents, asker: principal }, principal, doctype, name).then(
            () => true,
            nothingToSee(false),
          ),
  }
}

/** Treats what may not be seen as missing; other faults stay faults. */
function nothingToSee<Nothing>(nothing: Nothing): (error: unknown) => Nothing {
  return (error) => {
    if (error instanceof AppError && (error.code === 'not_found' || error.code === 'forbidden'))
      return nothing
    throw error
  }
}
