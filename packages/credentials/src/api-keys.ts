/** API keys: `Authorization: token <API_KEY>:<API_SECRET>` for legacy clients and service identities (specification §5.2). */
import { networksOf } from '#leaf/address.ts'
import { randomId, randomSecret, sameText, sha256 } from '#leaf/secrets.ts'
import type { Collection, Stored, Transaction } from '#state/store.ts'
import { knownUser, type Parts } from './holders.ts'

/** An API key as it is stored; its id is the public half. */
export interface ApiKey extends Stored {
  readonly user: string
  readonly secretHash: string
  readonly label: string
  readonly createdAt: number
  /** The network address from which it was made; absent when an operator made it. */
  readonly from?: string
  readonly expiresAt?: number
  /** The network addresses (CIDR) from which it may be used; any when absent. */
  readonly addresses?: readonly string[]
  readonly revokedAt?: number
}

/** A request for a new key. */
export interface ApiKeyRequest {
  readonly user: string
  readonly label?: string
  readonly seconds?: number
  readonly addresses?: readonly string[]
  readonly from?: string
}

interface ApiKeyParts extends Parts {
  /** Ends what a key keeps open beyond its request, such as streams, at all daemons once the transaction commits. */
  readonly tellIn: (tx: Transaction, ended: { readonly user: string; readonly apiKey: string }) => void
}

/** All API keys. */
export class ApiKeys {
  readonly #deps: ApiKeyParts
  readonly #keys: Collection<ApiKey>

  constructor(deps: ApiKeyParts) {
    this.#deps = deps
    this.#keys = deps.store.collection<ApiKey>({ name: 'users.api_key', indexes: ['user'] })
  }

  /** Makes a key; the secret is shown this once. AppError `not_found` for no such user, `invalid` for a wrong network. */
  async create(request: ApiKeyRequest): Promise<{ key: ApiKey; secret: string }> {
    const user = knownUser(this.#deps.people(), request.user)
    networksOf(request.addresses ?? [])
    const secret = randomSecret('ac_sk_')
    const now = this.#deps.clock.now()
    const key = await this.#keys.insert({
      id: randomId(),
      user: user.id,
      // 256 random bits need no slow hash, and this one is checked on every request.
      secretHash: sha256(secret),
      label: request.label ?? '',
      createdAt: now,
      ...(request.from !== undefined && { from: request.from }),
      ...(request.seconds !== undefined && { expiresAt: now + request.seconds * 1000 }),
      ...(request.addresses && request.addresses.length > 0 && { addresses: request.addresses }),
    })
    return { key, secret }
  }

  /** Returns the key that these two halves prove, or the reason why they prove none. */
  async check(id: string, secret: string): Promise<{ key: ApiKey } | { fault: string }> {
    const key = id.length > 100 ? undefined : await this.#keys.get(id)
    const right = sameText(key?.secretHash ?? '', sha256(secret))
    if (!key || !right) return { fault: 'the API key is unknown' }
    if (key.revokedAt !== undefined) return { fault: 'the API key is not active' }
    if (key.expiresAt !== undefined && key.expiresAt < this.#deps.clock.now())
      return { fault: 'the API key has expired' }
    return { key }
  }

  /** Returns keys of a user, or all, newest first. */
  async list(user?: string): Promise<readonly ApiKey[]> {
    return this.#keys.find({
      where: user === undefined ? {} : { user },
      order: [{ field: 'createdAt', descending: true }],
    })
  }

  /** Ends all keys of a user at once; returns how many ended. */
  async revokeAll(user: string): Promise<number> {
    const keys = (await this.list(user)).filter(({ revokedAt }) => revokedAt === undefined)
    for (const { id } of keys) await this.revoke(id)
    return keys.length
  }

  /** Ends a key at once, and what is open by it; false when there is no such key. */
  async revoke(id: string): Promise<boolean> {
    return await this.#deps.store.transaction(async (tx) => {
      const key = await tx
        .in(this.#keys)
        .update(id, (one) =>
          one.revokedAt === undefined ? { ...one, revokedAt: this.#deps.clock.now() } : undefined,
        )
      if (key) this.#deps.tellIn(tx, { user: key.user, apiKey: id })
      return key !== undefined
    })
  }
}
