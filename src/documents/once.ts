/** Calls that may be sent again after a lost answer: what they changed is kept with what it gave, and not done twice. */
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Collection, Store, Transaction } from '../store/store.ts'

/** What a caller says of a call that it may send again. */
export interface Repeatable {
  /** Equal for the same key of the same caller. */
  readonly id: string
  /** Equal for exactly the same call. */
  readonly call: string
}

/** One transaction of a call, and what it gave. */
interface KeptWork extends Repeatable {
  readonly value?: unknown
  readonly expiresAt: number
}

/** Who has not heard an answer by then does not ask for it again. */
const keptFor = 86_400_000
const usedOtherwise =
  'this idempotency key was used for another call: of another tool, with other arguments or with other roles; take a new key'

/** The transactions of one call, each of which is kept once. */
export class Once {
  readonly #kept: Collection<KeptWork>
  readonly #clock: Clock
  readonly #call: Repeatable
  #count = 0
  #repeats = false

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }, call: Repeatable) {
    this.#kept = store.collection<KeptWork>({ name: 'platform.once', expires: 'expiresAt' })
    this.#clock = clock
    this.#call = call
  }

  /** Whether the call was made before. */
  get repeats(): boolean {
    return this.#repeats
  }

  /** Looks whether the call was made before; answers what speaks against it. */
  async look(): Promise<string | undefined> {
    const known = await this.#kept.get(this.#idOf(1))
    this.#repeats = known !== undefined
    return known && known.call !== this.#call.call ? usedOtherwise : undefined
  }

  /** The next transaction of the call: a function that does its work in it, unless that was kept before. */
  next<R>(work: (transaction: Transaction) => Promise<R>): (transaction: Transaction) => Promise<R> {
    const id = this.#idOf(++this.#count)
    return async (transaction) => {
      const all = transaction.in(this.#kept)
      const known = this.#same(await all.get(id))
      if (known) return known.value as R
      const value = await work(transaction)
      const expiresAt = this.#clock.now() + keptFor
      await all.put({ id, call: this.#call.call, ...(value !== undefined && { value }), expiresAt })
      return value
    }
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
