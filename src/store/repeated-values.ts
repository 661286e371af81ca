import { deepFreeze } from './plain-json.ts'
import type { Stored } from './store.ts'

/** A field is given up when, after so many documents, less than half of its values had been seen before. */
const enough = 1000
const mostValues = 10_000
const longestText = 200

/**
 * One value in memory for the equal ones that documents read from disk hold: whose a token is, its client, its scopes. Parsed
 * anew for each document they take a third of its memory.
 */
export class RepeatedValues {
  readonly #collections = new Map<string, Map<string, Field>>()

  /** A document that was just parsed, frozen at every depth. */
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
    return deepFreeze(document)
  }
}

class Field {
  readonly #values = new Map<string, unknown>()
  #asked = 0
  #seen = 0

  /** The value, or an equal one that was seen before. */
  same(value: string | readonly string[]): unknown {
    if (this.#asked === enough && this.#seen < enough / 2) return value
    if (this.#asked < enough) this.#asked++
    // A text that looks like a list is none.
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
