import { within } from '#leaf/deadline.ts'
import { announce, hear } from '../../core/announcements.ts'
import type { Suspended } from '../../core/suspended.ts'
import type { Collection, CollectionSpec, Store, Transaction } from '#state/store.ts'

const spec: CollectionSpec<Suspended> = {
  name: 'mcp.waiting',
  indexes: ['user', 'key'],
  expires: 'expiresAt',
}

/** The store of suspended calls: in the state, so that every daemon knows them. */
export class WaitingRoom {
  readonly #store: Store
  readonly #calls: Collection<Suspended>
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(store: Store) {
    this.#store = store
    this.#calls = store.collection(spec)
    const wakeAll = (): void => {
      for (const id of this.#waiting.keys()) this.#wake(id)
    }
    hear(store, 'waiting', (id) => this.#wake(id), wakeAll)
  }

  get(id: string): Promise<Suspended | undefined> {
    return this.#calls.get(id)
  }

  /** Returns the waiting calls of a user, oldest first; with a key only those of exactly that call. */
  of(user: string, key?: string): Promise<readonly Suspended[]> {
    const where = { user, ...(key !== undefined && { key }) }
    return this.#calls.find({ where, order: [{ field: 'createdAt' }] })
  }

  /** Changes waiting calls in a transaction; whoever waits for a call is notified after the commit. */
  change<R>(work: (calls: WaitingWork) => Promise<R>): Promise<R> {
    return this.#store.transaction((transaction) => {
      const calls = transaction.in(this.#calls)
      const told = (id: string): void => {
        announce(transaction, 'waiting', id)
        // A state that is not shared announces nothing.
        transaction.onCommit(() => this.#wake(id))
      }
      return work({
        transaction,
        get: (id) => calls.get(id),
        of: (user) => calls.find({ where: { user }, order: [{ field: 'createdAt' }] }),
        put: async (call) => {
          await calls.put(call)
          told(call.id)
        },
        delete: async (id) => {
          await calls.delete(id)
          told(id)
        },
      })
    })
  }

  /** Waits until the call is settled or gone, but no longer than `milliseconds` or until the signal. */
  async settled(id: string, milliseconds: number, signal: AbortSignal): Promise<void> {
    const end = within(milliseconds, signal)
    while (!end.aborted) {
      // The listener is added before the check, so that no change is missed.
      const { changed, leave } = this.#wait(id, end)
      if ((await this.get(id))?.state !== 'pending') return leave()
      await changed
    }
  }

  #wait(id: string, end: AbortSignal): { changed: Promise<void>; leave: () => void } {
    let leave = (): void => undefined
    const changed = new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(id) ?? new Set()
      leave = (): void => {
        end.removeEventListener('abort', leave)
        waiting.delete(leave)
        if (waiting.size === 0) this.#waiting.delete(id)
        resolve()
      }
      end.addEventListener('abort', leave)
      this.#waiting.set(id, waiting.add(leave))
    })
    return { changed, leave }
  }

  #wake(id: string): void {
    for (const leave of this.#waiting.get(id) ?? []) leave()
  }
}

/** The waiting calls within one transaction. */
export interface WaitingWork {
  readonly transaction: Transaction
  get(id: string): Promise<Suspended | undefined>
  of(user: string): Promise<readonly Suspended[]>
  put(call: Suspended): Promise<void>
  delete(id: string): Promise<void>
}
