/** The number of entries at which a single part is split into many. */
const most = 1 << 15
const partCount = 64

/** A Map that never rehashes all its entries at once: growing beyond half a million blocks a plain Map for 0.2 s. */
export class LargeMap<K, V> {
  #parts: readonly Map<K, V>[] = [new Map()]

  get size(): number {
    let size = 0
    for (const part of this.#parts) size += part.size
    return size
  }

  get(key: K): V | undefined {
    return this.#partOf(key).get(key)
  }

  set(key: K, value: V): void {
    const part = this.#partOf(key).set(key, value)
    if (this.#parts.length > 1 || part.size < most) return
    this.#parts = Array.from({ length: partCount }, () => new Map<K, V>())
    for (const [one, held] of part) this.#partOf(one).set(one, held)
  }

  delete(key: K): void {
    this.#partOf(key).delete(key)
  }

  *values(): Generator<V> {
    for (const part of this.#parts) yield* part.values()
  }

  *[Symbol.iterator](): Generator<[key: K, value: V]> {
    for (const part of this.#parts) yield* part
  }

  #partOf(key: K): Map<K, V> {
    return this.#parts.length === 1 ? this.#parts[0]! : this.#parts[spread(key) % partCount]!
  }
}

/** Hashes a key to a number; of a long text only some letters count. */
function spread(key: unknown): number {
  if (typeof key === 'number') return Math.trunc(Math.abs(key)) % partCount || 0
  if (typeof key !== 'string') return 0
  let number = key.length
  const step = 1 + (key.length >>> 5)
  for (let at = 0; at < key.length; at += step) number = (number * 31 + key.charCodeAt(at)) >>> 0
  return number
}
