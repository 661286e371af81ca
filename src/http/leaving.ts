import type { Server, ServerResponse } from 'node:http'

/** How a daemon stops: told at once, served on for a while, and nobody who is being answered is cut. */
export class Leaving {
  readonly #answers = new Set<ServerResponse>()
  #begun = false
  #refuses = false
  #last: (() => void) | undefined

  /** Requests should be sent elsewhere; those that come are served all the same. */
  get begun(): boolean {
    return this.#begun
  }

  /** Requests that begin now are refused. */
  get refuses(): boolean {
    return this.#refuses
  }

  /** An answer that is waited for, on a connection that others may come on while we stay. */
  add(answer: ServerResponse): void {
    if (this.#begun) answer.shouldKeepAlive = false
    this.#answers.add(answer)
  }

  /** It is waited for no more. */
  remove(answer: ServerResponse): void {
    this.#answers.delete(answer)
    if (this.#answers.size === 0) this.#last?.()
  }

  /** From now on every answer ends its connection. */
  begin(): void {
    this.#begun = true
    for (const answer of this.#answers) answer.shouldKeepAlive = false
  }

  /** Lets what runs end, for so long at most; who comes meanwhile hears that it should come again. */
  async end(server: Server, graceMilliseconds: number): Promise<void> {
    this.begin()
    this.#refuses = true
    await new Promise<void>((resolve) => {
      const cut = setTimeout(resolve, graceMilliseconds)
      this.#last = () => {
        clearTimeout(cut)
        resolve()
      }
      if (this.#answers.size === 0) this.#last()
    })
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
}
