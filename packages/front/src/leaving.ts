import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { PassingMap } from '#leaf/passing-map.ts'

/** The time in which a request must follow its connection when nothing else is waited for. */
const unreadMilliseconds = 250

/** Graceful shutdown: clients are told at once and served on for a while, and running answers are not cut off. */
export class Leaving {
  readonly #answers = new PassingMap<ServerResponse, true>()
  readonly #sockets = new Set<Socket>()
  #begun = false
  #refuses = false
  #last: (() => void) | undefined

  /** Notes who connects to a server, whose end is told to `end`. */
  watch(server: Server): void {
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** True when requests should be sent elsewhere; those that come are still served. */
  get begun(): boolean {
    return this.#begun
  }

  /** True when new requests are refused. */
  get refuses(): boolean {
    return this.#refuses
  }

  /** Adds an answer to wait for; its connection is kept alive unless we are leaving. */
  add(answer: ServerResponse): void {
    if (this.#begun) answer.shouldKeepAlive = false
    this.#answers.set(answer, true)
  }

  /** Removes an answer that is no longer waited for. */
  remove(answer: ServerResponse): void {
    this.#answers.delete(answer)
    if (this.#answers.size === 0) this.#last?.()
  }

  /** Begins to leave: from now on every answer ends its connection. */
  begin(): void {
    this.#begun = true
    for (const answer of this.#answers.keys()) answer.shouldKeepAlive = false
  }

  /**
   * Lets running requests end, for the grace period at most, and then closes.
   * Whoever connects meanwhile is told to retry; where the socket is handed on to the next process (systemd's), he waits for it.
   */
  async end(server: Server, graceMilliseconds: number, { handedOn = false } = {}): Promise<void> {
    this.begin()
    this.#refuses = !handedOn
    const cut = AbortSignal.timeout(graceMilliseconds)
    const closed = new Promise<void>((resolve) => server.once('close', resolve))
    if (handedOn) acceptNobody(server)
    await this.#answered(cut)
    acceptNobody(server)
    for (let waited = 0; waited < unreadMilliseconds && !cut.aborted && this.#isUnread(); waited += 10) {
      await setTimeout(10)
      await this.#answered(cut)
    }
    server.close()
    server.closeAllConnections()
    await closed
  }

  /** True while somebody has connected of whom nothing was read yet. */
  #isUnread(): boolean {
    return [...this.#sockets].some(({ bytesRead }) => bytesRead === 0)
  }

  /** Resolves when no answer is left to wait for, or at the cut. */
  #answered(cut: AbortSignal): Promise<void> {
    if (this.#answers.size === 0 || cut.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      this.#last = resolve
      cut.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

/** Closes the listening socket alone: `close` of an HTTP server also cuts who has connected and said nothing yet (Node 26). */
function acceptNobody(server: Server): void {
  NetServer.prototype.close.call(server)
}
