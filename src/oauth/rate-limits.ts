/** Request budgets in memory, one per kind of endpoint (specification §8); what is over gets 429 and `Retry-After`. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { networkKey, networksOf, type Networks } from '../core/address.ts'
import { linesOf, type Settings } from '../core/settings.ts'
import { OAuthError } from './protocol.ts'

/** The kinds of requests that have a budget of their own. */
export type Budget = 'mcp' | 'preview' | 'token' | 'register' | 'authorize'

/** Whose budget a request is taken from. */
export interface Requester {
  readonly address: string
  /** What the budget is counted for; the address when absent. */
  readonly key?: string
  /** Widens the budget, for an address that many clients share. */
  readonly times?: number
}

/** How many requests of each kind passed and did not. */
export type LimitCounts = Readonly<Record<Budget, { readonly passed: number; readonly refused: number }>>

/** All budgets. They follow the settings: a changed budget starts anew. */
export class RateLimits {
  readonly #settings: () => Settings
  readonly #limiters = new Map<string, { limiter: RateLimiterMemory; points: number; seconds: number }>()
  #exempt: { texts: Settings['rate_limits']['exempt_addresses']; networks: Networks } | undefined
  readonly #counts: Record<Budget, { passed: number; refused: number }> = {
    mcp: { passed: 0, refused: 0 },
    preview: { passed: 0, refused: 0 },
    token: { passed: 0, refused: 0 },
    register: { passed: 0, refused: 0 },
    authorize: { passed: 0, refused: 0 },
  }

  constructor(deps: { settings: () => Settings }) {
    this.#settings = deps.settings
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

  /** The same, answering the seconds to wait instead: 0 when the request may go on. */
  async secondsToWait(budget: Budget, from: Requester): Promise<number> {
    const limits = this.#settings().rate_limits
    if (!limits.enabled || this.#isExempt(from.address)) return 0
    const { seconds } = limits[budget]
    const points = limits[budget].points * (from.times ?? 1)
    try {
      await this.#limiter(`${budget} ${from.times ?? 1}`, points, seconds).consume(
        from.key ?? networkKey(from.address),
      )
      this.#counts[budget].passed++
      return 0
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error
      this.#counts[budget].refused++
      return Math.max(1, Math.ceil(error.msBeforeNext / 1000))
    }
  }

  #limiter(name: string, points: number, seconds: number): RateLimiterMemory {
    const known = this.#limiters.get(name)
    if (known?.points === points && known.seconds === seconds) return known.limiter
    const limiter = new RateLimiterMemory({ points, duration: seconds })
    this.#limiters.set(name, { limiter, points, seconds })
    return limiter
  }

  #isExempt(address: string): boolean {
    const texts = this.#settings().rate_limits.exempt_addresses
    if (this.#exempt?.texts !== texts) this.#exempt = { texts, networks: networksOf(linesOf(texts)) }
    return this.#exempt.networks.contains(address)
  }

  /** For metrics. */
  counts(): LimitCounts {
    return structuredClone(this.#counts)
  }
}
