/**
 * The limit on connections. While there is room, every connection is admitted. When all is taken, the oldest connection of
 * the largest holder is closed: holders are each user, and all connections together on which nobody has signed in. While
 * the thread is nearly saturated, a network that opens very many a second is hung up on: each costs as much as a small request.
 */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { performance, type EventLoopUtilization } from 'node:perf_hooks'
import { clientAddress, networkKey, type Networks } from '#leaf/address.ts'
import type { Clock } from '#leaf/clock.ts'

/** The connections allowed for each place of a request. */
const aPlace = 10
const mostASecond = 1000
/** The event loop's utilization in a second from which the thread counts as saturated. */
const busy = 0.9
/** The holder of connections on which nobody has signed in; no user is called that. */
const nobody = ''

/** The connections of one daemon. Those through a trusted proxy are for the proxy to limit. */
export class HeldConnections {
  readonly #clock: Clock
  readonly #most: () => number
  readonly #trusted: () => Networks
  readonly #tell: (fields: { address: string }) => void
  readonly #holder = new Map<Socket, string>()
  /** The connections by holder, the oldest first. */
  readonly #held = new Map<string, Set<Socket>>()
  readonly #utilization: typeof performance.eventLoopUtilization
  #second = 0
  #since: EventLoopUtilization | undefined
  /** The number that came from each network in that second. */
  readonly #came = new Map<string, number>()

  /** `tell` is called with the addresses that were hung up on. */
  constructor(deps: {
    clock: Clock
    places: () => number
    trusted: () => Networks
    tell: (fields: { address: string }) => void
    utilization?: typeof performance.eventLoopUtilization
  }) {
    const allowed = filesAllowed()
    this.#clock = deps.clock
    this.#most = () => Math.min(deps.places() * aPlace, allowed / 2)
    this.#utilization = deps.utilization ?? ((since) => performance.eventLoopUtilization(since))
    this.#trusted = deps.trusted
    this.#tell = deps.tell
  }

  /** Admits a connection; false when it is to be hung up on. */
  admit(socket: Socket): boolean {
    const address = clientAddress(socket.remoteAddress ?? '', undefined, this.#trusted())
    if (this.#trusted().contains(address)) return true
    const isFull = this.#holder.size >= this.#most()
    if (this.#count(networkKey(address)) > mostASecond && (isFull || this.#isBusy)) {
      this.#tell({ address })
      return false
    }
    if (isFull) this.#giveUp()
    this.#hold(socket, nobody)
    socket.once('close', () => this.#letGo(socket))
    return true
  }

  /** Records the user of a connection, once known. */
  know(socket: Socket, user: string): void {
    const holder = this.#holder.get(socket)
    if (holder === undefined || holder === user) return
    this.#letGo(socket)
    this.#hold(socket, user)
  }

  #count(network: string): number {
    const second = Math.floor(this.#clock.now() / 1000)
    if (second !== this.#second) {
      this.#came.clear()
      this.#second = second
      this.#since = this.#utilization()
    }
    const came = (this.#came.get(network) ?? 0) + 1
    this.#came.set(network, came)
    return came
  }

  get #isBusy(): boolean {
    return this.#utilization(this.#since).utilization > busy
  }

  #hold(socket: Socket, holder: string): void {
    this.#holder.set(socket, holder)
    const held = this.#held.get(holder)
    if (held) held.add(socket)
    else this.#held.set(holder, new Set([socket]))
  }

  #letGo(socket: Socket): void {
    const holder = this.#holder.get(socket)
    if (holder === undefined) return
    this.#holder.delete(socket)
    const held = this.#held.get(holder)!
    held.delete(socket)
    if (held.size === 0) this.#held.delete(holder)
  }

  #giveUp(): void {
    let most = new Set<Socket>()
    for (const held of this.#held.values()) if (held.size > most.size) most = held
    const [oldest] = most
    if (!oldest) return
    this.#tell({ address: oldest.remoteAddress ?? '' })
    this.#letGo(oldest)
    oldest.destroy()
  }
}

/** Returns the limit of open files of this process, connections included, where the system tells (proc(5)). */
function filesAllowed(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Infinity)
  } catch {
    return Infinity
  }
}
