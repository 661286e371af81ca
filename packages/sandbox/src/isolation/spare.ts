/** Keeps one instance of something slow to start, started before it is needed. */
export class Spare<T extends { kill(): void }> {
  #make: () => Promise<T>
  #spare: Promise<T> | undefined
  #closed = false

  constructor(make: () => Promise<T>) {
    this.#make = make
  }

  /** Starts one if there is none. A failed start is tried again at the next `take`, not before. */
  fill(): void {
    if (this.#closed || this.#spare) return
    const spare = this.#make()
    this.#spare = spare
    spare.catch(() => {
      if (this.#spare === spare) this.#spare = undefined
    })
  }

  /** Waits until one is there; fails when it cannot be made. */
  async ready(): Promise<void> {
    this.fill()
    await this.#spare
  }

  /** Returns one for the caller alone, and starts another in its place. */
  async take(): Promise<T> {
    const spare = this.#spare ?? this.#make()
    this.#spare = undefined
    try {
      return await spare
    } finally {
      this.fill()
    }
  }

  /** Ends the waiting one; those taken belong to their takers. */
  async close(): Promise<void> {
    this.#closed = true
    const spare = this.#spare
    this.#spare = undefined
    await spare?.then(
      (one) => one.kill(),
      () => {},
    )
  }
}
