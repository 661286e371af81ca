import { randomId } from '../core/secrets.ts'
import type { Collection } from '../store/store.ts'
import type { StoredDocument } from './stored.ts'

/** A report that runs in this process. */
export interface RunHere {
  readonly stop: AbortController
  readonly done: Promise<void>
  /** What it failed with. */
  error?: unknown
}

/** What the documents keep in memory from one snapshot to the next; one per store. */
export interface DocumentMemory {
  /** Collections as they were first declared: new indexes of a changed doctype come with the next start. */
  readonly collections: Map<string, Collection<StoredDocument>>
  /** Those that run in this process, by id. */
  readonly reports: Map<string, RunHere>
  readonly versions: ObjectVersions
  /** What the tables of principals held when they were last read, and what that followed from. */
  readonly revisions: Map<string, { readonly state: string; readonly revision: string }>
}

/** Tells objects that never change apart: a document that is written anew is another object. */
export class ObjectVersions {
  readonly #id = randomId()
  readonly #seen = new WeakMap<object, string>()
  #last = 0

  of(object: object): string {
    let version = this.#seen.get(object)
    if (version === undefined) this.#seen.set(object, (version = `${this.#id}.${++this.#last}`))
    return version
  }
}

/** An empty memory for a store that was just opened; snapshots hand it on to each other. */
export function createDocumentMemory(): DocumentMemory {
  return {
    collections: new Map(),
    reports: new Map(),
    versions: new ObjectVersions(),
    revisions: new Map(),
  }
}
