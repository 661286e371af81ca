/** Decides the retention in force: a lower one only a day after it was announced, so that nobody thins the log unseen. */
import { isoTime } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import type { AuditEvent } from '../audit.ts'
import type { Retention } from './removal.ts'

const noticeMilliseconds = 86_400_000

/** The retention in force for one log, and the one announced. */
interface KeptRetention extends Stored, Retention {
  readonly coming?: Retention & { readonly from: number }
}

/** Keeps the retention of one log in its state, over any number of starts. */
export class Keeping {
  readonly #kept: Collection<KeptRetention>
  readonly #name: string
  readonly #store: Store
  readonly #log: Log
  readonly #tell: (event: AuditEvent) => Promise<void>
  #known: KeptRetention | undefined

  /** Sets up the retention of one log: daemons that share a database may differ for a while; `name` tells them apart. */
  constructor(store: Store, name: string, log: Log, tell: (event: AuditEvent) => Promise<void>) {
    this.#kept = store.collection<KeptRetention>({ name: 'audit.retention' })
    this.#store = store
    this.#name = name
    this.#log = log
    this.#tell = tell
  }

  /** The announced retention, for people. */
  get coming(): string | undefined {
    const coming = this.#known?.coming
    return (
      coming &&
      `from ${isoTime(coming.from)} on the log is kept ${textOf(coming)}; until then ${textOf(this.#known!)}`
    )
  }

  /** Returns the retention in force: the settings, except for what they lower. */
  async obey({ retention_days, max_total_bytes }: Retention): Promise<Retention> {
    const wanted = { retention_days, max_total_bytes }
    const all = await this.#kept.find()
    const known = all.find(({ id }) => id === this.#name)
    // A daemon that comes to share a log keeps what those before it kept.
    const before = known ?? all.reduce<Retention>(higher, wanted)
    const raised = higher(before, wanted)
    const now = this.#store.believed.now()
    let next: KeptRetention = { id: this.#name, ...raised }
    if (!isSame(raised, wanted)) {
      const { coming } = known ?? {}
      const isKnown = coming !== undefined && isSame(higher(coming, wanted), wanted)
      const from = isKnown ? coming.from : now + noticeMilliseconds
      next = from <= now ? { id: this.#name, ...wanted } : { ...next, coming: { ...wanted, from } }
    }
    if (!known || !isSame(known, next) || !isSame(known.coming, next.coming)) await this.#change(known, next)
    this.#known = next
    return next
  }

  async #change(known: KeptRetention | undefined, next: KeptRetention): Promise<void> {
    const { retention_days, max_total_bytes, coming } = next
    const data = { retention_days, max_total_bytes, ...(coming && { coming }) }
    if (known || coming) {
      // Recorded before it takes effect.
      await this.#tell({ type: 'audit.retention', status: 'ok', user: 'system', data })
      this.#log.warn('how long the audit log is kept changes', data)
    }
    await this.#kept.put(next)
  }
}

function higher(one: Retention, other: Retention): Retention {
  const most = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : Math.max(a, b))
  return {
    retention_days: most(one.retention_days, other.retention_days),
    max_total_bytes: most(one.max_total_bytes, other.max_total_bytes),
  }
}

function isSame(one: Retention | undefined, other: Retention | undefined): boolean {
  return one?.retention_days === other?.retention_days && one?.max_total_bytes === other?.max_total_bytes
}

function textOf({ retention_days: days, max_total_bytes: bytes }: Retention): string {
  const size = bytes === 0 ? 'however large it is' : `in at most ${bytes} bytes`
  return `${days === 0 ? 'for ever' : `for ${days} days`}, ${size}`
}
