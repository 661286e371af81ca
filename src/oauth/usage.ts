/** When and how often tokens and API keys are used: counted in memory, written every half minute. */
import type { Clock } from '../core/clock.ts'
import type { Log } from '../core/log.ts'
import type { Collection, Store } from '../store/store.ts'
import { usageRecords, type UsageRecord } from './records.ts'

const day = 86_400_000
const flushEvery = 30_000
const daysKept = 30

interface Pending {
  lastUsedAt: number
  days: Map<string, number>
}

/** The use of everything that can be presented. */
export class TokenUsage {
  readonly #clock: Clock
  readonly #log: Log
  readonly #store: Store
  readonly #records: Collection<UsageRecord>
  #pending = new Map<string, Pending>()
  /** The date of today, worked out once a day. */
  #today = ''
  #tomorrow = 0
  readonly #timer: NodeJS.Timeout

  constructor(deps: { store: Store; clock: Clock; log: Log }) {
    this.#clock = deps.clock
    this.#log = deps.log
    this.#store = deps.store
    this.#records = deps.store.collection(usageRecords)
    this.#timer = setInterval(() => void this.flush(), flushEvery).unref()
  }

  /** One use. */
  count(id: string): void {
    const now = this.#clock.now()
    if (now >= this.#tomorrow || now < this.#tomorrow - day) {
      this.#today = new Date(now).toISOString().slice(0, 10)
      this.#tomorrow = (Math.floor(now / day) + 1) * day
    }
    const today = this.#today
    const pending = this.#pending.get(id) ?? { lastUsedAt: now, days: new Map<string, number>() }
    pending.lastUsedAt = now
    pending.days.set(today, (pending.days.get(today) ?? 0) + 1)
    this.#pending.set(id, pending)
  }

  /** Writes what was counted; what cannot be written is counted on. */
  async flush(): Promise<void> {
    const pending = this.#pending
    this.#pending = new Map()
    if (pending.size === 0) return
    try {
      // Of several daemons none may overwrite what another counted.
      await this.#store.transaction(async (tx) => {
        const records = tx.in(this.#records)
        for (const [id, uses] of pending) await this.#write(records, id, uses)
      })
    } catch (error) {
      for (const [id, uses] of pending) this.#takeBack(id, uses)
      this.#log.warn('usage could not be written', { error })
    }
  }

  #takeBack(id: string, { lastUsedAt, days }: Pending): void {
    const since = this.#pending.get(id)
    const all = new Map(days)
    for (const [date, count] of since?.days ?? []) all.set(date, (all.get(date) ?? 0) + count)
    this.#pending.set(id, { lastUsedAt: Math.max(lastUsedAt, since?.lastUsedAt ?? 0), days: all })
  }

  async #write(records: Collection<UsageRecord>, id: string, uses: Pending): Promise<void> {
    const known = await records.get(id)
    const days = { ...known?.days }
    for (const [date, count] of uses.days) days[date] = (days[date] ?? 0) + count
    const oldest = new Date(uses.lastUsedAt - daysKept * day).toISOString().slice(0, 10)
    await records.put({
      id,
      lastUsedAt: Math.max(uses.lastUsedAt, known?.lastUsedAt ?? 0),
      days: Object.fromEntries(Object.entries(days).filter(([date]) => date > oldest)),
      forgetAt: uses.lastUsedAt + 90 * day,
    })
  }

  /** Last use and number of calls in the last 30 days, over all the ids given. */
  async of(ids: readonly string[]): Promise<{ lastUsedAt?: number; calls: number }> {
    let lastUsedAt = 0
    let calls = 0
    for (const id of ids) {
      const known = await this.#records.get(id)
      const pending = this.#pending.get(id)
      lastUsedAt = Math.max(lastUsedAt, known?.lastUsedAt ?? 0, pending?.lastUsedAt ?? 0)
      for (const count of Object.values(known?.days ?? {})) calls += count
      for (const count of pending?.days.values() ?? []) calls += count
    }
    return { ...(lastUsedAt > 0 && { lastUsedAt }), calls }
  }

  /** Writes the rest and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }
}
