/** The deletions after which a map begins anew, and those of as many as it holds. */
const leastGone = 64

/**
 * A map of what soon passes, such as the requests that are served. A Map that is written to all the time makes itself a
 * new table again and again, and each table that it leaves leads to the next: once one of them has become old, V8
 * keeps everything that ever was in any later one until its next full collection. This map begins a new one instead.
 */
export class PassingMap<K, V> {
  #map = new Map<K, V>()
  #gone = 0

  get size(): number {
    return this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  has(key: K): boolean {
    return this.#map.has(key)
  }

  set(key: K, value: V): void {
    this.#map.set(key, value)
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#gone >= Math.max(leastGone, this.#map.size)) {
      this.#map = new Map(this.#map)
      this.#gone = 0
    }
    return true
  }

  keys(): IterableIterator<K> {
    return this.#map.keys()
  }

  values(): IterableIterator<V> {
    return this.#map.values()
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#map[Symbol.iterator]()
  }
}
