/** What the store knows of the log: under one name, and where nothing that is done to the log's folder reaches it. */
import type { Log } from '../core/log.ts'
import type { Collection, Store, Stored } from '../store/store.ts'

/** A line of the log that is known to have been written. */
export interface KnownLine {
  readonly seq: number
  readonly hash: string
  /** Who wrote it, where several daemons do. */
  readonly writer?: string | undefined
}

/** How far the log had come, in whose hand, and what of it was found to be missing. */
export interface KnownLog extends Stored, KnownLine {
  /** Names the key that signs it. */
  readonly key: string
  /** What was missing when the log was opened, until somebody accepts that. */
  readonly losses: readonly AuditLoss[]
}

/** Lines, or the key, that had been there and were not found. */
export interface AuditLoss {
  /** ISO 8601, UTC. */
  readonly time: string
  readonly what: string
  /** The last line that had been written, and the last that was found. */
  readonly expected: number
  readonly found: number
}

const mostLosses = 20

/** Keeps in the store what is known of one log. */
export class LogMemory {
  readonly #kept: Collection<KnownLog>
  readonly #name: string
  readonly #log: Log
  #known: KnownLog | undefined
  #writing: Promise<void> = Promise.resolve()

  /** Daemons that share a database have a log each; `name` is what tells them apart. */
  constructor(store: Store, name: string, log: Log) {
    this.#kept = store.collection<KnownLog>({ name: 'audit.head' })
    this.#name = store.stats().kind === 'embedded' ? 'log' : name
    this.#log = log
  }

  get known(): KnownLog | undefined {
    return this.#known
  }

  /** Reads what is known; `key` is the key that lies with the log now. */
  async load(key: string): Promise<KnownLog | undefined> {
    this.#known = (await this.#kept.get(this.#name)) ?? (await this.#earlier(key))
    return this.#known
  }

  /** Notes how far the log has come, and what was found to be missing. */
  remember(key: string, { seq, hash }: KnownLine, loss?: AuditLoss): Promise<void> {
    return this.#inOrder(async () => {
      // Another daemon may have answered for what was missing.
      const kept = await this.#kept.get(this.#name).catch(() => this.#known)
      const losses = [...(kept?.losses ?? []), ...(loss ? [loss] : [])].slice(-mostLosses)
      this.#known = { id: this.#name, key, seq, hash, losses }
      await this.#kept.put(this.#known)
    })
  }

  /** What is known of every log that lies in the same state. */
  async all(): Promise<readonly KnownLog[]> {
    return await this.#kept.find()
  }

  /** Forgets what was missing: somebody has answered for it. */
  accept(): Promise<void> {
    return this.#inOrder(async () => {
      for (const { id, losses } of await this.all())
        if (losses.length > 0) await this.#kept.update(id, (known) => ({ ...known, losses: [] }))
      if (this.#known) this.#known = { ...this.#known, losses: [] }
    })
  }

  /** Settles when what was noted so far is in the store, or could not be kept. */
  async settled(): Promise<void> {
    await this.#writing
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing.then(work).catch((error: unknown) => {
      this.#log.warn('how far the audit log has come could not be kept in the state', { error })
    })
    return this.#writing
  }

  /** Until 2.6 what was known lay under the name of the log's key; and in another kind of store under another name. */
  async #earlier(key: string): Promise<KnownLog | undefined> {
    const all: readonly (Stored & KnownLine & Partial<KnownLog>)[] = await this.#kept.find()
    const mine = all.filter((one) =>
      one.key === undefined ? this.#name === 'log' || one.id === key : one.key === key,
    )
    const furthest = mine.find(({ id }) => id === key) ?? mine.toSorted((a, b) => b.seq - a.seq)[0]
    if (!furthest) return undefined
    const { seq, hash, losses, key: signer = furthest.id } = furthest
    this.#known = await this.#kept.put({ id: this.#name, key: signer, seq, hash, losses: losses ?? [] })
    for (const { id } of mine) await this.#kept.delete(id)
    return this.#known
  }
}
