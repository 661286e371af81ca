/**
 * Room for requests. One takes a place only when its body is there; until then it may dawdle for a while, and costs
 * nobody a place. What nobody has signed in for gets no more than its share, of all places and of those of its network.
 */
import type { Clock } from '../core/clock.ts'

/** A request on its way in, and how it is turned away. */
export interface ArrivingRequest {
  /** Bytes of its body so far. */
  readonly received: () => number
  readonly turnAway: (status: 408) => void
}

/** One request's place. */
export interface TakenPlace {
  /** It turned out who asks. */
  readonly isKnown: () => void
  readonly leave: () => void
}

interface Dawdling extends ArrivingRequest {
  readonly since: number
}

/** A body is there after this time, or comes at least so fast on the average. */
const patience = 10_000
const leastBytesASecond = 1024
const sweepEvery = 1000

/** How many places what has no token may take: together, and from one network. */
const anonymousShare = 0.8
const networkShare = 0.25
const leastShare = 8

/** The places of one daemon. */
export class Places {
  readonly #clock: Clock
  readonly #most: () => number
  readonly #arriving = new Map<object, Dawdling>()
  readonly #anonymous = new Map<string, number>()
  #taken = 0
  #takenAnonymously = 0
  readonly #timer: NodeJS.Timeout

  constructor(deps: { clock: Clock; most: () => number }) {
    this.#clock = deps.clock
    this.#most = deps.most
    this.#timer = setInterval(() => this.sweep(), sweepEvery).unref()
  }

  /** Whether half of them are free. */
  get isHalfFree(): boolean {
    return this.#taken < this.#most() / 2
  }

  /** A body begins to come. */
  arrive(key: object, { received, turnAway }: ArrivingRequest): void {
    this.#arriving.set(key, { received, turnAway, since: this.#clock.now() })
  }

  /** The body is there, or nobody waits for it any more. */
  arrived(key: object): void {
    this.#arriving.delete(key)
  }

  /** A place; undefined when there is none. `spare` are those that do not count. */
  take(network: string, known: boolean, spare: number): TakenPlace | undefined {
    const most = this.#most()
    if (this.#taken - spare >= most || (!known && !this.#hasShare(network, most))) return undefined
    this.#taken++
    if (!known) this.#count(network, 1)
    let state: 'anonymous' | 'known' | 'left' = known ? 'known' : 'anonymous'
    const become = (next: 'known' | 'left'): void => {
      if (state === 'left') return
      if (state === 'anonymous') this.#count(network, -1)
      if (next === 'left') this.#taken--
      state = next
    }
    return { isKnown: () => become('known'), leave: () => become('left') }
  }

  #hasShare(network: string, most: number): boolean {
    const own = this.#anonymous.get(network) ?? 0
    return (
      this.#takenAnonymously < Math.ceil(most * anonymousShare) &&
      own < Math.max(leastShare, Math.ceil(most * networkShare))
    )
  }

  #count(network: string, change: 1 | -1): void {
    this.#takenAnonymously += change
    const own = (this.#anonymous.get(network) ?? 0) + change
    if (own === 0) this.#anonymous.delete(network)
    else this.#anonymous.set(network, own)
  }

  /** Turns away what dawdles; the oldest stand first. */
  sweep(): void {
    const now = this.#clock.now()
    for (const [key, dawdling] of this.#arriving) {
      const age = now - dawdling.since
      if (age <= patience) return
      if (dawdling.received() >= (age / 1000) * leastBytesASecond) continue
      this.#arriving.delete(key)
      dawdling.turnAway(408)
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
