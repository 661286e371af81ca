/** Counts when and how often tokens and API keys are used: in memory, written every half minute. */
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import type { Collection, Store } from '#state/store.ts'
import { usageRecords, type UsageRecord } from '../records.ts'

const day = 86_400_000
const flushEvery = 30_000
const daysKept = 30

interface Pending {
  lastUsedAt: number
  from: string
  days: Map<string, number>
}

/** The use of tokens and API keys. */
export class TokenUsage {
  readonly #clock: Clock
  readonly #log: Log
  readonly #store: Store
  readonly #records: Collection<UsageRecord>
  #pending = new Map<string, Pending>()
  /** Today's date, computed once a day. */
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

  /** Counts one use, from a network address. */
  count(id: string, from: string): void {
    const now = this.#clock.now()
    if (now >= this.#tomorrow || now < this.#tomorrow - day) {
      this.#today = new Date(now).toISOString().slice(0, 10)
      this.#tomorrow = (Math.floor(now / day) + 1) * day
    }
    const today = this.#today
    const pending = this.#pending.get(id) ?? { lastUsedAt: now, from, days: new Map<string, number>() }
    pending.lastUsedAt = now
    pending.from = from
    pending.days.set(today, (pending.days.get(today) ?? 0) + 1)
    this.#pending.set(id, pending)
  }

  /** Writes the counts; those that cannot be written are kept for the next time. */
  async flush(): Promise<void> {
    const pending = this.#pending
    this.#pending = new Map()
    if (pending.size === 0) return
    try {
      // In a transaction, as one of several daemons may not overwrite what another counted.
      await this.#store.transaction(async (tx) => {
        const records = tx.in(this.#records)
        for (const [id, uses] of pending) await this.#write(records, id, uses)
      })
    } catch (error) {
      for (const [id, uses] of pending) this.#takeBack(id, uses)
      this.#log.warn('usage could not be written', { error })
    }
  }

  #takeBack(id: string, { lastUsedAt, from, days }: Pending): void {
    const since = this.#pending.get(id)
    const all = new Map(days)
    for (const [date, count] of since?.days ?? []) all.set(date, (all.get(date) ?? 0) + count)
    this.#pending.set(id, { lastUsedAt, from, ...since, days: all })
  }

  async #write(records: Collection<UsageRecord>, id: string, uses: Pending): Promise<void> {
    const known = await records.get(id)
    const days = { ...known?.days }
    for (const [date, count] of uses.days) days[date] = (days[date] ?? 0) + count
    const oldest = new Date(uses.lastUsedAt - daysKept * day).toISOString().slice(0, 10)
    const newer = known && known.lastUsedAt > uses.lastUsedAt ? known : uses
    await records.put({
      id,
      lastUsedAt: newer.lastUsedAt,
      ...(newer.from !== undefined && { from: newer.from }),
      days: Object.fromEntries(Object.entries(days).filter(([date]) => date > oldest)),
      forgetAt: uses.lastUsedAt + 90 * day,
    })
  }

  /** Returns the last use, its address, and the number of calls in the last 30 days, over all the ids given. */
  async of(
    ids: readonly string[],
  ): Promise<{ lastUsedAt?: number; from?: string | undefined; calls: number }> {
    let last: Pick<UsageRecord, 'lastUsedAt' | 'from'> = { lastUsedAt: 0 }
    let calls = 0
    for (const id of ids) {
      const known = await this.#records.get(id)
      const pending = this.#pending.get(id)
      for (const use of [known, pending]) if (use && use.lastUsedAt > last.lastUsedAt) last = use
      for (const count of Object.values(known?.days ?? {})) calls += count
      for (const count of pending?.days.values() ?? []) calls += count
    }
    return { ...(last.lastUsedAt > 0 && { lastUsedAt: last.lastUsedAt, from: last.from }), calls }
  }

  /** Writes the rest and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }
}
