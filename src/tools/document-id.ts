import { AppError } from '../core/errors.ts'

/** An address that names a document; there is no page behind it. */
export function uriOf(doctype: string, name: string): string {
  return `document://${encodeURIComponent(doctype)}/${encodeURIComponent(name)}`
}

/** Doctype and name of an id such as `Customer/ACME`; a name may have slashes, a doctype has none. */
export function partsOf(id: string): { readonly doctype: string; readonly name: string } {
  const slash = id.indexOf('/')
  if (slash < 1 || slash === id.length - 1)
    throw new AppError('invalid', `id: must be "Doctype/name" as search returns it, not "${id.slice(0, 80)}"`)
  return { doctype: id.slice(0, slash), name: id.slice(slash + 1) }
}
