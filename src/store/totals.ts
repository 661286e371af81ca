import { type Condition, tester } from '../core/conditions.ts'
import type { SortedDocuments } from './sorted-documents.ts'
import type { Stored } from './store.ts'

const mostKept = 32
const longest = 2000

/** How many documents of a table conditions hold of: counted once, and kept with every write. */
export class Totals {
  readonly #kept = new Map<string, Total>()

  /** The total of a condition; undefined for one that takes too long to be asked with every write. */
  of(holds: Condition): Total | undefined {
    const key = JSON.stringify(holds)
    let total = this.#kept.get(key)
    if (!total) {
      if (key.length > longest || /"call":"(?:like|contains)"/.test(key)) return undefined
      total = new Total(holds)
    }
    // Last in the map is last asked for.
    this.#kept.delete(key)
    this.#kept.set(key, total)
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value!)
    return total
  }

  /** A document takes the place of another, or comes, or goes. */
  changed(previous: Stored | undefined, document: Stored | undefined): void {
    for (const total of this.#kept.values()) total.changed(previous, document)
  }
}

/** A total that is being counted, or is whole. */
class Total {
  readonly #test: (document: object) => boolean
  /** Documents up to this id are in the count; what is written behind it is met later. */
  #upTo = ''
  whole = false
  count = 0

  constructor(holds: Condition) {
    this.#test = tester(holds)
  }

  /** Counts some more of the documents. */
  goOn(documents: SortedDocuments, most: number): void {
    let left = most
    documents.each(
      (document) => {
        this.#upTo = document.id
        if (this.#test(document)) this.count++
        return --left > 0
      },
      { id: this.#upTo },
    )
    this.whole = left > 0
  }

  changed(previous: Stored | undefined, document: Stored | undefined): void {
    const { id } = (previous ?? document)!
    if (!this.whole && id > this.#upTo) return
    if (previous && this.#test(previous)) this.count--
    if (document && this.#test(document)) this.count++
  }
}
