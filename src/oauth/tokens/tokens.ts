/**
 * Bearer tokens and refresh tokens: issues, finds, rotates and revokes them. They are opaque, stored as SHA-256 (D4). Every
 * change of them runs in a store transaction, so that a refresh and a revocation never cross.
 */
import { all, compared } from '#state/questions.ts'
import { networksOf } from '#leaf/address.ts'
import { AppError } from '#leaf/errors.ts'
import type { Clock } from '#leaf/clock.ts'
import { randomId, randomSecret, sha256 } from '#leaf/secrets.ts'
import type { Settings } from '../../core/settings.ts'
import { type Soon, soon } from '#leaf/soon.ts'
import type { Collection, Store, Transaction } from '#state/store.ts'
import { findingOf, isBesides, livingTokens, tokenId, type TokenFinding } from './issued-tokens.ts'
import type { IssuedTokens, RefreshOutcome, Selection, TokenRequest } from './issued-tokens.ts'
import { familyRecords, tokenRecords } from '../records.ts'
import type { AccessToken, Family } from '../records.ts'
import { type Ended, hearEnded, tellEnded } from './revocation-news.ts'
import { isStanding, Revocation } from './revocation.ts'
import { companionOf, firstRefreshToken, isGenuine, readRefreshToken, successorOf } from './refresh-tokens.ts'
import type { RefreshToken } from './refresh-tokens.ts'

const day = 86_400_000
const cacheSize = 20_000

interface TokensDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: () => Settings
  /** Ends what a token keeps open beyond its request, such as streams; undefined when it is not known whose tokens ended. */
  readonly onRevoked: (ended: readonly Ended[] | undefined) => void
}

/** All tokens of the server. */
export class Tokens {
  readonly #deps: TokensDeps
  readonly #families: Collection<Family>
  readonly #tokens: Collection<AccessToken>
  readonly #revocation: Revocation
  /** Tokens by hash, as they were last found: only a lone daemon knows that they are so still. */
  readonly #cache = new Map<string, AccessToken>()
  readonly #cached: boolean
  #epoch = 0

  constructor(deps: TokensDeps) {
    this.#deps = deps
    this.#families = deps.store.collection(familyRecords)
    this.#tokens = deps.store.collection(tokenRecords)
    this.#revocation = new Revocation(deps, (tx, ended) => this.tellIn(tx, ended))
    this.#cached = deps.store.stats().kind === 'embedded'
    hearEnded(deps.store, (ended) => deps.onRevoked(ended))
  }

  /** Issues an access token and a refresh token that begin a family. */
  async issue(request: TokenRequest): Promise<IssuedTokens> {
    return this.#deps.store.transaction(async (tx) => this.issueIn(tx, request))
  }

  /** Issues them as part of a transaction; `family` is the id of the new family. AppError `invalid` for a wrong network. */
  async issueIn(tx: Transaction, request: TokenRequest, family = randomId()): Promise<IssuedTokens> {
    if (request.addresses) networksOf(request.addresses)
    const now = this.#deps.clock.now()
    const markKey = randomSecret('')
    const refreshToken = firstRefreshToken({ id: family, markKey })
    const record: Family = {
      ...request,
      id: family,
      createdAt: now,
      markKey,
      generation: 1,
      currentHash: sha256(refreshToken),
      ...this.#lifeFrom(now, now, request),
    }
    await tx.in(this.#families).insert(record)
    const access = await this.#issueAccess(tx, record, request.scopes, randomSecret('ac_at_'))
    return { ...access, refreshToken, family: record }
  }

  async #issueAccess(
    tx: Transaction,
    family: Family,
    scopes: readonly string[],
    accessToken: string,
    id = tokenId(family.id, family.generation),
  ) {
    const now = this.#deps.clock.now()
    const expiresIn = family.accessSeconds ?? this.#deps.settings().oauth.access_token_seconds
    const token: AccessToken = {
      id,
      hash: sha256(accessToken),
      family: family.id,
      user: family.user,
      client: family.client,
      clientName: family.clientName,
      scopes,
      resource: family.resource,
      status: 'Active',
      issuedAt: now,
      expiresAt: now + expiresIn * 1000,
      forgetAt: now + expiresIn * 1000 + day,
    }
    const { addresses, readOnly } = family
    await tx.in(this.#tokens).insert(addresses || readOnly ? { ...token, addresses, readOnly } : token)
    return { accessToken, expiresIn, scopes }
  }

  /** Returns a family's lifetime: each use prolongs it, up to the age at which its user is asked again (RFC 9700 §4.14.2). */
  #lifeFrom(now: number, createdAt: number, { vouchedBy }: Pick<TokenRequest, 'vouchedBy'>) {
    const {
      refresh_token_days: idle,
      grant_days: most,
      access_token_seconds: once,
    } = this.#deps.settings().oauth
    const end = most === 0 ? Infinity : createdAt + most * day
    const expiresAt = Math.min(now + (vouchedBy === undefined ? idle * day : once * 1000), end)
    return { expiresAt, forgetAt: expiresAt + 7 * day }
  }

