/**
 * Caches the answers to the list methods, serialised once per snapshot and kept as bytes (design decision D14):
 * one for each digest of what a principal sees, revision and page.
 */
import { hmac, sameText } from '#leaf/secrets.ts'
import type { Call } from './call.ts'
import { errorCodes, type Json, JsonRpcError } from './json-rpc.ts'
import { shapeResult } from './shape.ts'

/** The size of the cache at which it starts anew: many users with prompts of their own must not fill the memory. */
const maxBytes = 32 * 1024 * 1024

/** The source of one list of one call: its name, the digest of its content, and its items on demand. */
export interface ListSource<Item> {
  /** The name of the array in the result. */
  readonly field: string
  /** A digest, equal exactly when the items are equal. */
  readonly digest: string
  readonly items: () => readonly Item[]
  readonly keyOf: (item: Item) => string
  readonly shape: (item: Item) => Json
}

/** The serialised pages of the current snapshot. */
export class Pages {
  readonly #key: string | Uint8Array
  readonly #version: string
  #snapshot = ''
  #pages = new Map<string, Buffer>()
  #bytes = 0

  constructor(key: string | Uint8Array, version: string) {
    this.#key = key
    this.#version = version
  }

  /** Returns the result of a list method as JSON bytes. JsonRpcError -32602 for a cursor that is not ours. */
  page<Item>(call: Call, source: ListSource<Item>): Buffer {
    if (this.#snapshot !== call.snapshot.digest || this.#bytes > maxBytes) {
      this.#snapshot = call.snapshot.digest
      this.#pages = new Map()
      this.#bytes = 0
    }
    const cursor = call.params['cursor']
    const name = `${source.field}\n${call.revision.name}\n${source.digest}`
    const key = cursor === undefined ? name : `${name}\n${JSON.stringify(cursor)}`
    const kept = this.#pages.get(key)
    if (kept) return kept
    const made = this.#make(call, source, cursor)
    this.#pages.set(key, made)
    this.#bytes += made.length + key.length
    return made
  }

  /** Makes one page from its items, in the shape of the revision. */
  #make<Item>(call: Call, source: ListSource<Item>, cursor: unknown): Buffer {
    const items = source.items()
    const start = cursor === undefined ? 0 : this.#startOf(source, items, cursor)
    const end = start + call.snapshot.settings.mcp.page_size
    const last = items[end - 1]
    const more = last !== undefined && end < items.length
    const result = {
      [source.field]: items.slice(start, end).map((item) => source.shape(item)),
      ...(more && {
        nextCursor: this.#cursor(source.field, source.keyOf(last), end),
      }),
    }
    return Buffer.from(JSON.stringify(shapeResult(call, result, this.#version, true)))
  }

  /** Returns the start of a page: after the last item of the page before, wherever that is now. */
  #startOf<Item>(source: ListSource<Item>, items: readonly Item[], cursor: unknown): number {
    const [body, mac] = typeof cursor === 'string' ? cursor.split('.') : []
    if (body === undefined || mac === undefined || !sameText(mac, this.#sign(source.field, body))) {
      throw new JsonRpcError(errorCodes.invalidParams, 'params.cursor: not a cursor of this list')
    }
    const { after, at } = JSON.parse(Buffer.from(body, 'base64url').toString()) as {
      after: string
      at: number
    }
    const index = items.findIndex((item) => source.keyOf(item) === after)
    return index < 0 ? Math.min(at, items.length) : index + 1
  }

  /** Makes the signed cursor that a client sends back for the next page and cannot change. */
  #cursor(field: string, after: string, at: number): string {
    const body = Buffer.from(JSON.stringify({ after, at })).toString('base64url')
    return `${body}.${this.#sign(field, body)}`
  }

  #sign(field: string, body: string): string {
    return hmac(this.#key, `cursor ${field}\n${body}`)
  }
}
