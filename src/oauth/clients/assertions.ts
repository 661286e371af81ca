/** Client authentication with a signed assertion, `private_key_jwt` (RFC 7523 §2.2 and §3). */
import {
  createLocalJWKSet,
  errors,
  jwtVerify,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose'
import type { Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { sha256 } from '#leaf/secrets.ts'
import type { Collection, Store, Stored } from '#state/store.ts'
import type { GuardedFetch } from '#outside/guarded-fetch.ts'
import type { Client } from '../records.ts'
import { paths } from '../urls.ts'

interface SeenAssertion extends Stored {
  readonly expiresAt: number
}

/** The algorithms that assertions may use: asymmetric ones only, so that no key is taken for a secret. */
export const assertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']

const maxLifeSeconds = 600
const keyLife = 300_000
/** Milliseconds for which keys that could not be had are not asked for again. */
const noKeysLife = 10_000

/** Checks assertions, each of which counts once. */
export class Assertions {
  readonly #store: Store
  readonly #clock: Clock
  readonly #publicUrl: () => string
  readonly #fetch: GuardedFetch
  readonly #log: Log
  readonly #seen: Collection<SeenAssertion>
  readonly #keySets = new Map<string, { readonly keys: Promise<JSONWebKeySet>; readonly until: number }>()

  constructor(deps: { store: Store; clock: Clock; publicUrl: () => string; fetch: GuardedFetch; log: Log }) {
    this.#log = deps.log
    this.#store = deps.store
    this.#clock = deps.clock
    this.#publicUrl = deps.publicUrl
    this.#fetch = deps.fetch
    this.#seen = deps.store.collection<SeenAssertion>({ name: 'oauth.assertion', expires: 'expiresAt' })
  }

  /** Returns the reason why the assertion does not prove the client; undefined when it does. */
  async faultOf(client: Client, assertion: string): Promise<string | undefined> {
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(assertion) || assertion.length > 8192) {
      return 'the client assertion is not a compact JWT'
    }
    try {
      const claims = await this.#verify(client, assertion)
      return this.#claimFault(claims) ?? (await this.useOnce(client.id, claims))
    } catch (error) {
      if (error instanceof errors.JOSEError) return `the client assertion is not valid: ${error.code}`
      // Clients name the place of their keys themselves, so they learn nothing of what is there.
      this.#log.info('the keys of a client cannot be had', { client: client.id, reason: messageOf(error) })
      return "the client's keys cannot be had"
    }
  }

  async #verify(client: Client, assertion: string): Promise<JWTPayload> {
    const { payload } = await jwtVerify(assertion, await this.#keysOf(client), {
      algorithms: assertionAlgorithms,
      issuer: client.id,
      subject: client.id,
      requiredClaims: ['exp', 'jti', 'aud'],
      clockTolerance: 30,
      currentDate: new Date(this.#clock.now()),
    })
    return payload
  }

  #claimFault(claims: JWTPayload): string | undefined {
    const issuer = this.#publicUrl()
    // The server must be the only audience: an assertion for several servers could be passed on between them.
    const audience = Array.isArray(claims.aud) && claims.aud.length === 1 ? claims.aud[0] : claims.aud
    if (audience !== issuer && audience !== issuer + paths.token) {
      return 'the client assertion is for another audience'
    }
    if (typeof claims.jti !== 'string' || claims.jti === '')
      return 'the jti of the client assertion is not a text'
    const left = (claims.exp ?? 0) - this.#clock.now() / 1000
    return left > maxLifeSeconds
      ? `the client assertion lives longer than ${maxLifeSeconds} seconds`
      : undefined
  }

  /** Returns the reason why an assertion of this owner no longer counts; undefined for its first use. */
  async useOnce(owner: string, claims: JWTPayload): Promise<string | undefined> {
    const id = sha256(`${owner} ${claims.jti ?? ''}`)
    return this.#store.transaction(async (tx) => {
      const seen = tx.in(this.#seen)
      if (await seen.get(id)) return 'the assertion was already used'
      await seen.insert({ id, expiresAt: ((claims.exp ?? 0) + 60) * 1000 })
      return undefined
    })
  }

  async #keysOf(client: Client): Promise<JWTVerifyGetKey> {
    const { jwks, jwks_uri: uri } = client.metadata
    if (typeof jwks === 'object' && jwks !== null) return createLocalJWKSet(usable(jwks as JSONWebKeySet))
    if (typeof uri !== 'string') throw new Error('it has neither jwks nor jwks_uri')
    const known = this.#keySets.get(uri)
    if (known && known.until > this.#clock.now()) return createLocalJWKSet(await known.keys)
    const keys = this.#fetch(uri).then(({ body }) => usable(body as JSONWebKeySet))
    if (this.#keySets.size > 1000) this.#keySets.clear()
    const kept = { keys, until: this.#clock.now() + keyLife }
    this.#keySets.set(uri, kept)
    // Who asks again at once must not make us ask a place that is no client's again and again.
    keys.catch(() => (kept.until = this.#clock.now() + noKeysLife))
    return createLocalJWKSet(await keys)
  }
}

/** Returns what an assertion claims, of which nothing is verified yet; nothing of a text that is none. */
export function claimsIn(assertion: string): Readonly<Record<string, unknown>> {
  try {
    const claims = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()) as unknown
    return (claims ?? {}) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}

/** Returns the keys that can be used: one of an unknown type must not spoil the set. */
function usable(set: JSONWebKeySet): JSONWebKeySet {
  const keys: unknown = (set as unknown as { keys?: unknown } | null)?.keys
  if (!Array.isArray(keys)) throw new Error('the key set has no keys')
  return { keys: keys.filter((key: { kty?: unknown }) => ['RSA', 'EC', 'OKP'].includes(String(key?.kty))) }
}
