import { AppError } from '#leaf/errors.ts'
import { FieldIndex, fieldOf, indexKeys } from './field-index.ts'
import { storable } from '../plain-json.ts'
import type { TableView } from './select.ts'
import type { StoredChange, State } from './state.ts'
import type { Stored } from '../store.ts'
import type { Writes } from '../stored-collection.ts'
import type { TableSpec } from './table.ts'

interface Changed {
  /** The documents that the transaction put, or removed (undefined); they hide what the table holds. */
  readonly written: Map<string, Stored | undefined>
  /** Indexes of what it put, one for each unique field. */
  readonly unique: readonly FieldIndex[]
}

/** The writes of one transaction on top of the state, which stays as it is until they are applied. */
export class Overlay implements Writes {
  readonly #state: State
  readonly #now: () => number
  readonly #changed = new Map<string, Changed>()

  constructor(state: State, now: () => number) {
    this.#state = state
    this.#now = now
  }

  get(name: string, id: string): Stored | undefined {
    const table = this.#state.table(name)
    const written = this.#changed.get(name)?.written
    const document = written?.has(id) ? written.get(id) : table.get(id)
    return document && !table.isOver(document, this.#now()) ? document : undefined
  }

  /** Returns a collection as the transaction sees it. */
  view(name: string): TableView {
    return { table: this.#state.table(name), changes: this.#changed.get(name)?.written, now: this.#now() }
  }

  /** Puts a document; AppError `conflict` when a unique field of it is taken by another. */
  put({ name }: { readonly name: string }, document: Stored): Stored {
    const copy = storable(name, document)
    const changed = this.#change(name)
    for (const index of changed.unique) this.#requireFree(name, index, copy)
    set(changed, copy.id, copy)
    return copy
  }

  insert(spec: TableSpec, document: Stored): Stored {
    if (this.get(spec.name, document.id)) {
      throw new AppError('conflict', `${spec.name} ${JSON.stringify(document.id)} exists already`)
    }
    return this.put(spec, document)
  }

  update(spec: TableSpec, id: string, change: (document: Stored) => Stored | undefined): Stored | undefined {
    const document = this.get(spec.name, id)
    if (!document) return undefined
    const changed = change(document)
    if (changed === undefined || changed === document) return document
    if (changed.id !== id) throw new Error(`collection ${spec.name}: an update must not change the id ${id}`)
    return this.put(spec, changed)
  }

  delete({ name }: TableSpec, id: string): boolean {
    const existed = this.get(name, id) !== undefined
    this.remove(name, id)
    return existed
  }

  /** Removes the document of an id, expired or not. */
  remove(name: string, id: string): void {
    set(this.#change(name), id, undefined)
  }

  /** Returns the changes of the transaction, each document once. */
  changes(): StoredChange[] {
    const changes: StoredChange[] = []
    for (const [collection, { written }] of this.#changed) {
      const table = this.#state.table(collection)
      for (const [id, document = null] of written)
        if (document || table.get(id)) changes.push({ collection, id, document })
    }
    return changes
  }

  #requireFree(name: string, index: FieldIndex, document: Stored): void {
    const table = this.#state.table(name)
    const { written } = this.#change(name)
    const { field } = index
    for (const key of indexKeys(fieldOf(document, field))) {
      const others = [
        ...[...(table.index(field)?.ids(key) ?? [])].filter((id) => !written.has(id)),
        ...index.ids(key),
      ]
      for (const id of others) {
        if (id === document.id) continue
        if (this.get(name, id)) {
          throw new AppError('conflict', `${name}: ${field} ${JSON.stringify(key)} is taken`)
        }
        // The other has expired but was not swept yet: its value is free, and it must not come back beside the new one.
        this.remove(name, id)
      }
    }
  }

  #change(name: string): Changed {
    let changed = this.#changed.get(name)
    if (!changed) {
      const { unique = [] } = this.#state.table(name).spec ?? {}
      changed = { written: new Map(), unique: unique.map((field) => new FieldIndex(field)) }
      this.#changed.set(name, changed)
    }
    return changed
  }
}

function set({ written, unique }: Changed, id: string, document: Stored | undefined): void {
  const previous = written.get(id)
  written.set(id, document)
  for (const index of unique) index.change(previous, document)
}
