/** Things that take long to start, started before they are needed. */
export class Spares<T> {
  #make: () => Promise<T>
  #discard: (spare: T) => void
  #size: number
  #spares: Promise<T>[] = []
  #closed = false

  constructor(size: number, make: () => Promise<T>, discard: (spare: T) => void) {
    this.#size = size
    this.#make = make
    this.#discard = discard
  }

  /** Starts as many as are wanted. One that fails is tried again when the next is taken, not before. */
  fill(): void {
    while (!this.#closed && this.#spares.length < this.#size) {
      const spare = this.#make()
      this.#spares.push(spare)
      spare.catch(() => {
        this.#spares = this.#spares.filter((other) => other !== spare)
      })
    }
  }

  /** Waits until one is there; fails when it cannot be made. */
  async ready(): Promise<void> {
    this.fill()
    await this.#spares[0]
  }

  /** One for the caller alone; another is started in its place. */
  async take(): Promise<T> {
    const spare = this.#spares.shift() ?? this.#make()
    try {
      return await spare
    } finally {
      this.fill()
    }
  }

  /** Ends those that wait; those that were taken belong to their takers. */
  async close(): Promise<void> {
    this.#closed = true
    const spares = this.#spares
    this.#spares = []
    for (const spare of spares) await spare.then(this.#discard, () => {})
  }
}
