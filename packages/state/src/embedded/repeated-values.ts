import { sha256 } from '#leaf/secrets.ts'
import type { Stored } from '../store.ts'

/** The number of documents after which a field is given up when less than half of its values were repeated. */
const enough = 1000
const mostValues = 10_000
const longestText = 200
/** The length from which a text is worth a digest to be held only once. */
const longText = 1000

/**
 * Interns equal values of documents read from disk: a token's owner, its client, its scopes. As separate copies they would
 * take a third of a document's memory. Long texts stand in a document and again in its history: a state that fitted into
 * memory while it was written must fit when it is read.
 */
export class RepeatedValues {
  readonly #collections = new Map<string, Map<string, Field>>()
  readonly #long = new Map<string, string>()

  /** Freezes a document that was just parsed, at every depth, and shares its repeated values. */
  freeze(collection: string, document: Stored): Stored {
    let fields = this.#collections.get(collection)
    if (!fields) this.#collections.set(collection, (fields = new Map()))
    const members = document as unknown as Record<string, unknown>
    for (const name in members) {
      const value = members[name]
      if (typeof value !== 'string' && !isListOfNames(value)) continue
      let field = fields.get(name)
      if (!field) fields.set(name, (field = new Field()))
      members[name] = field.same(value)
    }
    return this.#frozen(document)
  }

  #frozen<T extends object>(value: T): T {
    const members = value as Record<string, unknown>
    for (const name of Object.keys(members)) {
      const member = members[name]
      if (typeof member === 'string') {
        if (member.length >= longText) members[name] = this.#oneOf(member)
      } else if (typeof member === 'object' && member !== null) this.#frozen(member)
    }
    return Object.freeze(value)
  }

  // Long texts collide as keys of a Map, so their digests are the keys.
  #oneOf(text: string): string {
    const key = sha256(text)
    const known = this.#long.get(key) ?? text
    this.#long.set(key, known)
    return known
  }
}

class Field {
  readonly #values = new Map<string, unknown>()
  #asked = 0
  #seen = 0

  /** Returns the value, or an equal one seen before. */
  same(value: string | readonly string[]): unknown {
    if (this.#asked === enough && this.#seen < enough / 2) return value
    if (this.#asked < enough) this.#asked++
    // The quote keeps a text that looks like a list apart from a list.
    const key = typeof value === 'string' ? `"${value}` : JSON.stringify(value)
    if (key.length > longestText) return value
    const known = this.#values.get(key)
    if (known !== undefined) {
      if (this.#asked < enough) this.#seen++
      return known
    }
    if (this.#values.size < mostValues) this.#values.set(key, value)
    return value
  }
}

function isListOfNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= 8 && value.every((item) => typeof item === 'string')
}
