/**
 * The text of a refresh token: `ac_rt_`, then family (22 characters), generation (6), secret (43) and mark
 * (22) in one piece, so that redaction takes all of it. Only the hash of the newest is stored; the mark proves
 * that an older one was ours, so that its reuse is known without keeping every one of them. A successor is
 * derived from its predecessor and a salt that the family keeps: whoever repeats a refresh gets the same
 * successor, and whoever reads the state cannot compute any.
 */
import { hmac, randomSecret, sameText, sha256 } from '#leaf/secrets.ts'
import type { Family } from '../records.ts'

const shape = /^ac_rt_([\w-]{22})([0-9a-z]{6})([\w-]{43})([\w-]{22})$/

/** A presented refresh token, taken apart. */
export interface RefreshToken {
  readonly family: string
  readonly generation: number
  readonly secret: string
  readonly mark: string
  readonly text: string
  readonly hash: string
}

/** Makes the first refresh token of a family. */
export function firstRefreshToken(family: Pick<Family, 'id' | 'markKey'>): string {
  return write(family, 1, randomSecret(''))
}

/** Derives the token that follows the presented one; the same for the same salt. */
export function successorOf(
  presented: RefreshToken,
  family: Pick<Family, 'id' | 'markKey'>,
  salt: string,
): string {
  return write(family, presented.generation + 1, hmac(salt, `refresh ${presented.text}`))
}

/** Derives the access token that comes with that successor. */
export function companionOf(presented: RefreshToken, salt: string): string {
  return `ac_at_${hmac(salt, `access ${presented.text}`)}`
}

/** Takes a presented text apart; undefined when it cannot be one of our tokens. */
export function readRefreshToken(text: string): RefreshToken | undefined {
  const parts = shape.exec(text)
  if (!parts) return undefined
  const [, family, generation, secret, mark] = parts as unknown as [string, string, string, string, string]
  return { family, generation: Number.parseInt(generation, 36), secret, mark, text, hash: sha256(text) }
}

/** True when we made the token for this family. */
export function isGenuine(presented: RefreshToken, family: Pick<Family, 'markKey'>): boolean {
  return sameText(presented.mark, markOf(family.markKey, presented.generation, presented.secret))
}

function write(family: Pick<Family, 'id' | 'markKey'>, generation: number, secret: string): string {
  const count = generation.toString(36).padStart(6, '0')
  return `ac_rt_${family.id}${count}${secret}${markOf(family.markKey, generation, secret)}`
}

function markOf(key: string, generation: number, secret: string): string {
  return hmac(key, `${generation} ${secret}`).slice(0, 22)
}
