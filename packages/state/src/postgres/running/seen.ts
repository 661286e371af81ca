import type { Stored } from '../../store.ts'

/** A cache of documents by collection and id, expired or not: what a transaction read once stays valid until it ends. */
export class SeenDocuments {
  readonly #seen = new Map<string, Map<string, Stored | undefined>>()
  /** What was there before each change. */
  readonly #before: (() => void)[] = []

  has(name: string, id: string): boolean {
    return this.#seen.get(name)?.has(id) === true
  }

  get(name: string, id: string): Stored | undefined {
    return this.#seen.get(name)?.get(id)
  }

  set(name: string, id: string, document: Stored | undefined): void {
    let seen = this.#seen.get(name)
    if (!seen) this.#seen.set(name, (seen = new Map<string, Stored | undefined>()))
    const [all, before] = [seen, seen.get(id)]
    this.#before.push(all.has(id) ? () => all.set(id, before) : () => all.delete(id))
    all.set(id, document)
  }

  /** The number of changes so far. */
  get changes(): number {
    return this.#before.length
  }

  /** Undoes the changes after some. */
  undo(changes: number): void {
    for (const undo of this.#before.splice(changes).reverse()) undo()
  }
}
