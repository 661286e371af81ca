import { type Condition, tester } from '../questions/conditions.ts'
import { Slice } from '#leaf/slices.ts'
import type { SortedDocuments } from './sorted-documents.ts'
import type { Stored } from '../store.ts'

const mostKept = 32
const longest = 2000

/** The number of documents that meet each of some conditions: counted once, and updated with every write. */
export class Totals {
  readonly #kept = new Map<string, Total>()

  /** Returns the total of a condition; undefined for a condition too slow to test with every write. */
  of(holds: Condition): Total | undefined {
    const key = JSON.stringify(holds)
    let total = this.#kept.get(key)
    if (!total) {
      if (key.length > longest || /"call":"(?:like|contains)"/.test(key)) return undefined
      total = new Total(holds)
    }
    // An LRU cache: the last in the map is the last asked for.
    this.#kept.delete(key)
    this.#kept.set(key, total)
    if (this.#kept.size > mostKept) this.#kept.delete(this.#kept.keys().next().value!)
    return total
  }

  /** Updates the totals when a document is replaced, added or removed. */
  changed(previous: Stored | undefined, document: Stored | undefined): void {
    for (const total of this.#kept.values()) total.changed(previous, document)
  }
}

/** A total that is still being counted, or is whole. */
class Total {
  readonly #test: (document: object) => boolean
  /** The count covers documents up to this id; writes after it are met later. */
  #upTo = ''
  whole = false
  count = 0

  constructor(holds: Condition) {
    this.#test = tester(holds)
  }

  /** Counts the next slice of the documents. */
  goOn(documents: SortedDocuments): void {
    const slice = new Slice()
    let isOver = false
    documents.each(
      (document) => {
        this.#upTo = document.id
        if (this.#test(document)) this.count++
        isOver = slice.isOver()
        return !isOver
      },
      { id: this.#upTo },
    )
    this.whole = !isOver
  }

  changed(previous: Stored | undefined, document: Stored | undefined): void {
    const { id } = (previous ?? document)!
    if (!this.whole && id > this.#upTo) return
    if (previous && this.#test(previous)) this.count--
    if (document && this.#test(document)) this.count++
  }
}
