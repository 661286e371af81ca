import type { Clock } from '#leaf/clock.ts'
import type { Collection, Store, Stored } from '#state/store.ts'

/** The number of uses of a prompt or skill, and the time of the last (milliseconds since the epoch). */
export interface Use {
  readonly count: number
  readonly last?: number
}

interface StoredUse extends Stored {
  readonly count: number
  readonly last: number
}

/** The kinds of use that are counted: `prompts/get` of a prompt, reading of a skill. */
export type Used = 'prompt' | 'skill'

const flushDelay = 1_000

/**
 * Counts `use_count` and `last_used` (specification §2.6). They are kept in the state, never in git, and written
 * together once a second, so that counting costs a request nothing.
 */
export class LibraryUsage {
  readonly #stored: Collection<StoredUse>
  readonly #store: Store
  readonly #clock: Clock
  #pending = new Map<string, { count: number; last: number }>()
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#stored = store.collection<StoredUse>({ name: 'library.use' })
  }

  /** The present time, of which prompts are rendered too. */
  get now(): number {
    return this.#clock.now()
  }

  /** Counts one use; it is visible at once and written within a second. */
  count(what: Used, name: string): void {
    const id = `${what}/${name}`
    const before = this.#pending.get(id)?.count ?? 0
    this.#pending.set(id, { count: before + 1, last: this.#clock.now() })
    if (this.#timer) return
    this.#timer = setTimeout(() => {
      this.flush().catch(() => {
        // The counts stay in `pending`, so the next use tries again; a state that cannot be written reports it itself.
      })
    }, flushDelay)
    this.#timer.unref()
  }

  /** Returns the uses of one prompt or skill. */
  async of(what: Used, name: string): Promise<Use> {
    await this.#writing.catch(() => undefined)
    const id = `${what}/${name}`
    return together(await this.#stored.get(id), this.#pending.get(id))
  }

  /** Returns the uses of everything of a kind that was ever used, by name. */
  async all(what: Used): Promise<ReadonlyMap<string, Use>> {
    await this.#writing.catch(() => undefined)
    const uses = new Map<string, Use>()
    const name = (id: string): string | undefined =>
      id.startsWith(`${what}/`) ? id.slice(what.length + 1) : undefined
    for (const stored of await this.#stored.find()) {
      const of = name(stored.id)
      if (of !== undefined) uses.set(of, together(stored, this.#pending.get(stored.id)))
    }
    for (const [id, pending] of this.#pending) {
      const of = name(id)
      if (of !== undefined && !uses.has(of)) uses.set(of, together(undefined, pending))
    }
    return uses
  }

  /** Writes the pending counts; to be called before the state is closed. */
  flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const counted = this.#pending
    if (counted.size === 0) return
    this.#pending = new Map()
    try {
      await this.#store.transaction(async (transaction) => {
        const stored = transaction.in(this.#stored)
        for (const [id, { count, last }] of counted) {
          const before = await stored.get(id)
          await stored.put({
            id,
            count: (before?.count ?? 0) + count,
            last: Math.max(last, before?.last ?? 0),
          })
        }
      })
    } catch (error) {
      for (const [id, { count, last }] of counted) {
        const since = this.#pending.get(id)
        this.#pending.set(id, { count: count + (since?.count ?? 0), last: since?.last ?? last })
      }
      throw error
    }
  }
}

function together(stored: StoredUse | undefined, pending: { count: number; last: number } | undefined): Use {
  const last = pending?.last ?? stored?.last
  return { count: (stored?.count ?? 0) + (pending?.count ?? 0), ...(last !== undefined && { last }) }
}
