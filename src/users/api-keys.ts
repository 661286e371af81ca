/** API keys: `Authorization: token <API_KEY>:<API_SECRET>` for legacy clients and service identities (specification §5.2). */
import { networksOf } from '../core/address.ts'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { randomId, randomSecret, sameText, sha256 } from '../core/secrets.ts'
import type { Collection, Store, Stored } from '../store/store.ts'
import type { People } from './people.ts'

/** An API key as it is stored; its id is the public half. */
export interface ApiKey extends Stored {
  readonly user: string
  readonly secretHash: string
  readonly label: string
  readonly createdAt: number
  readonly expiresAt?: number
  /** Network addresses (CIDR) that it may be used from; any when absent. */
  readonly addresses?: readonly string[]
  readonly revokedAt?: number
}

/** What a new key is for. */
export interface ApiKeyRequest {
  readonly user: string
  readonly label?: string
  readonly seconds?: number
  readonly addresses?: readonly string[]
}

/** All API keys. */
export class ApiKeys {
  readonly #clock: Clock
  readonly #people: () => People
  readonly #keys: Collection<ApiKey>

  constructor(deps: { store: Store; clock: Clock; people: () => People }) {
    this.#clock = deps.clock
    this.#people = deps.people
    this.#keys = deps.store.collection<ApiKey>({ name: 'users.api_key', indexes: ['user'] })
  }

  /** Makes a key; the secret is shown this once. AppError `not_found` for no such user, `invalid` for a wrong network. */
  async create(request: ApiKeyRequest): Promise<{ key: ApiKey; secret: string }> {
    const user = this.#people().find(request.user)
    if (!user) throw new AppError('not_found', `no user ${request.user}`)
    networksOf(request.addresses ?? [])
    const secret = randomSecret('ac_sk_')
    const now = this.#clock.now()
    const key = await this.#keys.insert({
      id: randomId(),
      user: user.id,
      // 256 random bits need no slow hash, and this one is checked on every request.
      secretHash: sha256(secret),
      label: request.label ?? '',
      createdAt: now,
      ...(request.seconds !== undefined && { expiresAt: now + request.seconds * 1000 }),
      ...(request.addresses && request.addresses.length > 0 && { addresses: request.addresses }),
    })
    return { key, secret }
  }

  /** The key that these two halves prove, or why they prove none. */
  async check(id: string, secret: string): Promise<{ key: ApiKey } | { fault: string }> {
    const key = id.length > 100 ? undefined : await this.#keys.get(id)
    const right = sameText(key?.secretHash ?? '', sha256(secret))
    if (!key || !right) return { fault: 'the API key is unknown' }
    if (key.revokedAt !== undefined) return { fault: 'the API key is not active' }
    if (key.expiresAt !== undefined && key.expiresAt < this.#clock.now())
      return { fault: 'the API key has expired' }
    return { key }
  }

  /** Keys of a user, or all, newest first. */
  async list(user?: string): Promise<readonly ApiKey[]> {
    return this.#keys.find({
      where: user === undefined ? {} : { user },
      order: [{ field: 'createdAt', descending: true }],
    })
  }

  /** Ends a key at once; false when there is no such key. */
  async revoke(id: string): Promise<boolean> {
    const key = await this.#keys.update(id, (one) =>
      one.revokedAt === undefined ? { ...one, revokedAt: this.#clock.now() } : undefined,
    )
    return key !== undefined
  }
}
