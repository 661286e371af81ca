/** The running calls, so that `notifications/cancelled` and a revocation can end them; and log levels. */
import { Cancelled } from '#leaf/errors.ts'
import { PassingMap } from '#leaf/passing-map.ts'
import { type Audit, eventOf } from '#audit/audit.ts'
import { announce, hear } from '../core/announcements.ts'
import type { Principal } from '../core/principal.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Stop } from '#leaf/stop.ts'
import type { Store } from '#state/store.ts'
import { type McpLogLevel, peerOf } from './call.ts'
import type { RequestId } from './json-rpc.ts'

/** The number of peers whose log level is remembered; a client that was forgotten may set it again. */
const maxLevels = 1000

/** A request whose body is still on its way. */
interface Arriving {
  readonly principal: Principal
  isOver: boolean
}

/** The running calls, by peer, session id and request id. */
export class RunningCalls {
  readonly #store: Store
  readonly #audit: Audit
  readonly #calls = new PassingMap<string, PassingMap<Stop, Principal>>()
  readonly #arriving = new PassingMap<Arriving, true>()

  constructor(store: Store, audit: Audit) {
    this.#store = store
    this.#audit = audit
    hear(store, 'cancel', (digest) => {
      // The digest is announced, since the names of conversations, which clients choose, may be too long for an announcement.
      for (const key of this.#calls.keys()) if (sha256(key) === digest) this.#cancel(key)
    })
  }

  /** Counts a call as running until the returned function is called. */
  add(principal: Principal, id: RequestId, stop: Stop): () => void {
    const key = keyOf(principal, id)
    const calls = this.#calls.get(key) ?? new PassingMap<Stop, Principal>()
    calls.set(stop, principal)
    this.#calls.set(key, calls)
    return () => {
      calls.delete(stop)
      if (calls.size === 0) this.#calls.delete(key)
    }
  }

  /** Waits for the body of a request; undefined, and audited, if the right to send it has ended meanwhile, or no longer `holds`. */
  async arrival<Body>(
    principal: Principal,
    body: Promise<Body>,
    holds?: () => Promise<boolean>,
  ): Promise<Body | undefined> {
    const one: Arriving = { principal, isOver: false }
    this.#arriving.set(one, true)
    try {
      const whole = await body
      if ((holds === undefined || (await holds())) && !one.isOver) return whole
    } finally {
      this.#arriving.delete(one)
    }
    const error = 'the access ended before the request had arrived'
    await this.#audit.record(eventOf(principal, { type: 'request.refuse', status: 'denied', error }))
    return undefined
  }

  /** Returns the principals of the running calls, and of those that are arriving. */
  principals(): readonly Principal[] {
    const arriving = [...this.#arriving.keys()].map(({ principal }) => principal)
    return [...this.#calls.values()].flatMap((calls) => [...calls.values()]).concat(arriving)
  }

  /** Ends every call that the test picks, as its right to run has ended. */
  endWhere(test: (principal: Principal) => boolean): void {
    for (const one of this.#arriving.keys()) one.isOver ||= test(one.principal)
    for (const calls of this.#calls.values())
      for (const [stop, principal] of calls)
        if (test(principal)) stop.end(new Error('the call may not go on'))
  }

  /** Cancels a call, in this daemon or in the one that runs it. */
  async cancel(principal: Principal, id: unknown): Promise<void> {
    if (typeof id !== 'string' && typeof id !== 'number') return
    const key = keyOf(principal, id)
    if (this.#calls.has(key)) this.#cancel(key)
    else await this.#store.transaction(async (transaction) => announce(transaction, 'cancel', sha256(key)))
  }

  /** Cancels a call, unless two processes of one client use the same id at once: then it is not known which is meant. */
  #cancel(key: string): void {
    const calls = this.#calls.get(key)
    if (calls?.size === 1) for (const stop of calls.keys()) stop.end(new Cancelled())
  }
}

/** The log levels set by `logging/setLevel`, for the latest thousand conversations; nothing depends on them. */
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
