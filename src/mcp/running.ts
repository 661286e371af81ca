/** The calls that run just now, so that `notifications/cancelled` and a revocation can end them; and log levels. */
import { Cancelled } from '../core/errors.ts'
import type { Principal } from '../core/principal.ts'
import { sha256 } from '../core/secrets.ts'
import type { Stop } from '../core/stop.ts'
import type { Store } from '../store/store.ts'
import { type McpLogLevel, peerOf } from './call.ts'
import type { RequestId } from './json-rpc.ts'

/** Peers whose log level is remembered; asking again is harmless. */
const maxLevels = 1000
const topic = 'mcp.cancel '

/** What is running, by peer, session id and request id. */
export class RunningCalls {
  readonly #store: Store
  readonly #calls = new Map<string, Map<Stop, Principal>>()

  constructor(store: Store) {
    this.#store = store
    store.hear((message) => {
      if (!message?.startsWith(topic)) return
      const digest = message.slice(topic.length)
      // Other daemons are not told the names of conversations.
      for (const key of this.#calls.keys()) if (sha256(key) === digest) this.#cancel(key)
    })
  }

  /** Counts a call as running until the returned function is called. */
  add(principal: Principal, id: RequestId, stop: Stop): () => void {
    const key = keyOf(principal, id)
    const calls = this.#calls.get(key) ?? new Map<Stop, Principal>()
    this.#calls.set(key, calls.set(stop, principal))
    return () => {
      calls.delete(stop)
      if (calls.size === 0) this.#calls.delete(key)
    }
  }

  /** Ends every call whose right to run has ended. */
  endWhere(test: (principal: Principal) => boolean): void {
    for (const calls of this.#calls.values())
      for (const [stop, principal] of calls)
        if (test(principal)) stop.end(new Error('the call may not go on'))
  }

  /** Cancels a call, here or at the daemon that runs it. */
  async cancel(principal: Principal, id: unknown): Promise<void> {
    if (typeof id !== 'string' && typeof id !== 'number') return
    const key = keyOf(principal, id)
    if (this.#calls.has(key)) this.#cancel(key)
    else await this.#store.transaction(async (transaction) => transaction.announce(topic + sha256(key)))
  }

  /** Two processes of one client may use the same id at once: then it is not known which is meant. */
  #cancel(key: string): void {
    const calls = this.#calls.get(key)
    if (calls?.size === 1) for (const stop of calls.keys()) stop.end(new Cancelled())
  }
}

/** What `logging/setLevel` asked for, for the latest thousand conversations; nothing depends on it. */
export class LogLevels {
  readonly #levels = new Map<string, McpLogLevel>()

  set(principal: Principal, level: McpLogLevel): void {
    const key = keyOf(principal, '')
    this.#levels.delete(key)
    this.#levels.set(key, level)
    for (const oldest of this.#levels.keys()) {
      if (this.#levels.size <= maxLevels) break
      this.#levels.delete(oldest)
    }
  }

  get(principal: Principal): McpLogLevel | undefined {
    return this.#levels.size === 0 ? undefined : this.#levels.get(keyOf(principal, ''))
  }
}

function keyOf(principal: Principal, id: RequestId): string {
  return `${peerOf(principal)}\n${principal.sessionId ?? ''}\n${typeof id} ${id}`
}
