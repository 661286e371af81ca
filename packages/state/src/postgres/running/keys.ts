/** The documents that transactions wait for: within this process by their keys, among all daemons by a number of each. */
import { createHash } from 'node:crypto'

/** Returns the key of a document, or, without an id, of what a query of a collection may find. */
export function keyOf(name: string, id = ''): string {
  return `${name}\0${id}`
}

/** The most documents of one collection that are waited for one by one. */
const mostOfOne = 32

/** Returns at most some keys of each collection: of very many documents, the whole collection is waited for. */
export function fewKeys(keys: Iterable<string>): string[] {
  const byName = new Map<string, string[]>()
  for (const key of new Set(keys)) {
    const name = key.slice(0, key.indexOf('\0'))
    byName.set(name, [...(byName.get(name) ?? []), key])
  }
  return [...byName].flatMap(([name, some]) => (some.length > mostOfOne ? [keyOf(name)] : some))
}

/** Returns the numbers of keys for advisory locks, in the order in which everybody takes them. */
export function lockNumbers(keys: readonly string[]): readonly string[] {
  const numbers = keys.map((key) => createHash('sha256').update(key).digest().readBigInt64BE())
  return [...new Set(numbers)].sort((a, b) => (a < b ? -1 : 1)).map(String)
}
