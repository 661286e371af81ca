import { AppError } from '../../core/errors.ts'

/** How many of a costly kind of work run at once, and how many may wait their turn. */
export class Slots {
  #free: number
  #maxWaiting: number
  #waiting: (() => void)[] = []

  constructor(size: number, maxWaiting: number) {
    this.#free = size
    this.#maxWaiting = maxWaiting
  }

  /** Runs the work when there is room. AppError `unavailable` when too many wait or the caller goes. */
  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw cancelled()
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    if (this.#waiting.length >= this.#maxWaiting)
      throw new AppError('unavailable', 'too many analyses are running; try again in a moment')
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== enter)
        reject(cancelled())
      }
      this.#waiting.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}

/** What work throws that was given up because its caller left or its time was up. */
export function cancelled(): AppError {
  return new AppError('unavailable', 'the call was cancelled')
}
