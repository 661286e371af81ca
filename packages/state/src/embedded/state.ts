import type { Stored } from '../store.ts'
import { Table } from './table.ts'

/** A change of one document: the document afterwards, or null when it is removed. */
export interface StoredChange {
  readonly collection: string
  readonly id: string
  readonly document: Stored | null
}

/** The state that lowdb holds: every collection, their schema version, and the captures being taken. */
export class State {
  readonly tables = new Map<string, Table>()
  readonly captures = new Set<Capture>()
  /** The schema version of the stored documents; migrations raise it. */
  schema: number

  constructor(schema: number) {
    this.schema = schema
  }

  table(name: string): Table {
    let table = this.tables.get(name)
    if (!table) {
      table = new Table(name)
      this.tables.set(name, table)
    }
    return table
  }

  /** Applies changes and returns those that undo them, in the order in which to apply them. */
  apply(changes: readonly StoredChange[]): StoredChange[] {
    const undo: StoredChange[] = []
    for (const { collection, id, document } of changes) {
      const table = this.table(collection)
      const previous = table.get(id) ?? null
      for (const capture of this.captures) capture.note(collection, id, previous)
      table.set(id, document ?? undefined)
      undo.push({ collection, id, document: previous })
    }
    return undo.reverse()
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const [name, table] of [...this.tables].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (table.size > 0 || table.spec) counts[name] = table.size
    }
    return counts
  }
}

/**
 * A consistent picture of the state at one moment, read in slices while writing goes on: a change ahead of
 * the reader keeps the old document here, a change behind it does not matter.
 */
export class Capture {
  readonly #state: State
  readonly #names: readonly string[]
  readonly #before = new Map<string, Map<string, Stored | null>>()
  #reading = 0
  #cursor = ''

  constructor(state: State) {
    this.#state = state
    this.#names = [...state.tables.keys()].sort()
    state.captures.add(this)
  }

  /** Called before every change, with the document before it. */
  note(collection: string, id: string, previous: Stored | null): void {
    const current = this.#names[this.#reading]
    if (current === undefined || collection < current || (collection === current && id <= this.#cursor))
      return
    let before = this.#before.get(collection)
    if (!before) this.#before.set(collection, (before = new Map()))
    if (!before.has(id)) before.set(id, previous)
  }

  /** Returns the next documents, each with its collection; none when all have been read. */
  next(count: number): readonly (readonly [collection: string, document: Stored])[] {
    const slice: (readonly [string, Stored])[] = []
    while (slice.length < count && this.#reading < this.#names.length) {
      const name = this.#names[this.#reading]!
      const table = this.#state.table(name)
      const before = this.#before.get(name)
      const documents = table.sorted.after(this.#cursor, count - slice.length)
      for (const document of documents) if (!before?.has(document.id)) slice.push([name, document])
      if (documents.length > 0) this.#cursor = documents.at(-1)!.id
      else {
        for (const document of before?.values() ?? []) if (document) slice.push([name, document])
        this.#before.delete(name)
        this.#reading++
        this.#cursor = ''
      }
    }
    return slice
  }

  end(): void {
    this.#state.captures.delete(this)
  }
}
