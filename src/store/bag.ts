/**
 * Things side by side, in no order, each once: a third of the memory of a Set. What is taken out is only noted, until it
 * is a quarter of all.
 */
export class Bag<T> {
  #all: T[]
  #gone: Set<T> | undefined

  constructor(all: T[]) {
    this.#all = all
  }

  get size(): number {
    return this.#all.length - (this.#gone?.size ?? 0)
  }

  /** Puts something in that is not there. */
  add(one: T): void {
    if (!this.#gone?.delete(one)) this.#all.push(one)
  }

  /** Takes something out that is there. */
  delete(one: T): void {
    const gone = (this.#gone ??= new Set()).add(one)
    if (gone.size * 4 < this.#all.length) return
    this.#all = this.#all.filter((other) => !gone.has(other))
    this.#gone = undefined
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const one of this.#all) if (!this.#gone?.has(one)) yield one
  }
}
