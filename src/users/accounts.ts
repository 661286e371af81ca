/** What a user chose for themselves: the part of a person that the site's files do not hold. */
import type { Collection, Store, Stored } from '../store/store.ts'

/** One user's choices and proofs; its id is the user's. */
export interface Account extends Stored {
  readonly language?: string
  /** An IANA name, such as Europe/Berlin; UTC when absent. */
  readonly timezone?: string
  /** The authenticator app: its secret in base32, and the last step whose code was used. */
  readonly totp?: { readonly secret: string; readonly usedStep: number }
  /** Hashes of recovery codes that were not used yet. */
  readonly recoveryCodes?: readonly string[]
  readonly passkeys?: readonly Passkey[]
  /** Their ids, by which their owner is found. */
  readonly passkeyIds?: readonly string[]
}

/** A key that a device or a password manager of the user keeps (WebAuthn). */
export interface Passkey {
  readonly id: string
  readonly name: string
  /** The public key in base64url. */
  readonly publicKey: string
  readonly counter: number
  readonly transports?: readonly string[]
  readonly createdAt: number
  readonly usedAt?: number
}

/** The accounts of all users. */
export class Accounts {
  readonly #store: Store
  readonly #accounts: Collection<Account>

  constructor({ store }: { store: Store }) {
    this.#store = store
    this.#accounts = store.collection<Account>({ name: 'users.account', indexes: ['passkeyIds'] })
  }

  /** The account of a user, empty until they choose something. */
  async of(user: string): Promise<Account> {
    return (await this.#accounts.get(user)) ?? { id: user }
  }

  /** The account that has this passkey. */
  async withPasskey(id: string): Promise<Account | undefined> {
    return this.#accounts.first({ where: { passkeyIds: id } })
  }

  /** Changes an account atomically; what `change` throws leaves it as it was. */
  async change(user: string, change: (account: Account) => Account): Promise<Account> {
    return this.#store.transaction(async (tx) => {
      const accounts = tx.in(this.#accounts)
      const { passkeyIds: _, ...changed } = change((await accounts.get(user)) ?? { id: user })
      const passkeyIds = (changed.passkeys ?? []).map(({ id }) => id)
      return accounts.put(passkeyIds.length > 0 ? { ...changed, passkeyIds } : changed)
    })
  }
}

/** Whether signing in takes more than the password. */
export function hasSecondFactor({ totp, passkeys = [] }: Account): boolean {
  return totp !== undefined || passkeys.length > 0
}
