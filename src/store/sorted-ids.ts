const chunkLength = 1024

/** Ids in order, in chunks: adding and removing cost the same at a thousand and at a million ids. */
export class SortedIds implements Iterable<string> {
  readonly #chunks: string[][] = []

  /** Adds an id that is not there yet. */
  add(id: string): void {
    const last = this.#chunks.at(-1)
    // Ids that come in order, as from a snapshot, fill chunk after chunk.
    if (!last || (last.length >= chunkLength && id > last.at(-1)!)) {
      this.#chunks.push([id])
      return
    }
    const at = this.#chunkOf(id)
    const chunk = this.#chunks[at]!
    chunk.splice(firstAtLeast(chunk, id), 0, id)
    if (chunk.length > 2 * chunkLength) this.#chunks.splice(at + 1, 0, chunk.splice(chunkLength))
  }

  /** Removes an id that is there. */
  delete(id: string): void {
    const at = this.#chunkOf(id)
    const chunk = this.#chunks[at]
    const index = chunk ? firstAtLeast(chunk, id) : 0
    if (chunk?.[index] !== id) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  *[Symbol.iterator](): Iterator<string> {
    for (const chunk of this.#chunks) yield* chunk
  }

  /** Up to `count` ids that come after `id`, in order; the empty text comes before all. */
  after(id: string, count: number): string[] {
    const found: string[] = []
    for (let at = this.#chunkOf(id); at < this.#chunks.length && found.length < count; at++) {
      const chunk = this.#chunks[at]!
      let from = firstAtLeast(chunk, id)
      if (chunk[from] === id) from++
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
      if (this.#chunks[middle]!.at(-1)! < id) low = middle + 1
      else high = middle
    }
    return Math.max(low, 0)
  }
}

function firstAtLeast(ids: readonly string[], id: string): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ids[middle]! < id) low = middle + 1
    else high = middle
  }
  return low
}
