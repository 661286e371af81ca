/**
 * Room for connections. While there is some, whoever comes gets in. When all is taken, the oldest gives way of whoever
 * holds most: of the users one, or all together on whose connections nobody has signed in. While there is hardly any
 * time left, a network that opens very many a second is hung up on: each costs as much as a small request.
 */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { performance, type EventLoopUtilization } from 'node:perf_hooks'
import { clientAddress, networkKey, type Networks } from '../core/address.ts'
import type { Clock } from '../core/clock.ts'

/** Connections for each place of a request. */
const aPlace = 10
const mostASecond = 1000
/** The share of a second's time from which on there is hardly any left. */
const busy = 0.9
/** Who holds what nobody has signed in on; no user is called that. */
const nobody = ''

/** The connections of one daemon. What comes through a trusted proxy is the proxy's to bound. */
export class HeldConnections {
  readonly #clock: Clock
  readonly #most: () => number
  readonly #trusted: () => Networks
  readonly #tell: (fields: { address: string }) => void
  readonly #holder = new Map<Socket, string>()
  /** The oldest of each stands first. */
  readonly #held = new Map<string, Set<Socket>>()
  readonly #utilization: typeof performance.eventLoopUtilization
  #second = 0
  #since: EventLoopUtilization | undefined
  /** How many came from each network in that second. */
  readonly #came = new Map<string, number>()

  /** `tell` hears of the addresses that were hung up on. */
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

  /** Takes in a connection; false when it is to be hung up on. */
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

  /** It turned out for whom whoever is at its other end works. */
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

/** How many files this process may have open, its connections among them, where the system tells (proc(5)). */
function filesAllowed(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Infinity)
  } catch {
    return Infinity
  }
}
