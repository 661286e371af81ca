import type { Queryable, Statement } from '../servers/connection.ts'
import { codeOf, Collision, isTaken } from '../servers/errors.ts'
import { fewKeys } from '../running/keys.ts'
import type { Listener } from './listener.ts'
import { PendingWrites, type Sendable, sendableOf } from '../running/pending.ts'
import type { Begun } from '../tables.ts'

export interface OutgoingOptions {
  readonly on: Queryable
  readonly begun: Promise<Begun>
  readonly listener: Pick<Listener, 'announcing'>
  /** Claims a document for this transaction; false when another of this process has written it. */
  readonly claim: (key: string) => boolean
}

/** What waited, and what was sent, at some moment. */
export interface OutgoingMark {
  readonly pending: PendingWrites
  readonly sent: number
  readonly announced: number
}

/** What a transaction sends to the database: reads at once, writes when a query may need them or at the end. */
export class Outgoing {
  readonly #given: OutgoingOptions
  pending = new PendingWrites()
  readonly #announcements: string[] = []
  /** The number of statements sent that write. */
  #sent = 0
  /** The growth in the number of documents of each collection. */
  readonly growth = new Map<string, number>()
  /** The keys of what was written, read or queried. */
  readonly met = new Set<string>()
  /** The error of the first statement that failed: from then on the database commits nothing of this. */
  failure: { readonly error: unknown } | undefined

  constructor(options: OutgoingOptions) {
    this.#given = options
  }

  /** Returns the keys that the next try waits for when this one collided. */
  get keys(): readonly string[] {
    return fewKeys(this.met)
  }

  get queryable(): Queryable {
    return { isTransaction: true, rows: (statement) => this.rows(statement) }
  }

  mark(): OutgoingMark {
    return { pending: this.pending.copy(), sent: this.#sent, announced: this.#announcements.length }
  }

  /** Drops what was added since the mark; false when some of it was sent already. */
  undo({ pending, sent, announced }: OutgoingMark): boolean {
    if (this.#sent !== sent || this.failure) return false
    this.pending = pending
    this.#announcements.length = announced
    return true
  }

  announce(message: string): void {
    this.#announcements.push(message)
  }

  grow(name: string, by: number): void {
    if (by !== 0) this.growth.set(name, (this.growth.get(name) ?? 0) + by)
  }

  async rows(statement: Statement): Promise<readonly unknown[][]> {
    try {
      return await this.#given.on.rows(statement)
    } catch (error) {
      // The database has aborted the whole transaction.
      this.failure ??= { error }
      throw this.failure.error
    }
  }

  /** Runs a statement of a write that waited. */
  async send({ name, key, statement, growth }: Sendable): Promise<void> {
    try {
      this.grow(name, growth(await this.#given.on.rows(statement)))
    } catch (error) {
      this.failure ??= { error: explained(error, key) }
      throw this.failure.error
    }
  }

  /** Sends all writes that wait at once; settles when all are answered. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#claimed().map((one) => this.send(one)))
    if (this.failure) throw this.failure.error
  }

  /** Takes the writes that wait, to be sent with the end of the transaction. */
  async rest(): Promise<readonly Sendable[]> {
    const { number, server } = await this.#given.begun
    const announced = this.#announcements.map((message) =>
      sendableOf(this.#given.listener.announcing(message, number, server)),
    )
    return [...this.#claimed(), ...announced]
  }

  /** Takes the writes that wait. Who would wait for another transaction of this process begins anew when that has ended. */
  #claimed(): readonly Sendable[] {
    const all = this.pending.take()
    this.#sent += all.length
    for (const { key } of all) {
      this.met.add(key)
      if (this.#given.claim(key)) continue
      this.failure ??= { error: new Collision([key]) }
      throw this.failure.error
    }
    return all
  }
}

/** Returns a collision with the keys to wait for; of a write that another daemon was in the way of, that of its document. */
function explained(error: unknown, key: string): unknown {
  if (isTaken(error)) return new Collision([], { cause: error, isTaken: true })
  const isOne = key !== '' && codeOf(error) === '40001' && /concurrent/.test(String(error))
  return isOne ? new Collision([key], { cause: error }) : error
}
