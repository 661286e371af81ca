/** Counts how often this daemon wrote lines of the log, for those who wait for more of them. */
export class Growth {
  #count = 0
  readonly #waiting = new Set<() => void>()

  /** Tells all who wait that lines were written. */
  grew(): void {
    this.#count++
    for (const tell of this.#waiting) tell()
  }

  /** Settles with the count, once it is more than that or the signal ends it. */
  async after(than: number, signal: AbortSignal): Promise<number> {
    if (this.#count > than || signal.aborted) return this.#count
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#waiting.delete(end)
        signal.removeEventListener('abort', end)
        resolve()
      }
      this.#waiting.add(end)
      signal.addEventListener('abort', end)
    })
    return this.#count
  }
}
