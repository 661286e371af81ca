import { longestTimer } from './deadline.ts'

/** The user whose work it is, and a function that charges milliseconds to their budget. */
interface Payer {
  readonly user: string
  readonly pay?: ((milliseconds: number) => void) | undefined
}

const leastPaid = 10

/**
 * A cancellation token for a piece of work. It acts as an AbortController whose signal is made only on demand: making,
 * linking and hearing one costs more than all checks of a call, and most calls end before anybody asks for it.
 */
export class Stop {
  readonly payer: Payer | undefined
  #owed = 0
  #reason: Error | undefined
  #controller: AbortController | undefined
  #hearers: Set<() => void> | undefined

  constructor(payer?: Payer) {
    this.payer = payer
  }

  /** Records the milliseconds that a part of the work used of the service's one thread. */
  took(milliseconds: number): void {
    this.#owed += milliseconds
    if (this.#owed < leastPaid) return
    this.payer?.pay?.(this.#owed)
    this.#owed = 0
  }

  /** The reason why the work ends; undefined while it may go on. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** The same as an AbortSignal. */
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

  /** Calls `hear` once when the work ends, at once if it has; returns a function that unsubscribes. */
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

/** The reason of work that took too long. */
export const late = new Error('it took too long')

/**
 * Returns the result of work unless it is ended first, after so many milliseconds at the latest; its result after that is
 * ignored. `leave` is called when it really ends, since work that does not stop when told to keeps its place.
 */
export function unlessEnded<T>(
  running: Promise<T>,
  stop: Stop,
  milliseconds: number,
  leave: () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // The timer alone does not keep the program running.
    const clockwork = setTimeout(() => stop.end(late), Math.min(milliseconds, longestTimer)).unref()
    stop.onEnd(() => reject(stop.reason!))
    const ended = (): void => {
      clearTimeout(clockwork)
      leave()
    }
    void running.then(resolve, reject).then(ended)
  })
}
