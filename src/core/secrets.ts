/** Where randomness enters the program (D13), and how secrets are stored and compared (D4). */
import { createHmac, hash, randomFillSync, timingSafeEqual } from 'node:crypto'

// Drawing from the kernel costs 2 µs a call; a pool makes it a copy.
const pool = Buffer.allocUnsafe(8192)
let used = pool.length

function randomText(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const end = used + bytes
  const text = pool.toString('base64url', used, end)
  pool.fill(0, used, end)
  used = end
  return text
}

/** A secret of 256 bits in base64url behind a prefix by which secret scanners know it, such as `ac_at_…`. */
export function randomSecret(prefix: string): string {
  return `${prefix}${randomText(32)}`
}

/** An identifier of 128 bits in base64url: unguessable and unique, but not a secret. */
export function randomId(): string {
  return randomText(16)
}

let ids = ''
let idsUsed = 0

/** The same for what soon is forgotten, at a tenth of the cost: it is cut from a text that stays as long as any part of it. */
export function briefId(): string {
  if (idsUsed === ids.length) {
    ids = randomText((mostIds * idLength * 3) / 4)
    idsUsed = 0
  }
  return ids.slice(idsUsed, (idsUsed += idLength))
}

/** Characters of base64url that have 128 bits. */
const idLength = 22
const mostIds = 256

/** The SHA-256 of a text in base64url: the only form in which a token is stored. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url')
}

/** The HMAC-SHA-256 of a text in base64url, for values that a peer carries for us. */
export function hmac(key: string | Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  // Equal lengths for timingSafeEqual, and no length oracle: compare digests.
  return timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
}