  /**
   * Exchanges a refresh token for its successor. Of any number of simultaneous attempts one rotates and the
   * others get what it got, for as long as `refresh_grace_seconds` says; a reuse after that ends the family.
   */
  async refreshIn(
    tx: Transaction,
    text: string,
    client: string,
    scopes: (family: Family) => readonly string[],
  ): Promise<RefreshOutcome> {
    const presented = readRefreshToken(text)
    const family = presented && (await tx.in(this.#families).get(presented.family))
    if (!presented || !family || !isGenuine(presented, family)) {
      return { kind: 'refused', why: 'unknown refresh token' }
    }
    if (family.client !== client) {
      return { kind: 'refused', why: 'the refresh token was issued to another client', family }
    }
    if (family.revokedAt !== undefined)
      return { kind: 'refused', why: 'the refresh token was revoked', family }
    if (family.expiresAt <= this.#deps.clock.now()) {
      return { kind: 'refused', why: 'the refresh token has expired', family }
    }
    if (presented.hash === family.currentHash) return this.#rotate(tx, presented, family, scopes(family))
    const graceEnds = (family.rotatedAt ?? 0) + this.#deps.settings().oauth.refresh_grace_seconds * 1000
    if (presented.hash === family.previousHash && this.#deps.clock.now() < graceEnds) {
      return this.#repeat(tx, presented, family, scopes(family))
    }
    await this.revokeIn(tx, { family: family.id }, 'a refresh token was used twice')
    return { kind: 'reused', why: 'the refresh token was already used', family }
  }

  async #rotate(tx: Transaction, presented: RefreshToken, family: Family, scopes: readonly string[]) {
    const now = this.#deps.clock.now()
    const salt = randomSecret('')
    const refreshToken = successorOf(presented, family, salt)
    const next: Family = {
      ...family,
      generation: presented.generation + 1,
      currentHash: sha256(refreshToken),
      previousHash: presented.hash,
      rotatedAt: now,
      rotationSalt: salt,
      ...this.#lifeFrom(now, family.createdAt, family),
    }
    await tx.in(this.#families).put(next)
    const access = await this.#issueAccess(tx, next, scopes, companionOf(presented, salt))
    // Without end, whoever refreshes all the time keeps half a million of them, which a revocation has to reach.
    if (next.generation > livingTokens)
      await tx.in(this.#tokens).delete(tokenId(next.id, next.generation - livingTokens))
    return { kind: 'rotated' as const, issued: { ...access, refreshToken, family: next } }
  }

  async #repeat(tx: Transaction, presented: RefreshToken, family: Family, scopes: readonly string[]) {
    const salt = family.rotationSalt ?? ''
    const refreshToken = successorOf(presented, family, salt)
    const accessToken = companionOf(presented, salt)
    const known = await tx.in(this.#tokens).first({ where: { hash: sha256(accessToken) } })
    const left = known ? Math.floor((known.expiresAt - this.#deps.clock.now()) / 1000) : 0
    if (known?.status === 'Active' && left > 0) {
      const issued = { accessToken, refreshToken, expiresIn: left, scopes: known.scopes, family }
      return { kind: 'repeated' as const, issued }
    }
    const access = await this.#issueAccess(tx, family, scopes, randomSecret('ac_at_'), randomId())
    return { kind: 'repeated' as const, issued: { ...access, refreshToken, family } }
  }

  /** Finds an access token and judges it. */
  find(accessToken: string): Soon<TokenFinding> {
    const hash = sha256(accessToken)
    const now = this.#deps.clock.now()
    const known = this.#cached ? this.#cache.get(hash) : undefined
    const found = known && known.forgetAt > now ? known : this.#lookUp(hash)
    return soon(found, (token) => findingOf(token, now))
  }

  /** Returns what an access token was when it was last looked up here; it may have been revoked since. */
  remembered(accessToken: string): TokenFinding {
    return findingOf(this.#cache.get(sha256(accessToken)), this.#deps.clock.now())
  }

  async #lookUp(hash: string): Promise<AccessToken | undefined> {
    const epoch = this.#epoch
    const stored = await this.#tokens.first({ where: { hash } })
    const family = stored && isBesides(stored) ? await this.#families.get(stored.family) : undefined
    const token: AccessToken | undefined =
      stored && family?.revokedAt !== undefined ? { ...stored, status: 'Revoked' } : stored
    // A revocation meanwhile has emptied the cache; a token read before it must not get in.
    if (epoch !== this.#epoch) return token
    if (token?.status !== 'Active') this.#cache.delete(hash)
    else {
      if (this.#cache.size >= cacheSize && !this.#cache.has(hash))
        this.#cache.delete(this.#cache.keys().next().value!)
      this.#cache.set(hash, token)
    }
    return token
  }

  /** Returns the family of a refresh token that works now. */
  async findRefresh(text: string): Promise<Family | undefined> {
    const family = await this.familyOf(text)
    const isCurrent = family?.currentHash === sha256(text) && family.revokedAt === undefined
    return isCurrent && family.expiresAt > this.#deps.clock.now() ? family : undefined
  }

  /** Returns the family that a refresh token belongs or belonged to, even if it no longer works. */
  async familyOf(text: string): Promise<Family | undefined> {
    const presented = readRefreshToken(text)
    const family = presented && (await this.#families.get(presented.family))
    return presented && family && isGenuine(presented, family) ? family : undefined
  }

  /** Returns families, newest first, at most `limit`. */
  async families(
    where: { user?: string; client?: string; grant?: string } = {},
    limit?: number,
  ): Promise<readonly Family[]> {
    return this.#families.find({ where, limit, order: [{ field: 'createdAt', descending: true }] })
  }

  /** Returns known access tokens, newest first: at most `limit`, those after one of them. AppError `not_found` for no token. */
  async list(
    where: { user?: string; client?: string; family?: string } = {},
    { limit, after }: { readonly limit?: number | undefined; readonly after?: string | undefined } = {},
  ): Promise<readonly AccessToken[]> {
    const order = [{ field: 'issuedAt', descending: true }]
    if (after === undefined) return this.#tokens.find({ where, order, limit })
    const last = await this.#tokens.get(after)
    if (!last) throw new AppError('not_found', `no token ${after}`)
    return this.#tokens.find({ where, order, limit, after: [last.issuedAt, last.id] })
  }

  /** True when a client has tokens that can still be used or refreshed. */
  async isLive(client: string): Promise<boolean> {
    const live = await this.#families.first({
      where: { client },
      holds: all(isStanding, compared('expiresAt', '>', this.#deps.clock.now())),
    })
    return live !== undefined
  }

  /** Ends tokens at once; returns the families that ended. */
  async revoke(selection: Selection, why: string): Promise<readonly Family[]> {
    return this.#revocation.revoke(selection, why)
  }

  /** Ends tokens as part of a transaction; takes effect on the next request, and on what is open, once that commits. */
  async revokeIn(tx: Transaction, selection: Selection, why: string): Promise<readonly Family[]> {
    return this.#revocation.revokeIn(tx, selection, why)
  }

  /** Ends one access token and leaves its family (RFC 7009 §2.1 for access tokens). */
  async revokeAccessToken(token: AccessToken): Promise<void> {
    await this.#deps.store.transaction(async (tx) => {
      await tx.in(this.#tokens).update(token.id, (one) => ({ ...one, status: 'Revoked' }))
      this.tellIn(tx, [token])
    })
  }

  /** Ends cached tokens and what is open, here and elsewhere, once a revocation of tokens or API keys commits; the only place that does. */
  tellIn(tx: Transaction, ended: readonly Ended[]): void {
    tellEnded(tx, ended)
    tx.onCommit(() => {
      this.#epoch++
      this.#cache.clear()
      this.#deps.onRevoked(ended)
    })
  }
}
