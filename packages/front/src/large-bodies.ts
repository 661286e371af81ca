/**
 * Large bodies are processed one per turn of the event loop, and a sender waits before the next for as long as the last
 * took: what is cheap to send and costly to read costs its sender's time, and between two of them others have their turn.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'

/** The bytes from which a body is large; a smaller one is read in a millisecond or two. */
const large = 65_536
/** The most bytes that wait of one caller, whole and in memory. */
const mostWaiting = 64 << 20

/** The queue of large bodies of one daemon. */
export class LargeBodies {
  #last: Promise<unknown> = Promise.resolve()
  /** By caller: settles when the time of their last large body is paid. */
  readonly #paid = new Map<string, Promise<void>>()
  /** By caller: the bytes that wait. */
  readonly #waiting = new Map<string, number>()

  /** True when a body of so many bytes would be more than may wait of one caller. */
  isFull(caller: string, bytes: number): boolean {
    return bytes >= large && (this.#waiting.get(caller) ?? 0) + bytes > mostWaiting
  }

  /** Settles when a body of so many bytes may be processed; undefined when it may be at once. */
  turn(caller: string, bytes: number): Promise<void> | undefined {
    if (bytes < large) return undefined
    this.#count(caller, bytes)
    const turn = this.#next(this.#paid.get(caller)).finally(() => this.#count(caller, -bytes))
    const paid = this.#costOf(turn)
    this.#paid.set(caller, paid)
    void paid.then(() => this.#paid.get(caller) === paid && this.#paid.delete(caller))
    return turn
  }

  #count(caller: string, bytes: number): void {
    const all = (this.#waiting.get(caller) ?? 0) + bytes
    if (all === 0) this.#waiting.delete(caller)
    else this.#waiting.set(caller, all)
  }

  async #next(paid: Promise<void> | undefined): Promise<void> {
    await paid
    await (this.#last = this.#last.then(() => setImmediate()))
  }

  async #costOf(turn: Promise<void>): Promise<void> {
    await turn
    const began = performance.now()
    await setImmediate()
    await setTimeout(performance.now() - began)
  }
}
