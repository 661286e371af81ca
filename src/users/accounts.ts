/** What a user chose for themselves: the part of a person that the site's files do not hold. */
import type { Collection, Store, Stored } from '../store/store.ts'

/** One user's choices; its id is the user's. */
export interface Account extends Stored {
  readonly language?: string
  /** An IANA name, such as Europe/Berlin; UTC when absent. */
  readonly timezone?: string
}

/** The accounts of all users. */
export class Accounts {
  readonly #store: Store
  readonly #accounts: Collection<Account>

  constructor({ store }: { store: Store }) {
    this.#store = store
    this.#accounts = store.collection<Account>({ name: 'users.account' })
  }

  /** The account of a user, empty until they choose something. */
  async of(user: string): Promise<Account> {
    return (await this.#accounts.get(user)) ?? { id: user }
  }

  /** Changes an account atomically; answers what `change` does. */
  async change(user: string, change: (account: Account) => Account): Promise<Account> {
    return this.#store.transaction(async (tx) => {
      const accounts = tx.in(this.#accounts)
      return accounts.put(change((await accounts.get(user)) ?? { id: user }))
    })
  }
}
