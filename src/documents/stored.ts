import type { Collection, CollectionSpec, Store } from '../store/store.ts'
import { collectionOf } from './read-doctypes.ts'
import type { Doctype } from './platform.ts'

/** A document as the store keeps it: its name is the store's id, its own fields lie beside the standard ones. */
export interface StoredDocument {
  readonly id: string
  readonly owner: string
  /** ISO 8601, UTC. */
  readonly creation: string
  readonly modified: string
  readonly modified_by: string
  /** 0 draft, 1 submitted, 2 cancelled. */
  readonly docstatus: 0 | 1 | 2
  readonly [field: string]: unknown
}

/** The documents of a doctype in the store. */
export function documentsOf(store: Store, doctype: Doctype): Collection<StoredDocument> {
  return store.collection<StoredDocument>(specOf(doctype))
}

function specOf(doctype: Doctype): CollectionSpec<StoredDocument> {
  const indexed = [...doctype.fields.values()].filter((field) => field.indexed).map((field) => field.name)
  return { name: collectionOf(doctype.name), indexes: ['owner', ...indexed] }
}

/** The value of a field by the name that callers use for it. */
export function valueOf(document: StoredDocument, field: string): unknown {
  if (field === 'name') return document.id
  return Object.hasOwn(document, field) ? (document[field] ?? null) : null
}
