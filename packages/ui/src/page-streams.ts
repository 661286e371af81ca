import { AppError } from '#leaf/errors.ts'

/** The most streams of one user: a browser opens no more than six connections to a server. */
const mostOfUser = 4

/** The streams that tell open pages what is new: few for each user, and none outlives the daemon. */
export class PageStreams {
  readonly #open = new Map<AbortController, string>()
  #closed = false

  /** Opens a stream of the user's. AppError `unavailable` when they have too many. */
  open(user: string): AbortController {
    const own = [...this.#open.values()].filter((one) => one === user).length
    if (this.#closed || own >= mostOfUser)
      throw new AppError('unavailable', 'too many pages of yours are watching already', { retryAfter: 60 })
    const stream = new AbortController()
    this.#open.set(stream, user)
    stream.signal.addEventListener('abort', () => this.#open.delete(stream))
    return stream
  }

  /** Ends all of them, and opens no more. */
  close(): void {
    this.#closed = true
    for (const stream of this.#open.keys()) stream.abort()
  }
}
