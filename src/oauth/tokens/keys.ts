/** The RS256 keys that sign ID tokens: rotated with overlap, so that clients that cached the set never meet an unknown one. */
import { createPrivateKey, type JsonWebKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload } from 'jose'
import type { Clock } from '#leaf/clock.ts'
import { randomId } from '#leaf/secrets.ts'
import type { Collection, Store, Stored } from '#state/store.ts'

interface SigningKey extends Stored {
  readonly privateJwk: JWK
  readonly publicJwk: JWK
  readonly createdAt: number
  /** The time from which it signs; it is published earlier, so that clients have it by then. */
  readonly signsFrom: number
}

/** A key as signing needs it: imported, with the header of what it signs. */
interface Imported {
  readonly id: string
  readonly key: KeyObject
  readonly header: string
}

/** A key as the operator sees it. */
export interface KeyStatus {
  readonly id: string
  readonly state: 'next' | 'signing' | 'retired'
  readonly createdAt: number
  readonly signsFrom: number
}

/** Seconds that clients may keep the key set; a new key waits three times as long before it signs. */
export const keySetSeconds = 300

// Off the main thread, by a key that is imported once: jose's way of signing costs a fifth more.
const signed = promisify(sign)

const lead = 3 * keySetSeconds * 1000
// A retired key stays for as long as an ID token that it signed may be verified.
const retirement = 24 * 3_600_000

/** The signing keys. */
export class Keys {
  readonly #clock: Clock
  readonly #store: Store
  readonly #keys: Collection<SigningKey>
  #imported: Imported | undefined
  #first: Promise<void> | undefined

  constructor(deps: { store: Store; clock: Clock }) {
    this.#clock = deps.clock
    this.#store = deps.store
    this.#keys = deps.store.collection<SigningKey>({ name: 'oauth.key' })
  }

  /** Signs a JWT (RFC 7519) with the current signing key. */
  async sign(claims: JWTPayload): Promise<string> {
    const signing = this.#signing(await this.#all())!
    const { key, header } = this.#imported?.id === signing.id ? this.#imported : this.#import(signing)
    const text = `${header}.${base64url(claims)}`
    return `${text}.${(await signed('RSA-SHA256', Buffer.from(text), key)).toString('base64url')}`
  }

  #import({ id, privateJwk }: SigningKey): Imported {
    const key = createPrivateKey({ key: privateJwk as JsonWebKey, format: 'jwk' })
    return (this.#imported = { id, key, header: base64url({ alg: 'RS256', typ: 'JWT', kid: id }) })
  }

  /** Returns the public keys (RFC 7517 §5): those that sign, will sign, or signed tokens that may still be verified. */
  async publicKeys(): Promise<{ keys: JWK[] }> {
    const keys = await this.#all()
    return { keys: keys.filter((key) => !this.#isGone(key, keys)).map((key) => key.publicJwk) }
  }

  /** Makes the next key. It signs after clients have had time to learn it, or `atOnce` when the old one leaked. */
  async rotate(options: { atOnce?: boolean } = {}): Promise<KeyStatus> {
    const keys = await this.#all()
    const made = await this.#make(options.atOnce ? 0 : lead)
    await this.#store.transaction(async (tx) => {
      const records = tx.in(this.#keys)
      for (const key of keys) {
        if (options.atOnce || this.#isGone(key, keys)) await records.delete(key.id)
      }
      await records.insert(made)
    })
    return this.#status(made, [...(options.atOnce ? [] : keys), made])
  }

  /** Returns all keys, the newest first. */
  async list(): Promise<KeyStatus[]> {
    const keys = await this.#all()
    return keys.map((key) => this.#status(key, keys)).sort((a, b) => b.signsFrom - a.signsFrom)
  }

  #status(key: SigningKey, keys: readonly SigningKey[]): KeyStatus {
    const now = this.#clock.now()
    const state = key.signsFrom > now ? 'next' : key === this.#signing(keys) ? 'signing' : 'retired'
    return { id: key.id, state, createdAt: key.createdAt, signsFrom: key.signsFrom }
  }

  #signing(keys: readonly SigningKey[]): SigningKey | undefined {
    const now = this.#clock.now()
    const ready = keys.filter((key) => key.signsFrom <= now)
    return (ready.length > 0 ? ready : keys).toSorted((a, b) => b.signsFrom - a.signsFrom)[0]
  }

  #isGone(key: SigningKey, keys: readonly SigningKey[]): boolean {
    const now = this.#clock.now()
    const successor = keys
      .filter((other) => other.signsFrom > key.signsFrom && other.signsFrom <= now)
      .toSorted((a, b) => a.signsFrom - b.signsFrom)[0]
    return successor !== undefined && now > successor.signsFrom + retirement
  }

  async #all(): Promise<readonly SigningKey[]> {
    const keys = await this.#keys.find()
    if (keys.length > 0) return keys
    // Making a key takes a while, so callers that come meanwhile wait for the same one.
    this.#first ??= this.#makeFirst().finally(() => (this.#first = undefined))
    await this.#first
    return this.#keys.find()
  }

  async #makeFirst(): Promise<void> {
    const key = await this.#make(0)
    await this.#store.transaction(async (tx) => {
      const records = tx.in(this.#keys)
      if ((await records.count()) === 0) await records.insert(key)
    })
  }

  async #make(delay: number): Promise<SigningKey> {
    const { privateKey, publicKey } = await generateKeyPair('RS256', {
      extractable: true,
      modulusLength: 2048,
    })
    const now = this.#clock.now()
    const id = randomId()
    return {
      id,
      privateJwk: await exportJWK(privateKey),
      publicJwk: { ...(await exportJWK(publicKey)), kid: id, use: 'sig', alg: 'RS256' },
      createdAt: now,
      signsFrom: now + delay,
    }
  }
}

/** Returns a part of a JWT in compact form (RFC 7515 §7.1). */
function base64url(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
