import { order, rank } from '../core/expression-values.ts'
import { fieldOf } from './field-index.ts'
import type { Stored } from './store.ts'

const chunkLength = 256

/** A place among the documents: a chunk, and an index in it. */
type Place = readonly [chunk: number, index: number]

/** Documents that lie side by side, and how many. */
interface Range {
  readonly count: number
  /** False when the visitor had enough. */
  each(visit: (document: Stored) => boolean): boolean
}

/**
 * Documents in the order of a field and, where they are alike in it, of their ids; in chunks: adding and removing
 * cost the same at a thousand and at a million, and reading all of them looks nothing up.
 */
export class SortedDocuments {
  readonly field: string
  readonly #chunks: Stored[][]
  readonly #values: (a: Stored, b: Stored) => number

  /** An order of documents that come in it. */
  constructor(field = 'id', documents: readonly Stored[] = []) {
    this.field = field
    this.#values = field === 'id' ? byId : valuesOf(field)
    this.#chunks = Array.from({ length: Math.ceil(documents.length / chunkLength) }, (_, n) =>
      documents.slice(n * chunkLength, (n + 1) * chunkLength),
    )
  }

  /** Documents, which may come in any order, by their ids. */
  static byId(documents: Iterable<Stored>): SortedDocuments {
    return new SortedDocuments('id', [...documents].sort(byId))
  }

  /** The same documents by a field. */
  by(field: string): SortedDocuments {
    return new SortedDocuments(field, this.#grouped(field) ?? this.#chunks.flat().sort(valuesOf(field)))
  }

  /** Puts a document where it belongs; one that is there already under the same place is replaced. */
  put(document: Stored): void {
    const last = this.#chunks.at(-1)
    // Documents that come in order, as from a snapshot, fill chunk after chunk.
    if (!last || this.#compare(document, last.at(-1)!) > 0) {
      if (last && last.length < chunkLength) last.push(document)
      else this.#chunks.push([document])
      return
    }
    const [found, index] = this.#firstAtLeast(document)
    const at = Math.min(found, this.#chunks.length - 1)
    const chunk = this.#chunks[at]!
    const place = found === at ? index : chunk.length
    if (chunk[place]?.id === document.id) chunk[place] = document
    else chunk.splice(place, 0, document)
    if (chunk.length > 2 * chunkLength) this.#chunks.splice(at + 1, 0, chunk.splice(chunkLength))
  }

  /** Removes a document, if it is there. */
  delete(document: Stored): void {
    const [at, index] = this.#firstAtLeast(document)
    const chunk = this.#chunks[at]
    if (chunk?.[index]?.id !== document.id) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Hands over the documents in order, those after one when it is given, until `visit` answers false. */
  each(visit: (document: Stored) => boolean, after?: Stored): void {
    const from = after ? this.#first((one) => this.#compare(one, after) > 0) : ([0, 0] as const)
    this.#between(from, [this.#chunks.length, 0], visit)
  }

  /** The same from the last value to the first; what is alike comes by id all the same. */
  eachDescending(visit: (document: Stored) => boolean, after?: Stored): void {
    let end: Place = [this.#chunks.length, 0]
    if (after) {
      const [from, to] = this.#group(after)
      const rest = this.#first((one) => this.#compare(one, after) > 0)
      if (!this.#between(rest, to, visit)) return
      end = from
    }
    for (;;) {
      const last = this.#before(end)
      if (!last) return
      const [at, index] = last
      const document = this.#chunks[at]![index]!
      const previous = this.#before(last)
      const alone = !previous || this.#values(this.#chunks[previous[0]]![previous[1]]!, document) !== 0
      const from = alone ? last : this.#group(document)[0]
      if (!this.#between(from, end, visit)) return
      end = from
    }
  }

  /** The documents whose value is of one kind with the given and comes where the operator says, and how many. */
  compared(operator: '=' | '<' | '<=' | '>' | '>=', value: number | string): Range {
    const kind = rank(value)
    const valueIn = (one: Stored): unknown => fieldOf(one, this.field)
    const least = operator.startsWith('<')
      ? this.#first((one) => rank(valueIn(one)) >= kind)
      : this.#first((one) => reaches(order(valueIn(one), value), operator !== '>'))
    const most = operator.startsWith('>')
      ? this.#first((one) => rank(valueIn(one)) > kind)
      : this.#first((one) => reaches(order(valueIn(one), value), operator === '<'))
    return this.#range(least, most)
  }

  /** The documents whose value is a list or an object. */
  lists(): Range {
    const least = this.#first((one) => rank(fieldOf(one, this.field)) >= rank(list))
    return this.#range(least, [this.#chunks.length, 0])
  }

  /** Up to `count` documents whose ids come after `id`, in order of the ids; the empty text comes before all. */
  after(id: string, count: number): Stored[] {
    const found: Stored[] = []
    if (count <= 0) return found
    this.each((document) => found.push(document) < count, { id })
    return found
  }

  /** The documents in order of a field with few values, of which each is put in its place once; undefined for other fields. */
  #grouped(field: string): Stored[] | undefined {
    const groups = new Map<unknown, Stored[]>()
    let seen = 0
    for (const chunk of this.#chunks) {
      for (const document of chunk) {
        const alike = keyOf(fieldOf(document, field))
        const group = groups.get(alike)
        if (group) group.push(document)
        else groups.set(alike, [document])
      }
      seen += chunk.length
      if (groups.size > seen / 4) return undefined
    }
    return [...groups.keys()].sort(order).flatMap((value) => groups.get(value)!)
  }

  #compare(a: Stored, b: Stored): number {
    return this.#values(a, b) || byId(a, b)
  }

  /** Written out: each document that is put or deleted is looked for here, once for each order. */
  #firstAtLeast(document: Stored): Place {
    const chunks = this.#chunks
    let [low, high] = [0, chunks.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const chunk = chunks[middle]!
      if (this.#compare(chunk[chunk.length - 1]!, document) >= 0) high = middle
      else low = middle + 1
    }
    const chunk = chunks[low]
    if (!chunk) return [low, 0]
    let [from, to] = [0, chunk.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (this.#compare(chunk[middle]!, document) >= 0) to = middle
      else from = middle + 1
    }
    return [low, from]
  }

  /** Where the documents with the same value begin and end. */
  #group(document: Stored): readonly [Place, Place] {
    return [
      this.#first((one) => this.#values(one, document) >= 0),
      this.#first((one) => this.#values(one, document) > 0),
    ]
  }

  /** The first document that comes late enough, which every one after it does too. */
  #first(lateEnough: (document: Stored) => boolean): Place {
    const chunk = firstWhere(this.#chunks, (one) => lateEnough(one.at(-1)!))
    const documents = this.#chunks[chunk]
    return documents ? [chunk, firstWhere(documents, lateEnough)] : [chunk, 0]
  }

  #before([chunk, index]: Place): Place | undefined {
    if (index > 0) return [chunk, index - 1]
    return chunk > 0 ? [chunk - 1, this.#chunks[chunk - 1]!.length - 1] : undefined
  }

  #between([chunk, index]: Place, [lastChunk, end]: Place, visit: (document: Stored) => boolean): boolean {
    for (let at = chunk; at <= lastChunk && at < this.#chunks.length; at++) {
      const documents = this.#chunks[at]!
      const to = at === lastChunk ? end : documents.length
      for (let i = at === chunk ? index : 0; i < to; i++) if (!visit(documents[i]!)) return false
    }
    return true
  }

  #range(least: Place, most: Place): Range {
    return { count: this.#distance(least, most), each: (visit) => this.#between(least, most, visit) }
  }

  #distance(from: Place, to: Place): number {
    let count = to[1] - from[1]
    for (let at = from[0]; at < to[0]; at++) count += this.#chunks[at]!.length
    return Math.max(0, count)
  }
}

const list = Object.freeze([])

/** One value for all that stand at the same place in an order. */
function keyOf(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  return typeof value === 'object' && value !== null ? list : (value ?? null)
}

function reaches(sorted: number, alike: boolean): boolean {
  return alike ? sorted >= 0 : sorted > 0
}

function firstWhere<T>(items: readonly T[], lateEnough: (item: T) => boolean): number {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (lateEnough(items[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

/** By a field; numbers, which times are, at once. */
function valuesOf(field: string): (a: Stored, b: Stored) => number {
  return (one, other) => {
    const a = fieldOf(one, field)
    const b = fieldOf(other, field)
    return typeof a === 'number' && typeof b === 'number' ? a - b : order(a, b)
  }
}

function byId(a: Stored, b: Stored): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}
