import { unsearched, splitWords } from '../core/words.ts'
import { FieldIndex } from './field-index.ts'
import { SortedDocuments } from './sorted-documents.ts'
import type { Stored } from './store.ts'

const skipped = new Set(['id', ...unsearched])

/** The words of the documents of a table, in the fields of documents and of their rows: made with the first search. */
export class WordIndex {
  readonly #ids = new FieldIndex('words')
  /** Every word that some document has, in order. */
  readonly #words = new SortedDocuments()
  #upTo = ''
  whole = false

  /** Takes some more of the documents in. */
  goOn(documents: SortedDocuments, most: number): void {
    let left = most
    documents.each(
      (document) => {
        this.#upTo = document.id
        this.#add(document)
        return --left > 0
      },
      { id: this.#upTo },
    )
    this.whole = left > 0
  }

  /** A document takes the place of another, or comes, or goes. */
  changed(previous: Stored | undefined, document: Stored | undefined): void {
    // What lies ahead is taken in when its turn comes.
    if (!this.whole && (previous ?? document)!.id > this.#upTo) return
    if (previous) this.#remove(previous)
    if (document) this.#add(document)
  }

  /** Words that begin so, up to a number of them. */
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
