import type { Clock } from '../core/clock.ts'
import type { Suspended } from '../core/suspended.ts'

/** Where suspended calls wait: the memory of this process. Nothing else knows where that is. */
export class WaitingRoom {
  readonly #clock: Clock
  readonly #calls = new Map<string, Suspended>()
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Those that have not expired, oldest first; an expired one is as if it had never been. */
  all(): readonly Suspended[] {
    const now = this.#clock.now()
    for (const { id, expiresAt } of this.#calls.values()) if (expiresAt <= now) this.delete(id)
    return [...this.#calls.values()]
  }

  get(id: string): Suspended | undefined {
    const call = this.#calls.get(id)
    return call && call.expiresAt > this.#clock.now() ? call : undefined
  }

  put(call: Suspended): void {
    this.#calls.set(call.id, call)
    this.#wake(call.id)
  }

  delete(id: string): void {
    this.#calls.delete(id)
    this.#wake(id)
  }

  /** Waits until the call is changed or gone, but no longer than this or until the signal. */
  changed(id: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set()
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        waiting.delete(wake)
        if (waiting.size === 0) this.#waiting.delete(id)
        resolve()
      }
      const timer = setTimeout(wake, milliseconds).unref()
      signal.addEventListener('abort', wake)
      this.#waiting.set(id, waiting.add(wake))
    })
  }

  #wake(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake()
  }
}
