import { AppError } from '../../core/errors.ts'

/** How much of a costly kind of work there is now. */
export interface Load {
  readonly running: number
  readonly waiting: number
}

interface Waiting {
  readonly owner: string
  readonly enter: () => void
}

/** How many of a costly kind of work run at once, how many of one owner, and how many may wait their turn. */
export class Slots {
  #free: number
  #perOwner: number
  #maxWaiting: number
  #running = new Map<string, number>()
  #waiting: Waiting[] = []

  constructor(size: number, maxWaiting: number, perOwner = size) {
    this.#free = size
    this.#perOwner = perOwner
    this.#maxWaiting = maxWaiting
  }

  /** For metrics. */
  load(): Load {
    const running = [...this.#running.values()].reduce((sum, count) => sum + count, 0)
    return { running, waiting: this.#waiting.length }
  }

  /** Runs the work when there is room. AppError `unavailable` when too many wait or the caller goes. */
  async use<T>(signal: AbortSignal, work: () => Promise<T>, owner = ''): Promise<T> {
    await this.#enter(signal, owner)
    try {
      return await work()
    } finally {
      this.#free += 1
      this.#count(owner, -1)
      this.#letIn()
    }
  }

  async #enter(signal: AbortSignal, owner: string): Promise<void> {
    if (signal.aborted) throw cancelled()
    if (this.#hasRoom(owner)) {
      this.#take(owner)
      return
    }
    if (this.#waiting.length >= this.#maxWaiting)
      throw new AppError('unavailable', 'too many analyses are running; try again in a moment')
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        owner,
        enter: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
      }
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(cancelled())
      }
      this.#waiting.push(waiting)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** The first in the queue whose owner has room: one who asks for much does not hold up the others. */
  #letIn(): void {
    const at = this.#waiting.findIndex(({ owner }) => this.#hasRoom(owner))
    if (at === -1) return
    const [next] = this.#waiting.splice(at, 1)
    this.#take(next!.owner)
    next!.enter()
  }

  #hasRoom(owner: string): boolean {
    return this.#free > 0 && (this.#running.get(owner) ?? 0) < this.#perOwner
  }

  #take(owner: string): void {
    this.#free -= 1
    this.#count(owner, 1)
  }

  #count(owner: string, by: number): void {
    const count = (this.#running.get(owner) ?? 0) + by
    if (count === 0) this.#running.delete(owner)
    else this.#running.set(owner, count)
  }
}

/** What work throws that was given up because its caller left or its time was up. */
export function cancelled(): AppError {
  return new AppError('unavailable', 'the call was cancelled')
}
