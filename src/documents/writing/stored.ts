/** A document as the store keeps it: its name is the store's id, its own fields stand beside the standard ones. */
export interface StoredDocument {
  readonly id: string
  readonly owner: string
  /** ISO 8601, UTC. */
  readonly creation: string
  readonly modified: string
  readonly modified_by: string
  /** 0: draft, 1: submitted, 2: cancelled. */
  readonly docstatus: 0 | 1 | 2
  readonly [field: string]: unknown
}

/** Returns the rows that a field of the type table holds. */
export function rowsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? (value as Record<string, unknown>[]) : []
}

/** Returns the value of a field by the name that callers use for it. */
export function valueOf(document: StoredDocument, field: string): unknown {
  if (field === 'name') return document.id
  return Object.hasOwn(document, field) ? (document[field] ?? null) : null
}
