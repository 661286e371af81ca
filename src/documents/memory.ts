import type { Collection } from '../store/store.ts'
import type { ReportRun } from './report-runs.ts'
import type { SearchIndex } from './search-index.ts'
import type { StoredDocument } from './stored.ts'

/** What the documents keep in memory from one snapshot to the next; one per store. */
export interface DocumentMemory {
  /** Collections as they were first declared: new indexes of a changed doctype come with the next start. */
  readonly collections: Map<string, Collection<StoredDocument>>
  readonly indexes: Map<string, SearchIndex>
  readonly reports: Map<string, ReportRun>
}

export function createDocumentMemory(): DocumentMemory {
  return { collections: new Map(), indexes: new Map(), reports: new Map() }
}
