/** Randomness, which enters the program only here (D13), and how secrets are stored and compared (D4). */
import { createHmac, hash, randomFillSync, timingSafeEqual } from 'node:crypto'

// Reading randomness from the kernel costs 2 µs a call; a pool makes it a copy.
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

/** Makes a secret of 256 bits in base64url after a prefix that secret scanners recognize, such as `ac_at_…`. */
export function randomSecret(prefix: string): string {
  return `${prefix}${randomText(32)}`
}

/** Makes an identifier of 128 bits in base64url: unguessable and unique, but not a secret; never one that a command takes for an option. */
export function randomId(): string {
  for (;;) {
    const id = randomText(16)
    if (!id.startsWith('-')) return id
  }
}

let ids = ''
let idsUsed = 0

/** Makes a short-lived identifier at a tenth of the cost: a slice of a text that stays in memory as long as any slice of it. */
export function briefId(): string {
  if (idsUsed === ids.length) {
    ids = randomText((mostIds * idLength * 3) / 4)
    idsUsed = 0
  }
  return ids.slice(idsUsed, (idsUsed += idLength))
}

/** The number of base64url characters for 128 bits. */
const idLength = 22
const mostIds = 256

/** Returns the SHA-256 of a text in base64url: the only form in which a token is stored. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url')
}

/** Returns the HMAC-SHA-256 of a text in base64url, for values that a peer carries for us. */
export function hmac(key: string | Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** True when two texts are equal, in a time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  // Digests are compared: timingSafeEqual needs equal lengths, and the length must not leak.
  return timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)))
}
