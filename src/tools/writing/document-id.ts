import { AppError } from '#leaf/errors.ts'

/** Returns the address of a document's page; where there are no pages, a URI that names it. */
export function documentAddress(publicUrl: string | undefined, doctype: string, name: string): string {
  const { url } = pageAddress(publicUrl, 'documents', doctype, name) ?? {}
  return url ?? `document://${encodeURIComponent(doctype)}/${encodeURIComponent(name)}`
}

/** Returns the address of a page as a part of an answer; nothing where there are no pages. */
export function pageAddress(
  publicUrl: string | undefined,
  page: 'documents' | 'reports' | 'desk',
  ...names: readonly unknown[]
): { readonly url: string } | undefined {
  if (publicUrl === undefined) return undefined
  return {
    url: [publicUrl.replace(/\/$/, ''), page, ...names.map((name) => encodeURIComponent(String(name)))].join(
      '/',
    ),
  }
}

/** Splits an id such as `Customer/ACME` into doctype and name; a name may have slashes, a doctype has none. */
export function partsOf(id: string): { readonly doctype: string; readonly name: string } {
  const slash = id.indexOf('/')
  if (slash < 1 || slash === id.length - 1)
    throw new AppError(
      'invalid',
      `id: must be "Doctype/name" as search returns it, such as "Sales Order/SO-00001", not "${id.slice(0, 80)}"`,
    )
  return { doctype: id.slice(0, slash), name: id.slice(slash + 1) }
}
