/** The length of a part: an array of a million grows and is cleaned in tens of milliseconds, one of these in one. */
const partLength = 1 << 14

/**
 * A set without order, in a third of the memory of a Set. Its members lie in arrays; deleted ones are only noted until
 * they are a quarter of all, and then dropped from one array at a time.
 */
export class Bag<T> {
  /** Where members are added. */
  #last: T[]
  /** The parts before it, and how many members they have. */
  #parts: T[][] | undefined
  #inParts = 0
  #gone: Set<T> | undefined

  constructor(all: T[]) {
    this.#last = all
  }

  get size(): number {
    return this.#held - (this.#gone?.size ?? 0)
  }

  /** Adds a member that is not there yet. */
  add(one: T): void {
    if (this.#gone?.delete(one)) return
    if (this.#last.length >= partLength) {
      this.#close(this.#last)
      this.#last = []
    }
    this.#last.push(one)
  }

  /** Deletes a member that is there. */
  delete(one: T): void {
    const gone = (this.#gone ??= new Set()).add(one)
    if (gone.size * 4 < this.#held) return
    // The part that was cleaned longest ago stands first.
    const part = this.#parts?.shift() ?? []
    this.#inParts -= part.length
    const isLeft = (other: T): boolean => !gone.delete(other)
    const left = part.filter(isLeft)
    const last = this.#last.filter(isLeft)
    if (left.length + last.length > partLength) this.#close(left)
    this.#last = left.length + last.length > partLength ? last : [...left, ...last]
    if (gone.size === 0) this.#gone = undefined
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const part of [...(this.#parts ?? []), this.#last])
      for (const one of part) if (!this.#gone?.has(one)) yield one
  }

  get #held(): number {
    return this.#inParts + this.#last.length
  }

  #close(part: T[]): void {
    this.#parts ??= []
    this.#parts.push(part)
    this.#inParts += part.length
  }
}
