/** Lets one in after the other, in the order in which they came. */
export class Turns {
  #busy = false
  #waiting: (() => void)[] = []

  /** Settles when it is the caller's turn, who must call `done` afterwards. */
  async take(): Promise<void> {
    if (!this.#busy) {
      this.#busy = true
      return
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  done(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#busy = false
  }
}
