/** Small values that a peer carries for us and cannot change: JSON, signed with HMAC-SHA-256 for one purpose. */
import { hmac, sameText } from '../core/secrets.ts'

/** A value as opaque text. `purpose` (which includes whom it is for) is signed too: a cursor is never a request state. */
export function seal(key: string | Uint8Array, purpose: string, value: unknown): string {
  const body = Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${body}.${hmac(key, `${purpose}\n${body}`)}`
}

/** The value of a text that `seal` made with the same key for the same purpose; undefined for any other text. */
export function unseal(key: string | Uint8Array, purpose: string, text: string): unknown {
  const [body, mac, rest] = text.split('.')
  if (body === undefined || mac === undefined || rest !== undefined) return undefined
  if (!sameText(mac, hmac(key, `${purpose}\n${body}`))) return undefined
  return JSON.parse(Buffer.from(body, 'base64url').toString())
}
