/** A thing that takes long to start, started before it is needed. */
export class Spare<T> {
  #make: () => Promise<T>
  #discard: (spare: T) => void
  #spare: Promise<T> | undefined
  #closed = false

  constructor(make: () => Promise<T>, discard: (spare: T) => void) {
    this.#make = make
    this.#discard = discard
  }

  /** Starts one when there is none. One that fails is tried again when the next is taken, not before. */
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

  /** One for the caller alone; another is started in its place. */
  async take(): Promise<T> {
    const spare = this.#spare ?? this.#make()
    this.#spare = undefined
    try {
      return await spare
    } finally {
      this.fill()
    }
  }

  /** Ends the one that waits; those that were taken belong to their takers. */
  async close(): Promise<void> {
    this.#closed = true
    const spare = this.#spare
    this.#spare = undefined
    await spare?.then(this.#discard, () => {})
  }
}
