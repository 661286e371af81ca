import type { Collection } from '#state/store.ts'
import type { StoredDocument } from './writing/stored.ts'

/** A report that runs in this process. */
export interface RunHere {
  readonly stop: AbortController
  readonly done: Promise<void>
  /** The error with which it failed. */
  error?: unknown
}

/** The cache that documents keep in memory from one snapshot to the next; one per store. */
export interface DocumentMemory {
  /** Collections as they were first declared: new indexes of a changed doctype come with the next start. */
  readonly collections: Map<string, Collection<StoredDocument>>
  /** The reports that run in this process, by id. */
  readonly reports: Map<string, RunHere>
  /** The state that principals' tables followed from when last read, and the revision of their content. */
  readonly revisions: Map<string, { readonly state: string; readonly revision: string }>
  /** The bytes of the answers that are kept for calls that may come again, by user, and the end of the day that they are of. */
  readonly answers: Map<string, { readonly endsAt: number; bytes: number }>
}

/** Makes an empty memory for a store that was just opened; snapshots hand it on to each other. */
export function createDocumentMemory(): DocumentMemory {
  return {
    collections: new Map(),
    reports: new Map(),
    revisions: new Map(),
    answers: new Map(),
  }
}
