/**
 * What ends a piece of work from outside. It stands for an AbortController whose signal is made only when somebody asks
 * for it: making, linking and hearing one costs more than all checks of a call, and most calls end before anybody asks.
 */
export class Stop {
  #reason: Error | undefined
  #controller: AbortController | undefined
  #hearers: Set<() => void> | undefined

  /** Why the work ends; undefined while it may go on. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** The same for what takes an AbortSignal. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Ends the work; the first reason counts. */
  end(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const hear of this.#hearers ?? []) hear()
  }

  /** Calls back once when the work ends, at once when it has; the answer takes that back. */
  onEnd(hear: () => void): () => void {
    if (this.#reason) {
      hear()
      return () => undefined
    }
    this.#hearers ??= new Set()
    this.#hearers.add(hear)
    return () => void this.#hearers?.delete(hear)
  }
}

/** Why work ends that took too long. */
export const late = new Error('it took too long')

/**
 * What work gives, unless it is ended first, after so many milliseconds at the latest; what becomes of it after that is
 * nobody's business. `leave` comes when it really ends, since what does not stop when it is told to keeps its place.
 */
export function unlessEnded<T>(
  running: Promise<T>,
  stop: Stop,
  milliseconds: number,
  leave: () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // It alone keeps no program from its end.
    const clockwork = setTimeout(() => stop.end(late), milliseconds).unref()
    stop.onEnd(() => reject(stop.reason!))
    const ended = (): void => {
      clearTimeout(clockwork)
      leave()
    }
    void running.then(resolve, reject).then(ended)
  })
}
