import { AppError } from './errors.ts'
import type { Log } from './log.ts'

/** A mutex with a first-in, first-out queue. */
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

/** Returns the result of work, or AppError `unavailable` when it is late: others wait for it to end. */
export function inTime<R>(
  work: Promise<R>,
  milliseconds: number,
  late = 'the transaction took too long and was given up',
): Promise<R> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new AppError('unavailable', late)), milliseconds)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** A running transaction; over once its work has ended. */
export interface Turn {
  over: boolean
}

/** Runs the steps that follow a transaction, which stays committed whatever goes wrong now. */
export function follow(steps: readonly (() => void)[], log: Log): void {
  for (const step of steps) {
    try {
      step()
    } catch (error) {
      log.error('what follows a transaction failed', { error })
    }
  }
}

/** Repeats work at an interval, skipping a time when the last run is still under way. */
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
