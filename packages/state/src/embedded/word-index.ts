import { Slice } from '#leaf/slices.ts'
import { unsearched, splitWords } from '../questions/words.ts'
import { FieldIndex } from './field-index.ts'
import { SortedDocuments } from './sorted-documents.ts'
import type { Stored } from '../store.ts'

const skipped = new Set(['id', ...unsearched])

/** An index of the words in a table's documents, in their fields and those of their rows; built at the first search. */
export class WordIndex {
  readonly #ids = new FieldIndex('words')
  /** The words of all documents, sorted. */
  readonly #words = new SortedDocuments()
  #upTo = ''
  whole = false

  /** Indexes the next slice of the documents. */
  goOn(documents: SortedDocuments): void {
    const slice = new Slice()
    let isOver = false
    documents.each(
      (document) => {
        this.#upTo = document.id
        this.#add(document)
        isOver = slice.isOver()
        return !isOver
      },
      { id: this.#upTo },
    )
    this.whole = !isOver
  }

  /** Updates the index when a document is replaced, added or removed. */
  changed(previous: Stored | undefined, document: Stored | undefined): void {
    // Documents not yet reached are indexed when their turn comes.
    if (!this.whole && (previous ?? document)!.id > this.#upTo) return
    if (previous) this.#remove(previous)
    if (document) this.#add(document)
  }

  /** Yields the words that begin with `start`. */
  *beginning(start: string): Generator<string> {
    let after: Stored | undefined
    if (this.#ids.count(start) > 0) yield start
    for (;;) {
      const [next] = this.#words.after(after?.id ?? start, 1)
      if (!next?.id.startsWith(start)) return
      yield next.id
      after = next
    }
  }

  ids(word: string): Iterable<string> {
    return this.#ids.ids(word)
  }

  count(word: string): number {
    return this.#ids.count(word)
  }

  #add(document: Stored): void {
    const words = allWords(document)
    for (const word of words) if (this.#ids.count(word) === 0) this.#words.put({ id: word })
    this.#ids.add({ id: document.id, words } as Stored)
  }

  #remove(document: Stored): void {
    const words = allWords(document)
    this.#ids.remove({ id: document.id, words } as Stored)
    for (const word of words) if (this.#ids.count(word) === 0) this.#words.delete({ id: word })
  }
}

function allWords(document: Stored): string[] {
  const texts: string[] = [document.id]
  for (const [name, value] of Object.entries(document) as [string, unknown][]) {
    if (skipped.has(name)) continue
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value))
      for (const row of value as unknown[])
        if (typeof row === 'object' && row !== null)
          for (const cell of Object.values(row)) if (typeof cell === 'string') texts.push(cell)
  }
  return [...new Set(texts.flatMap(splitWords))]
}
