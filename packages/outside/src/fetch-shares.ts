/** Limits the fetching that strangers may cause: a few at once for a domain and a network, and so many in a minute. */
import type { Clock } from '#leaf/clock.ts'

const atOnce = { all: 16, domain: 2, network: 2 } as const
const aMinute = 30
const minute = 60_000
const hostsKept = 1000

/** An error: nothing was tried, as others of the same domain or network are being fetched, or were a moment ago. */
export class NoShare extends Error {
  override readonly name = 'NoShare'
}

/** The fetches in progress, and the hosts that lately could not be reached. */
export class FetchShares {
  readonly #clock: Clock
  readonly #running = new Map<string, number>()
  readonly #begun = new Map<string, number>()
  readonly #unreachable = new Map<string, number>()
  #all = 0
  #since = 0

  constructor(deps: { clock: Clock }) {
    this.#clock = deps.clock
  }

  /** Takes a share and returns the function that gives it back; throws NoShare. */
  take(host: string, network: string): () => void {
    const now = this.#clock.now()
    if ((this.#unreachable.get(host) ?? 0) > now)
      throw new NoShare('its host could not be reached a moment ago')
    const keys = [`domain ${domainOf(host)}`, `network ${network}`] as const
    const [domain, from] = keys.map((key) => this.#running.get(key) ?? 0) as [number, number]
    if (this.#all >= atOnce.all || domain >= atOnce.domain || from >= atOnce.network)
      throw new NoShare('too many documents are being fetched')
    if (now - this.#since >= minute) {
      this.#begun.clear()
      this.#since = now
    }
    const begun = this.#begun.get(network) ?? 0
    if (begun >= aMinute) throw new NoShare('too many documents were fetched in this minute')
    this.#begun.set(network, begun + 1)
    this.#count(keys, 1)
    return () => this.#count(keys, -1)
  }

  /** Notes that a host could not be reached; nobody need try again for a minute. */
  couldNotReach(host: string): void {
    if (this.#unreachable.size >= hostsKept) this.#unreachable.delete(this.#unreachable.keys().next().value!)
    this.#unreachable.set(host, this.#clock.now() + minute)
  }

  #count(keys: readonly string[], change: 1 | -1): void {
    this.#all += change
    for (const key of keys) {
      const count = (this.#running.get(key) ?? 0) + change
      if (count === 0) this.#running.delete(key)
      else this.#running.set(key, count)
    }
  }
}

/** Guesses the owner of a name by its last two parts; where that is wrong, neighbours share. */
function domainOf(host: string): string {
  return host.split('.').slice(-2).join('.')
}
