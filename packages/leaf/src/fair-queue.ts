/** A fair queue for costly work: files, charts, SQL, Python and previews each have one. */
import { AppError } from './errors.ts'

/** The number of running and waiting pieces of a costly kind of work. */
export interface Load {
  readonly running: number
  readonly waiting: number
}

/** The resources that work in processes of its own used, where the machine counts them. */
export interface Cost {
  readonly cpu_seconds: number
  /** The peak use of memory. */
  readonly memory_bytes: number
}

/** The most work of one user that may wait. */
const mostWaiting = 16
/** Milliseconds that work runs undisturbed while a user with nothing running waits; fewer where many such wait. */
const peace = 30_000

/** The user whose work it is, and the signal that gives it up. */
export interface TurnTaker {
  readonly user: string
  readonly signal: AbortSignal
  /** Called with the work's cost, where that is counted. */
  readonly spent?: ((cost: Cost) => void) | undefined
}

interface Waiting {
  readonly user: string
  readonly enter: () => void
}

interface Running {
  readonly user: string
  readonly since: number
  readonly leave: AbortController
}

/**
 * A queue for places to run work in parallel. One user never holds the last place; the next place goes to the user let in
 * longest ago; and where several users hold all places for long, work of theirs is ended for a user with nothing running.
 */
export class FairQueue {
  readonly #size: number
  readonly #perUser: number
  readonly #peace: number
  /** The running work, in the order in which it began. */
  readonly #running = new Set<Running>()
  #look: NodeJS.Timeout | undefined
  #waiting: Waiting[] = []
  /** The users in the order in which they were last let in, the latest last; only those whose work runs or waits. */
  #turns: string[] = []

  constructor(size: number, peaceMilliseconds = peace) {
    this.#size = size
    this.#perUser = Math.max(1, size - 1)
    this.#peace = peaceMilliseconds
  }

  /** Returns the load, for metrics. */
  load(): Load {
    return { running: this.#running.size, waiting: this.#waiting.length }
  }

  /**
   * Runs the work when there is a place, with a signal that ends it when the caller goes or the place is needed. AppError
   * `unavailable` then, and when too much of the user's work waits.
   */
  async use<T>({ user, signal }: TurnTaker, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (signal.aborted) throw cancelled(signal)
    const entered = this.#hasRoom(user) ? this.#take(user) : await this.#wait(user, signal)
    try {
      return await work(AbortSignal.any([signal, entered.leave.signal]))
    } catch (error) {
      throw entered.leave.signal.aborted ? cancelled(entered.leave.signal) : error
    } finally {
      this.#running.delete(entered)
      this.#letIn()
    }
  }

  async #wait(user: string, signal: AbortSignal): Promise<Running> {
    if (this.#waiting.filter((other) => other.user === user).length >= mostWaiting)
      throw new AppError('unavailable', 'too much work of yours is waiting; try again in a moment')
    return await new Promise((resolve, reject) => {
      const waiting: Waiting = {
        user,
        enter: () => {
          signal.removeEventListener('abort', leave)
          resolve(this.#take(user))
        },
      }
      const leave = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        reject(cancelled(signal))
      }
      this.#waiting.push(waiting)
      signal.addEventListener('abort', leave, { once: true })
      this.#makeRoom()
    })
  }

  /** Ends the longest-running work of the user with most running, after its undisturbed time, if users with none running wait. */
  #makeRoom(): void {
    clearTimeout(this.#look)
    const without = new Set(
      this.#waiting.map((one) => one.user).filter((user) => this.#runningOf(user) === 0),
    ).size
    const ending = [...this.#running].filter(({ leave }) => leave.signal.aborted).length
    const [first] = [...this.#running]
      .filter(({ leave }) => !leave.signal.aborted)
      .toSorted((a, b) => this.#runningOf(b.user) - this.#runningOf(a.user))
    if (without <= ending || !first) return
    const time = Math.max(this.#peace / 6, Math.min(this.#peace, (2 * this.#peace) / without))
    const left = first.since + time - performance.now()
    if (left <= 0) {
      const ran = Math.round(performance.now() - first.since) / 1000
      first.leave.abort(
        new AppError(
          'unavailable',
          `it was ended after ${ran} s, since others wait for a place; try again later`,
        ),
      )
    }
    this.#look = setTimeout(() => this.#makeRoom(), Math.max(1, left)).unref()
  }

  #letIn(): void {
    const next = this.#waiting
      .filter(({ user }) => this.#hasRoom(user))
      .toSorted((a, b) => this.#turns.indexOf(a.user) - this.#turns.indexOf(b.user))[0]
    if (!next) return
    this.#waiting = this.#waiting.filter((other) => other !== next)
    next.enter()
  }

  #hasRoom(user: string): boolean {
    return this.#running.size < this.#size && this.#runningOf(user) < this.#perUser
  }

  #take(user: string): Running {
    const entered = { user, since: performance.now(), leave: new AbortController() }
    this.#running.add(entered)
    const present = new Set([...this.#running, ...this.#waiting].map((other) => other.user))
    this.#turns = [...this.#turns.filter((other) => other !== user && present.has(other)), user]
    return entered
  }

  #runningOf(user: string): number {
    let count = 0
    for (const running of this.#running) if (running.user === user) count++
    return count
  }
}

/** Makes the error of work given up because its caller left, its time was up, or somebody else needs its place. */
export function cancelled({ reason }: { readonly reason?: unknown } = {}): AppError {
  return reason instanceof AppError ? reason : new AppError('unavailable', 'the call was cancelled')
}
