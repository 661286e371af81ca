/**
 * Request budgets, one per kind of endpoint (specification §8); a request over budget gets 429 and `Retry-After`. Budgets are
 * kept in memory, and daemons on one state tell each other every second what was taken from them.
 */
import { createRequire } from 'node:module'
import type { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { networkKey, networksOf, type Networks } from '#leaf/address.ts'
import { randomId, sha256 } from '#leaf/secrets.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import type { Soon } from '#leaf/soon.ts'
import type { Store } from '#state/store.ts'
import { announce, hear } from '../core/announcements.ts'
import { OAuthError } from './protocol.ts'

const require = createRequire(import.meta.url)
// The package's own entry loads clients for a dozen databases.
const Limiter = require('rate-limiter-flexible/lib/RateLimiterMemory.js') as typeof RateLimiterMemory
const Refusal = require('rate-limiter-flexible/lib/RateLimiterRes.js') as typeof RateLimiterRes

const toldEvery = 1_000
const millisecondsOfPoint = 10
/** The number of entries that fit into one announcement. */
const toldAtOnce = 80

/** The kinds of requests that have a budget of their own. */
export type Budget = 'mcp' | 'preview' | 'write' | 'token' | 'register' | 'authorize'

/** The requester whose budget a request is taken from. */
export interface Requester {
  readonly address: string
  /** The key under which the budget is counted; the address when absent. */
  readonly key?: string
  /** Widens the budget, for an address that many clients share. */
  readonly times?: number
}

/** The number of requests of each kind that passed, and that were refused. */
export type LimitCounts = Readonly<Record<Budget, { readonly passed: number; readonly refused: number }>>

/** All budgets. They follow the settings: a changed budget starts anew. */
export class RateLimits {
  readonly #settings: () => Settings
  readonly #store: Store | undefined
  readonly #self = randomId()
  /** Points taken here since the others were told, by budget and digest of the requester's key. */
  readonly #taken = new Map<string, number>()
  #telling = false
  readonly #limiters = new Map<string, { limiter: RateLimiterMemory; points: number; seconds: number }>()
  #exempt: { texts: Settings['rate_limits']['exempt_addresses']; networks: Networks } | undefined
  readonly #counts: Record<Budget, { passed: number; refused: number }> = {
    mcp: { passed: 0, refused: 0 },
    preview: { passed: 0, refused: 0 },
    write: { passed: 0, refused: 0 },
    token: { passed: 0, refused: 0 },
    register: { passed: 0, refused: 0 },
    authorize: { passed: 0, refused: 0 },
  }

  constructor(deps: { settings: () => Settings; store: Store }) {
    this.#settings = deps.settings
    // An embedded state has one daemon.
    this.#store = deps.store.stats().kind === 'postgres' ? deps.store : undefined
    if (this.#store) hear(this.#store, 'limits', (text) => this.#hear(text))
  }

  /** Takes one request from a budget; OAuthError 429 with `Retry-After` when it is used up. */
  async take(budget: Budget, from: Requester): Promise<void> {
    const wait = await this.secondsToWait(budget, from)
    if (wait === 0) return
    throw new OAuthError('temporarily_unavailable', `too many requests; try again in ${wait} seconds`, {
      status: 429,
      headers: { 'Retry-After': String(wait) },
    })
  }

  /** Takes one request like `take`, but returns the seconds to wait: 0 when the request may go on. */
  secondsToWait(budget: Budget, from: Requester): Soon<number> {
    const { enabled } = this.#settings().rate_limits
    return !enabled || this.#isExempt(from.address) ? 0 : this.#consume(budget, from)
  }

  async #consume(budget: Budget, from: Requester): Promise<number> {
    const key = sha256(from.key ?? networkKey(from.address))
    const times = from.times ?? 1
    this.#note(`${budget} ${times} ${key}`)
    try {
      await this.#limiter(budget, times).consume(key)
      this.#counts[budget].passed++
      return 0
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      this.#counts[budget].refused++
      return Math.max(1, Math.ceil(error.msBeforeNext / 1000))
    }
  }

  /** Takes the extra cost of a request from a budget: a point for each ten milliseconds of the service's one thread. */
  pay(budget: Budget, from: Requester, milliseconds: number): void {
    const points = Math.round(milliseconds / millisecondsOfPoint)
    if (points === 0 || !this.#settings().rate_limits.enabled || this.#isExempt(from.address)) return
    const key = sha256(from.key ?? networkKey(from.address))
    const times = from.times ?? 1
    this.#note(`${budget} ${times} ${key}`, points)
    void this.#limiter(budget, times).penalty(key, points)
  }

  #note(taken: string, points = 1): void {
    if (!this.#store) return
    this.#taken.set(taken, (this.#taken.get(taken) ?? 0) + points)
    if (this.#telling) return
    this.#telling = true
    setTimeout(() => void this.#tell(), toldEvery).unref()
  }

  async #tell(): Promise<void> {
    this.#telling = false
    const all = [...this.#taken].map(([taken, points]) => `${taken} ${points}`)
    this.#taken.clear()
    const portions = Array.from({ length: Math.ceil(all.length / toldAtOnce) }, (_, n) =>
      all.slice(n * toldAtOnce, (n + 1) * toldAtOnce),
    )
    // An announcement that fails is forgotten: while the state is away, each daemon limits by itself.
    await this.#store
      ?.transaction(async (transaction) => {
        for (const portion of portions) announce(transaction, 'limits', [this.#self, ...portion].join('\n'))
      })
      .catch(() => undefined)
  }

  #hear(text: string): void {
    const [from, ...taken] = text.split('\n')
    if (from === this.#self) return
    for (const line of taken) {
      const [budget = '', times, key = '', points] = line.split(' ')
      if (!(budget in this.#counts) || !(Number(times) > 0) || !(Number(points) > 0)) continue
      void this.#limiter(budget as Budget, Number(times)).penalty(key, Number(points))
    }
  }

  #limiter(budget: Budget, times: number): RateLimiterMemory {
    const { seconds, points: once } = this.#settings().rate_limits[budget]
    const [name, points] = [`${budget} ${times}`, once * times]
    const known = this.#limiters.get(name)
    if (known?.points === points && known.seconds === seconds) return known.limiter
    const limiter = new Limiter({ points, duration: seconds })
    this.#limiters.set(name, { limiter, points, seconds })
    return limiter
  }

  #isExempt(address: string): boolean {
    const texts = this.#settings().rate_limits.exempt_addresses
    if (this.#exempt?.texts !== texts) this.#exempt = { texts, networks: networksOf(linesOf(texts)) }
    return this.#exempt.networks.contains(address)
  }

  /** Returns the counts for metrics. */
  counts(): LimitCounts {
    return structuredClone(this.#counts)
  }
}
