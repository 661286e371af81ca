import { AppError } from '../core/errors.ts'
import { fieldOf, indexKeys } from './field-index.ts'
import { storable } from './plain-json.ts'
import type { TableView } from './select.ts'
import type { StoredChange, State } from './state.ts'
import type { Stored } from './store.ts'
import { Table } from './table.ts'

interface Changed {
  /** What the transaction put, with the table's indexes. */
  readonly written: Table
  /** Everything it put or removed; hides what the table holds. */
  readonly touched: Set<string>
}

/** The writes of one transaction over the state, which stays as it is until they are applied. */
export class Overlay {
  readonly #state: State
  readonly #now: () => number
  readonly #changed = new Map<string, Changed>()

  constructor(state: State, now: () => number) {
    this.#state = state
    this.#now = now
  }

  get(name: string, id: string): Stored | undefined {
    const changed = this.#changed.get(name)
    const table = changed?.touched.has(id) ? changed.written : this.#state.table(name)
    return table.living(id, this.#now())
  }

  /** A collection as the transaction sees it. */
  view(name: string): TableView {
    const changes = this.#changed.get(name)
    return { table: this.#state.table(name), ...(changes && { changes }), now: this.#now() }
  }

  /** Puts a document; AppError `conflict` when a unique field of it is taken by another. */
  put(name: string, document: Stored): Stored {
    const copy = storable(name, document)
    const changed = this.#change(name)
    for (const field of this.#state.table(name).spec?.unique ?? []) this.#requireFree(name, field, copy)
    changed.written.set(copy.id, copy)
    changed.touched.add(copy.id)
    return copy
  }

  insert(name: string, document: Stored): Stored {
    if (this.get(name, document.id)) {
      throw new AppError('conflict', `${name} ${JSON.stringify(document.id)} exists already`)
    }
    return this.put(name, document)
  }

  update(name: string, id: string, change: (document: Stored) => Stored | undefined): Stored | undefined {
    const document = this.get(name, id)
    if (!document) return undefined
    const changed = change(document)
    if (changed === undefined || changed === document) return document
    if (changed.id !== id) throw new Error(`collection ${name}: an update must not change the id ${id}`)
    return this.put(name, changed)
  }

  delete(name: string, id: string): boolean {
    const existed = this.get(name, id) !== undefined
    this.remove(name, id)
    return existed
  }

  /** Removes what is under the id, ended or not. */
  remove(name: string, id: string): void {
    const changed = this.#change(name)
    changed.written.set(id, undefined)
    changed.touched.add(id)
  }

  /** What the transaction changes, each document once. */
  changes(): StoredChange[] {
    const changes: StoredChange[] = []
    for (const [collection, { written, touched }] of this.#changed) {
      const table = this.#state.table(collection)
      for (const id of touched) {
        const document = written.get(id) ?? null
        if (document || table.get(id)) changes.push({ collection, id, document })
      }
    }
    return changes
  }

  #requireFree(name: string, field: string, document: Stored): void {
    const table = this.#state.table(name)
    const changed = this.#change(name)
    for (const key of indexKeys(fieldOf(document, field))) {
      const others = [
        ...[...(table.index(field)?.ids(key) ?? [])].filter((id) => !changed.touched.has(id)),
        ...(changed.written.index(field)?.ids(key) ?? []),
      ]
      for (const id of others) {
        if (id === document.id) continue
        if (this.get(name, id)) {
          throw new AppError('conflict', `${name}: ${field} ${JSON.stringify(key)} is taken`)
        }
        // It has ended but was not swept yet: its value is free, and it must not come back beside the new one.
        this.remove(name, id)
      }
    }
  }

  #change(name: string): Changed {
    let changed = this.#changed.get(name)
    if (!changed) {
      changed = { written: new Table(name, this.#state.table(name).spec), touched: new Set() }
      this.#changed.set(name, changed)
    }
    return changed
  }
}
