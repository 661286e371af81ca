/** Accounts: the proofs that people keep here, and whatever else is kept of them beside these. */
import { AppError } from '#leaf/errors.ts'
import type { Collection, Store, Stored } from '#state/store.ts'

/** The proofs in one user's account, each of which may be absent; its id is the user's. */
export interface Proofs extends Stored {
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

/** The accounts of all users; what one keeps beside its proofs may be absent as well. */
export class Accounts<P extends Proofs> {
  readonly #store: Store
  readonly #accounts: Collection<P>

  constructor({ store }: { store: Store }) {
    this.#store = store
    this.#accounts = store.collection<P>({ name: 'users.account', indexes: ['passkeyIds'] })
  }

  /** Returns the account of a user, empty until they choose something. */
  async of(user: string): Promise<P> {
    return (await this.#accounts.get(user)) ?? ({ id: user } as P)
  }

  /** Returns the account that has this passkey; the first that had it, as somebody else could add it again up to 2.13.1. */
  async withPasskey(id: string): Promise<P | undefined> {
    const madeAt = ({ passkeys = [] }: P): number => passkeys.find((one) => one.id === id)!.createdAt
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

  /** Changes an account atomically; if `change` throws, it stays as it was. AppError `conflict` for another's passkey. */
  async change(user: string, change: (account: P) => P): Promise<P> {
    return this.#store.transaction(async (tx) => {
      const accounts = tx.in(this.#accounts)
      const before = await accounts.get(user)
      const changed = change(before ?? ({ id: user } as P))
      const passkeyIds = (changed.passkeys ?? []).map(({ id }) => id)
      for (const id of passkeyIds)
        // WebAuthn Level 3 §7.1, step 26: a passkey's id identifies who signs in, so it must be unique.
        if (!before?.passkeyIds?.includes(id) && (await accounts.count({ where: { passkeyIds: id } })) > 0)
          throw new AppError('conflict', 'this passkey belongs to another account here')
      const { passkeyIds: _, ...listed } = changed
      return accounts.put((passkeyIds.length > 0 ? { ...listed, passkeyIds } : listed) as P)
    })
  }
}

/** Returns an account without its proofs. */
export function withoutProofs<P extends Proofs>(account: P) {
  const { totp: _app, recoveryCodes: _codes, passkeys: _keys, ...rest } = account
  return rest
}

/** True when signing in takes more than the password. */
export function hasSecondFactor({ totp, passkeys = [] }: Proofs): boolean {
  return totp !== undefined || passkeys.length > 0
}
