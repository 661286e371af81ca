import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'

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

/** The work, or AppError `unavailable` when it has not ended in time: others wait for its turn to be over. */
export function inTime<R>(work: Promise<R>, milliseconds: number): Promise<R> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new AppError('unavailable', 'the transaction took too long and was given up'))
    const timer = setTimeout(late, milliseconds)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** A transaction under way; over once its work has ended. */
export interface Turn {
  over: boolean
}

/** Does what was to follow a transaction; it is kept, whatever goes wrong now. */
export function follow(steps: readonly (() => void)[], log: Log): void {
  for (const step of steps) {
    try {
      step()
    } catch (error) {
      log.error('what follows a transaction failed', { error })
    }
  }
}

/** Does work again and again, not while it is under way still. */
export function repeat(
  milliseconds: number,
  work: () => Promise<unknown>,
  failed: (error: unknown) => void,
): NodeJS.Timeout {
  let running = false
  const run = async (): Promise<void> => {
    if (running) return
    running = true
    await work().catch(failed)
    running = false
  }
  return setInterval(() => void run(), milliseconds).unref()
}
