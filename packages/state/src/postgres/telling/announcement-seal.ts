/**
 * The seal of announcements between daemons: authenticated encryption. Any role that may connect to the database hears
 * the channel, and can announce on it; the key lies among the tables of the state, where only the service reads. Without
 * it one learns nothing and is not believed. A seal is bound to its transaction and to the run of the server, against
 * replay.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { randomId } from '#leaf/secrets.ts'

const algorithm = 'aes-256-gcm'
const [nonceBytes, tagBytes] = [12, 16]

/** The sealed text, and the database transaction in which it was announced. */
export interface Announcement {
  readonly text: string
  readonly transaction: bigint
  /** A nonce, unique within its transaction. */
  readonly nonce: string
}

/** A seal with one key, for one run of the server, named by its start time. */
export class Seal {
  readonly #key: string
  readonly #server: number

  constructor(key: string, server: number) {
    this.#key = key
    this.#server = server
  }

  close(text: string, transaction: string, server = this.#server): string {
    const nonce = Buffer.from(randomId(), 'base64url').subarray(0, nonceBytes)
    const cipher = createCipheriv(algorithm, this.#keyOf(transaction, server), nonce)
    const bytes = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `sealed ${transaction} ${bytes.toString('base64url')}`
  }

  /** Opens a message; undefined when it was not sealed with this key for this run. */
  open(message: string): Announcement | undefined {
    const [, transaction, sealed] = /^sealed (\d{1,20}) ([\w-]+)$/.exec(message) ?? []
    const bytes = Buffer.from(sealed ?? '', 'base64url')
    if (transaction === undefined || bytes.length < nonceBytes + tagBytes) return undefined
    const nonce = bytes.subarray(0, nonceBytes)
    const key = this.#keyOf(transaction, this.#server)
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    try {
      const text =
        decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
      return { text, transaction: BigInt(transaction), nonce: nonce.toString('base64') }
    } catch {
      return undefined
    }
  }

  /** Derives a key for each transaction, so that no nonce is ever used twice with one. */
  #keyOf(transaction: string, server: number): Buffer {
    return createHmac('sha256', this.#key).update(`announcement ${server} ${transaction}`).digest()
  }
}
