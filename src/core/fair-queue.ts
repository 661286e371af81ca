/** A fair queue for costly work: files, charts, SQL, Python and previews each have one. */
import { AppError } from './errors.ts'
import type { Cost } from './shown.ts'

/** How much of a costly kind of work there is now. */
export interface Load {
  readonly running: number
  readonly waiting: number
}

/** How many of one user may wait. */
const mostWaiting = 16

/** For whom work is done, and when it is given up. */
export interface TurnTaker {
  readonly user: string
  readonly signal: AbortSignal
  /** Is told what the work took, where that is counted. */
  readonly spent?: ((cost: Cost) => void) | undefined
}

interface Waiting {
  readonly user: string
  readonly enter: () => void
}

/**
 * FairQueue for work that runs at once. One user never holds the last place, so whoever has nothing
 * running waits for nobody who has; the next place is for the user who was let in longest ago.
 */
export class FairQueue {
  #size: number
  #perUser: number
  #running = new Map<string, number>()
  #waiting: Waiting[] = []
  /** Who was let in, the last one last; only of users who run or wait. */
  #turns: string[] = []

  constructor(size: number) {
    this.#size = size
    this.#perUser = Math.max(1, size - 1)
  }

  /** For metrics. */
  load(): Load {
    return { running: this.#all(), waiting: this.#waiting.length }
  }

  /** Runs the work when there is a place. AppError `unavailable` when too much of the user waits, or the caller goes. */
  async use<T>({ user, signal }: TurnTaker, work: () => Promise<T>): Promise<T> {
    if (signal.aborted) throw cancelled()
    if (this.#hasRoom(user)) this.#take(user)
    else await this.#wait(user, signal)
    try {
      return await work()
    } finally {
      const left = this.#running.get(user)! - 1
      if (left === 0) this.#running.delete(user)
      else this.#running.set(user, left)
      this.#letIn()
    }
  }

  async #wait(user: string, signal: AbortSignal): Promise<void> {
    if (this.#waiting.filter((other) => other.user === user).length >= mostWaiting)
      throw new AppError('unavailable', 'too much work of yours is waiting; try again in a moment')
    await new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        user,
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

  #letIn(): void {
    const next = this.#waiting
      .filter(({ user }) => this.#hasRoom(user))
      .toSorted((a, b) => this.#turns.indexOf(a.user) - this.#turns.indexOf(b.user))[0]
    if (!next) return
    this.#waiting = this.#waiting.filter((other) => other !== next)
    this.#take(next.user)
    next.enter()
  }

  #hasRoom(user: string): boolean {
    return this.#all() < this.#size && (this.#running.get(user) ?? 0) < this.#perUser
  }

  #take(user: string): void {
    this.#running.set(user, (this.#running.get(user) ?? 0) + 1)
    const present = new Set([...this.#running.keys(), ...this.#waiting.map((other) => other.user)])
    this.#turns = [...this.#turns.filter((other) => other !== user && present.has(other)), user]
  }

  #all(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0)
  }
}

/** What work throws that was given up because its caller left or its time was up. */
export function cancelled(): AppError {
  return new AppError('unavailable', 'the call was cancelled')
}
