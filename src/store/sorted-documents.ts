import type { Stored } from './store.ts'

const chunkLength = 1024

/**
 * Documents in the order of their ids, in chunks: adding and removing cost the same at a thousand and at a
 * million, and reading all of them looks nothing up.
 */
export class SortedDocuments {
  readonly #chunks: Stored[][] = []

  /** Puts a document in the place of the one with its id, or where it belongs. */
  put(document: Stored): void {
    const last = this.#chunks.at(-1)
    // Documents that come in order, as from a snapshot, fill chunk after chunk.
    if (!last || (last.length >= chunkLength && document.id > last.at(-1)!.id)) {
      this.#chunks.push([document])
      return
    }
    const at = this.#chunkOf(document.id)
    const chunk = this.#chunks[at]!
    const index = firstAtLeast(chunk, document.id)
    if (chunk[index]?.id === document.id) chunk[index] = document
    else chunk.splice(index, 0, document)
    if (chunk.length > 2 * chunkLength) this.#chunks.splice(at + 1, 0, chunk.splice(chunkLength))
  }

  /** Removes the document with the id, if there is one. */
  delete(id: string): void {
    const at = this.#chunkOf(id)
    const chunk = this.#chunks[at]
    const index = chunk ? firstAtLeast(chunk, id) : 0
    if (chunk?.[index]?.id !== id) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Hands over the documents in order, until `visit` answers false. */
  each(visit: (document: Stored) => boolean): void {
    for (const chunk of this.#chunks) for (const document of chunk) if (!visit(document)) return
  }

  /** Up to `count` documents whose ids come after `id`, in order; the empty text comes before all. */
  after(id: string, count: number): Stored[] {
    const found: Stored[] = []
    for (let at = this.#chunkOf(id); at < this.#chunks.length && found.length < count; at++) {
      const chunk = this.#chunks[at]!
      let from = firstAtLeast(chunk, id)
      if (chunk[from]?.id === id) from++
      found.push(...chunk.slice(from, from + count - found.length))
    }
    return found
  }

  /** The chunk that holds the id or would take it: the first whose last id is not smaller, else the last. */
  #chunkOf(id: string): number {
    let low = 0
    let high = this.#chunks.length - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#chunks[middle]!.at(-1)!.id < id) low = middle + 1
      else high = middle
    }
    return Math.max(low, 0)
  }
}

function firstAtLeast(documents: readonly Stored[], id: string): number {
  let low = 0
  let high = documents.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (documents[middle]!.id < id) low = middle + 1
    else high = middle
  }
  return low
}
