/** Users' own choices and proofs: the part of a person that the site's files do not hold. */
import { AppError } from '#leaf/errors.ts'
import type { Collection, Store, Stored } from '#state/store.ts'

/** One user's choices and proofs; its id is the user's. */
export interface Account extends Stored {
  readonly language?: string
  /** An IANA name, such as Europe/Berlin; UTC when absent. */
  readonly timezone?: string
  /** The authenticator app: its secret in base32, the last step whose code was used, when and from where it was set up. */
  readonly totp?: {
    readonly secret: string
    readonly usedStep: number
    readonly createdAt?: number
    readonly from?: string
  }
  /** The hashes of unused recovery codes. */
  readonly recoveryCodes?: readonly string[]
  readonly passkeys?: readonly Passkey[]
  /** The ids of the passkeys, by which their owner is found. */
  readonly passkeyIds?: readonly string[]
  /** The subject (`sub`) that each issuer means by this user: an address may be given to somebody else. */
  readonly subjects?: Readonly<Record<string, string>>
  readonly views?: readonly SavedView[]
}

/** A view of a list that a user keeps; the one without a name is how the list begins. */
export interface SavedView {
  /** The doctype of its documents, or the path of the page of another list. */
  readonly doctype: string
  readonly name: string
  /** The query of its address. */
  readonly query: string
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
  /** The network address from which it was made. */
  readonly from?: string
  readonly usedAt?: number
  readonly usedFrom?: string
}

/** The accounts of all users. */
export class Accounts {
  readonly #store: Store
  readonly #accounts: Collection<Account>

  constructor({ store }: { store: Store }) {
    this.#store = store
    this.#accounts = store.collection<Account>({ name: 'users.account', indexes: ['passkeyIds'] })
  }

  /** Returns the account of a user, empty until they choose something. */
  async of(user: string): Promise<Account> {
    return (await this.#accounts.get(user)) ?? { id: user }
  }

  /** Returns the account that has this passkey; the first that had it, as somebody else could add it again up to 2.13.1. */
  async withPasskey(id: string): Promise<Account | undefined> {
    const madeAt = ({ passkeys = [] }: Account): number => passkeys.find((one) => one.id === id)!.createdAt
    const owners = await this.#accounts.find({ where: { passkeyIds: id } })
    return owners.toSorted((one, other) => madeAt(one) - madeAt(other))[0]
  }

  /** True when an issuer's subject is the one it meant by this user the first time, which is kept. */
  async isSubject(user: string, issuer: string, subject: string): Promise<boolean> {
    let known = (await this.of(user)).subjects?.[issuer]
    known ??= (
      await this.change(user, (account) => ({
        ...account,
        subjects: { [issuer]: subject, ...account.subjects },
      }))
    ).subjects?.[issuer]
    return known === subject
  }

  /** Removes the views that a user keeps, and returns their number. */
  async forgetViews(user: string): Promise<number> {
    const { views = [] } = await this.of(user)
    if (views.length > 0) await this.change(user, ({ views: _views, ...account }) => account)
    return views.length
  }

  /** Changes an account atomically; if `change` throws, it stays as it was. AppError `conflict` for another's passkey. */
  async change(user: string, change: (account: Account) => Account): Promise<Account> {
    return this.#store.transaction(async (tx) => {
      const accounts = tx.in(this.#accounts)
      const before = await accounts.get(user)
      const { passkeyIds: _, ...changed } = change(before ?? { id: user })
      const passkeyIds = (changed.passkeys ?? []).map(({ id }) => id)
      for (const id of passkeyIds)
        // WebAuthn Level 3 §7.1, step 26: a passkey's id identifies who signs in, so it must be unique.
        if (!before?.passkeyIds?.includes(id) && (await accounts.count({ where: { passkeyIds: id } })) > 0)
          throw new AppError('conflict', 'this passkey belongs to another account here')
      return accounts.put(passkeyIds.length > 0 ? { ...changed, passkeyIds } : changed)
    })
  }
}

/** Returns an account without its proofs. */
export function withoutProofs({
  totp: _app,
  recoveryCodes: _codes,
  passkeys: _keys,
  ...rest
}: Account): Account {
  return rest
}

/** True when signing in takes more than the password. */
export function hasSecondFactor({ totp, passkeys = [] }: Account): boolean {
  return totp !== undefined || passkeys.length > 0
}
