/**
 * The limit on concurrent requests. A request takes a place only when its body is there; until then it may dawdle for a
 * while, and costs nobody a place. Anonymous requests get no more than a share of all places, together and per network, and
 * so does one user: where answers wait for a slow disk, those of others still find a place.
 */
import type { Clock } from '#leaf/clock.ts'
import { PassingMap } from '#leaf/passing-map.ts'
import { LargeBodies } from './large-bodies.ts'

/** A request on its way in, and the way to turn it away. */
export interface ArrivingRequest {
  /** Its user, or its network where that is not known. */
  readonly holder: string
  /** Returns the bytes of its body so far. */
  readonly received: () => number
  readonly turnAway: (status: 408 | 503) => void
}

/** The place of one request. */
export interface TakenPlace {
  /** Called when the user is known. */
  readonly isKnown: (user: string) => void
  readonly leave: () => void
}

interface Dawdling extends ArrivingRequest {
  readonly since: number
}

/** Milliseconds for a body to arrive; a later one must come at least at the average rate below. */
const patience = 10_000
const leastBytesASecond = 1024
const sweepEvery = 1000
/** The most bytes of bodies on their way from one user or network: they are in memory, and may stay there for minutes. */
const mostBytes = 64 << 20

/** The shares of places: of one user, of all anonymous requests together, and of those from one network. */
const userShare = 0.8
const anonymousShare = 0.8
const networkShare = 0.25
const leastShare = 8

/** Whose place it is. */
interface Holder {
  readonly network: string
  readonly user: string | undefined
}

function keyOf({ network, user }: Holder): string {
  return user === undefined ? network : `user ${user}`
}

/** The places of one daemon. */
export class Places {
  readonly largeBodies = new LargeBodies()
  readonly #clock: Clock
  readonly #most: () => number
  readonly #arriving = new PassingMap<object, Dawdling>()
  /** How many each user and each network has. */
  readonly #held = new PassingMap<string, number>()
  #taken = 0
  #takenAnonymously = 0
  readonly #timer: NodeJS.Timeout

  constructor(deps: { clock: Clock; most: () => number }) {
    this.#clock = deps.clock
    this.#most = deps.most
    this.#timer = setInterval(() => this.sweep(), sweepEvery).unref()
  }

  /** True when more than half of the places are free. */
  get isHalfFree(): boolean {
    return this.#taken < this.#most() / 2
  }

  /** Notes that a body begins to arrive. */
  arrive(key: object, request: ArrivingRequest): void {
    this.#arriving.set(key, { ...request, since: this.#clock.now() })
  }

  /** Notes that the body is there, or that nobody waits for it any more. */
  arrived(key: object): void {
    this.#arriving.delete(key)
  }

  /** Takes a place for a user, if known; undefined when there is none. `spare` is the number of taken places that do not count. */
  take(network: string, user: string | undefined, spare: number): TakenPlace | undefined {
    const most = this.#most()
    if (this.#taken - spare >= most || !this.#hasShare(network, user, most)) return undefined
    this.#taken++
    const pass = (to: Holder | undefined): void => {
      if (!holder) return
      this.#count(holder, -1)
      if (to) this.#count(to, 1)
      else this.#taken--
      holder = to
    }
    let holder: Holder | undefined = { network, user }
    this.#count(holder, 1)
    return { isKnown: (known) => pass({ network, user: known }), leave: () => pass(undefined) }
  }

  #hasShare(network: string, user: string | undefined, most: number): boolean {
    const isBelow = (share: number): boolean =>
      (this.#held.get(keyOf({ network, user })) ?? 0) < Math.max(leastShare, Math.ceil(most * share))
    if (user !== undefined) return isBelow(userShare)
    return this.#takenAnonymously < Math.ceil(most * anonymousShare) && isBelow(networkShare)
  }

  #count(holder: Holder, change: 1 | -1): void {
    if (holder.user === undefined) this.#takenAnonymously += change
    const key = keyOf(holder)
    const own = (this.#held.get(key) ?? 0) + change
    if (own === 0) this.#held.delete(key)
    else this.#held.set(key, own)
  }

  /** Turns away dawdling requests, the oldest of which stand first, and those that are too much of one holder. */
  sweep(): void {
    const now = this.#clock.now()
    const bytes = new Map<string, number>()
    for (const [key, { holder, received, turnAway }] of [...this.#arriving].reverse()) {
      const all = (bytes.get(holder) ?? 0) + received()
      bytes.set(holder, all)
      if (all > mostBytes && this.#arriving.delete(key)) turnAway(503)
    }
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
