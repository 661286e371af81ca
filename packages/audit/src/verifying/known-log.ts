/** The store's knowledge of the log: under one name, and out of reach of anything that is done to the log's folder. */
import type { Log } from '#leaf/log.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import type { AuditLine } from '../audit.ts'

/** A line of the log that is known to have been written. */
export interface KnownLine {
  readonly seq: number
  readonly hash: string
  /** The daemon that wrote it, where several do. */
  readonly writer?: string | undefined
  /** True when its daemon stopped in order after it. */
  readonly closed?: boolean
}

/** True when both are the same line of the same chain. */
export function isSameLine(one: KnownLine, other: KnownLine): boolean {
  return one.seq === other.seq && one.hash === other.hash
}

/** The record of how far the log had come, under which key, and what was found missing. */
export interface KnownLog extends Stored, KnownLine {
  /** The name of the key that signs it. */
  readonly key: string
  /** The losses found when the log was opened, until somebody accepts them. */
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

/** A loss that a log reports of itself; its id is the time when it was found and what it was. */
export interface ToldLoss {
  readonly seq: number
  readonly place: string
  readonly text: string
  readonly id: string
}

/** Reads the loss that a line reports, and the numbers that may have been assigned again. */
export function lossIn(
  { seq, time, data }: AuditLine,
  place: string,
): { readonly loss: ToldLoss; readonly lost: { readonly from: number; readonly to: number } } {
  const { expected, found, what } = data ?? {}
  const isShort = Number(expected) > Number(found)
  const told = isShort ? 'lines were missing here' : 'lines here are not those that had been written'
  const counts = `${Number(expected)} had been written, ${Number(found)} were found`
  const text = `${told}: ${counts}${typeof what === 'string' ? ` (${what})` : ''}`
  return {
    loss: { seq, place, text, id: `${time} ${textOf(what)}` },
    lost: { from: Number(found) + 1, to: Math.max(Number(expected), Number(found) + 1) },
  }
}

/** The fault of a log when nothing says how far it had come. */
export const noHead = 'the file is missing; lines cut off the end would not be noticed'

/** Describes, for people, that another line was found than the one expected. */
export function missing(expected: number, found: number): string {
  if (found < expected) return `line ${expected} should stand here, not ${found}`
  return found === expected + 1
    ? `line ${expected} is missing`
    : `lines ${expected} to ${found - 1} are missing`
}

/** Returns a text that a line of the log holds. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '-'
}

const mostLosses = 20

/** Keeps what is known of one log in the store. */
export class LogMemory {
  readonly #kept: Collection<KnownLog>
  readonly #name: string
  readonly #log: Log
  #known: KnownLog | undefined
  #writing: Promise<void> = Promise.resolve()

  /** Sets up the memory of one log: daemons that share a database have one each; `name` tells them apart. */
  constructor(store: Store, name: string, log: Log) {
    this.#kept = store.collection<KnownLog>({ name: 'audit.head' })
    this.#name = store.stats().kind === 'embedded' ? 'log' : name
    this.#log = log
  }

  get known(): KnownLog | undefined {
    return this.#known
  }

  /** The name that tells the log from others in the same state. */
  get name(): string {
    return this.#name
  }

  /** Reads what is known; `key` is the key that lies with the log now. */
  async load(key: string): Promise<KnownLog | undefined> {
    this.#known = (await this.#kept.get(this.#name)) ?? (await this.#earlier(key))
    return this.#known
  }

  /** Records how far the log has come, and a loss that was found. */
  remember(key: string, { seq, hash }: KnownLine, loss?: AuditLoss): Promise<void> {
    return this.#inOrder(async () => {
      // Another daemon may have accepted the losses.
      const kept = await this.#kept.get(this.#name).catch(() => this.#known)
      const losses = [...(kept?.losses ?? []), ...(loss ? [loss] : [])].slice(-mostLosses)
      this.#known = { id: this.#name, key, seq, hash, losses }
      await this.#kept.put(this.#known)
    })
  }

  /** Returns what is known of every log in the same state. */
  async all(): Promise<readonly KnownLog[]> {
    return await this.#kept.find()
  }

  /** Forgets the losses: somebody has accepted them. */
  accept(): Promise<void> {
    return this.#inOrder(async () => {
      for (const { id, losses } of await this.all())
        if (losses.length > 0) await this.#kept.update(id, (known) => ({ ...known, losses: [] }))
      if (this.#known) this.#known = { ...this.#known, losses: [] }
    })
  }

  /** Forgets how far the logs that a restored backup knew had come: this log records that. */
  beginAnew(key: string, { seq, hash }: KnownLine): Promise<void> {
    return this.#inOrder(async () => {
      const all = await this.all()
      const losses = all.flatMap((one) => one.losses ?? []).slice(-mostLosses)
      this.#known = await this.#kept.put({ id: this.#name, key, seq, hash, losses })
      for (const { id } of all) if (id !== this.#name) await this.#kept.delete(id)
    })
  }

  /** Settles when everything recorded so far is in the store, or could not be kept. */
  async settled(): Promise<void> {
    await this.#writing
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing.then(work).catch((error: unknown) => {
      this.#log.warn('how far the audit log has come could not be kept in the state', { error })
    })
    return this.#writing
  }

  /** Finds an earlier record: until 2.6 it was named after the log's key; in another kind of store it has another name. */
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
