/** Calls that may be sent again after a lost answer: each change is stored with its result and not made twice. */
import type { Clock } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import type { DocumentMemory } from '../memory.ts'

/** The identification of a call that its caller may send again. */
export interface Repeatable {
  /** An id that is equal for the same key of the same caller. */
  readonly id: string
  /** A text that is equal for exactly the same call. */
  readonly call: string
}

/** One transaction of a call, and its result. */
interface KeptWork extends Repeatable {
  readonly value?: unknown
  /** How far work is that is done elsewhere; `lost`: it was done, and nobody was left to keep its result. */
  readonly elsewhere?: 'begun' | 'ended' | 'lost'
  /** The table there that keeps it too, which tells what became of it. */
  readonly keys?: string | undefined
  readonly expiresAt: number
}

/** Milliseconds after which a caller without an answer does not ask for it again. */
const keptFor = 86_400_000
/** Why a key is refused that another call has. */
export const usedOtherwise =
  'this idempotency key was used for another call: of another tool, with other arguments or with other roles; take a new key'

const noRoom =
  'the answers kept for idempotency keys of yours take as much room as your documents may; call without a key, or tomorrow'
const unknownAnswer =
  'this call was made before, and is under way or what became of it is not known yet: read the document before you change it again, with a new key'
/** Says that a call was done whose answer nobody has. */
export const lostAnswer = 'this call was made before, and it was done; its answer was lost: read the document'

/** What is kept of work that is done elsewhere, before and after it. */
export interface Elsewhere extends Repeatable {
  /**
   * Returns what it gave where it was done before. AppError `conflict` where that is not known, or lost; not where the table
   * there that keeps it is the same, which has to be asked: `lost` says that it was done.
   */
  known(
    keys: string | undefined,
  ): Promise<{ readonly value?: unknown; readonly elsewhere?: string } | undefined>
  /** Notes that it was found there. */
  repeated(): void
  begin(transaction: Transaction): Promise<void>
  end(transaction: Transaction, value: unknown): Promise<void>
}

/** Keeps that work was done elsewhere whose result is lost, or forgets it where it was not done. */
export async function settleOnce(
  { store, transaction }: { readonly store: Store; readonly transaction: Transaction },
  id: string,
  isDone: boolean,
): Promise<void> {
  const kept = transaction.in(keptWork(store))
  if (isDone) await kept.update(id, (one) => ({ ...one, elsewhere: 'lost' }))
  else await kept.delete(id)
}

function keptWork(store: Store): Collection<KeptWork> {
  return store.collection<KeptWork>({ name: 'platform.once', expires: 'expiresAt' })
}

interface OnceDeps {
  readonly store: Store
  readonly clock: Clock
  readonly memory: Pick<DocumentMemory, 'answers'>
  readonly quota: { readonly max_bytes_per_user: number }
}

/** The transactions of one call, each of which is made once. */
export class Once {
  readonly #kept: Collection<KeptWork>
  readonly #documents: OnceDeps
  readonly #call: Repeatable
  readonly #user: string
  #count = 0
  #repeats = false

  constructor(documents: OnceDeps, call: Repeatable, user: string) {
    this.#kept = keptWork(documents.store)
    this.#documents = documents
    this.#call = call
    this.#user = user
  }

  /** True if the call was made before. */
  get repeats(): boolean {
    return this.#repeats
  }

  /** Looks up whether the call was made before; returns the reason to refuse it, if any. */
  async look(): Promise<string | undefined> {
    const known = await this.#kept.get(this.#idOf(1))
    this.#repeats = known !== undefined
    return known && known.call !== this.#call.call ? usedOtherwise : undefined
  }

  /** Wraps the work of the call's next transaction, which is skipped if its result is stored already. */
  next<R>(work: (transaction: Transaction) => Promise<R>): (transaction: Transaction) => Promise<R> {
    const id = this.#idOf(++this.#count)
    return async (transaction) => {
      const all = transaction.in(this.#kept)
      const made = { id, call: this.#call.call, expiresAt: this.#documents.clock.now() + keptFor }
      try {
        // Not looked for before: who looks where others insert begins anew for each of them.
        await all.insert(made)
      } catch (error) {
        const known = this.#same(await all.get(id))
        if (known) return known.value as R
        throw error
      }
      const value = await work(transaction)
      if (!this.#hasRoom({ ...made, value })) throw new AppError('unavailable', noRoom)
      if (value !== undefined) await all.put({ ...made, value })
      return value
    }
  }

  /** Keeps the call's next piece of work that is done elsewhere: each part is told in a transaction of its own. */
  elsewhere(): Elsewhere {
    const id = this.#idOf(++this.#count)
    const { call } = this.#call
    let table: string | undefined
    const made = (): KeptWork => ({
      id,
      call,
      expiresAt: this.#documents.clock.now() + keptFor,
      elsewhere: 'begun',
      ...(table !== undefined && { keys: table }),
    })
    return {
      id,
      call,
      repeated: () => void (this.#repeats = true),
      known: async (keys) => {
        table = keys
        const known = this.#same(await this.#kept.get(id))
        if (!known || known.elsewhere === 'ended' || (keys !== undefined && known.keys === keys)) return known
        throw new AppError('conflict', known.elsewhere === 'lost' ? lostAnswer : unknownAnswer)
      },
      begin: async (transaction) => {
        if (!this.#hasRoom(made())) throw new AppError('unavailable', noRoom)
        const all = transaction.in(this.#kept)
        // Of a call that the table there does not have, what was begun was not done.
        await (table === undefined ? all.insert(made()) : all.put(made()))
      },
      end: async (transaction, value) => {
        this.#hasRoom({ value })
        await transaction.in(this.#kept).put({ ...made(), elsewhere: 'ended', value })
      },
    }
  }

  /** Counts what is kept for the user in a day, here; false when it would be more than their documents may take. */
  #hasRoom(kept: object): boolean {
    const { clock, memory, quota } = this.#documents
    const now = clock.now()
    let day = memory.answers.get(this.#user)
    if (!day || now >= day.endsAt) memory.answers.set(this.#user, (day = { endsAt: now + keptFor, bytes: 0 }))
    day.bytes += Buffer.byteLength(JSON.stringify(kept))
    return day.bytes <= (quota.max_bytes_per_user || Infinity)
  }

  #idOf(count: number): string {
    return `${this.#call.id}.${count}`
  }

  #same(known: KeptWork | undefined): KeptWork | undefined {
    if (known && known.call !== this.#call.call) throw new AppError('conflict', usedOtherwise)
    this.#repeats ||= known !== undefined
    return known
  }
}
