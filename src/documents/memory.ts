import type MiniSearch from 'minisearch'
import type { Collection } from '../store/store.ts'
import type { ReportRun } from './report-runs.ts'
import type { StoredDocument } from './stored.ts'

/** The texts of a document that are indexed, by the path of the field. */
export interface SearchEntry {
  readonly id: string
  readonly [field: string]: string
}

/** The index of one doctype, and how far it has seen. */
export interface SearchIndex {
  /** The fields that it holds: another doctype definition needs another index. */
  readonly signature: string
  readonly texts: MiniSearch<SearchEntry>
  seen: number
  /** The catching up under way; searches queue behind it. */
  ready: Promise<void>
}

/** What the documents keep in memory from one snapshot to the next; one per store. */
export interface DocumentMemory {
  /** Collections as they were first declared: new indexes of a changed doctype come with the next start. */
  readonly collections: Map<string, Collection<StoredDocument>>
  readonly indexes: Map<string, SearchIndex>
  readonly reports: Map<string, ReportRun>
}

/** An empty memory for a store that was just opened; snapshots hand it on to each other. */
export function createDocumentMemory(): DocumentMemory {
  return { collections: new Map(), indexes: new Map(), reports: new Map() }
}
