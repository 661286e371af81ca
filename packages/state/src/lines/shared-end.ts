import type { AppError } from '#leaf/errors.ts'
import { inTime } from '#leaf/turns.ts'

/** How long a caller waits for the disk, and what it is told when that was too short. */
export interface Patience {
  readonly milliseconds: number
  readonly late: string
}

/** How a write ends, for all whose entries join it: with promises of its own, each that waits would be moved about by every collection of garbage. */
export class SharedEnd {
  readonly promise: Promise<void>
  #count = 0
  #resolve!: () => void
  #reject!: (error: AppError) => void
  #inTime: Promise<void> | undefined

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // Nobody has to wait.
    this.promise.catch(() => undefined)
  }

  /** The entries that joined. */
  get count(): number {
    return this.#count
  }

  joined(): this {
    this.#count++
    return this
  }

  /** Tells that all of them are on disk. */
  written(): void {
    this.#resolve()
  }

  failed(error: AppError): this {
    this.#reject(error)
    return this
  }

  /** The same end, or AppError `unavailable` when it takes too long for the first who asked. */
  inTime({ milliseconds, late }: Patience): Promise<void> {
    return (this.#inTime ??= inTime(this.promise, milliseconds, late))
  }
}
