import { order, rank } from '../questions/expression-values.ts'
import { Slice, type Slices } from '#leaf/slices.ts'
import { sorted } from '#leaf/smallest.ts'
import { fieldOf } from './field-index.ts'
import type { Stored } from '../store.ts'

const chunkLength = 256
const mostRecent = 256

/** A place among the documents: a chunk, and an index in it. */
type Place = readonly [chunk: number, index: number]

/** A visitor of documents; it returns false to stop. */
type Visit = (document: Stored) => boolean

/** A range of adjacent documents, and their number. */
interface Range {
  readonly count: number
  /** Visits the documents; false when the visitor stopped. */
  each(visit: Visit): boolean
}

/**
 * Documents sorted by a field, ties by id, held in chunks: adding and removing cost the same at a thousand and at a
 * million, and reading all of them needs no look-up.
 */
export class SortedDocuments {
  readonly field: string
  readonly #chunks: Stored[][]
  /** Documents that were put since somebody read, in that order. */
  #recent: Stored[] = []
  readonly #values: (a: Stored, b: Stored) => number

  /** Takes documents that are sorted already. */
  constructor(field = 'id', documents: readonly Stored[] = []) {
    this.field = field
    this.#values = field === 'id' ? byId : valuesOf(field)
    this.#chunks = Array.from({ length: Math.ceil(documents.length / chunkLength) }, (_, n) =>
      documents.slice(n * chunkLength, (n + 1) * chunkLength),
    )
  }

  /** Sorts documents, which may come in any order, by id. The caller has to add what is written between the slices. */
  static *byId(documents: Iterable<Stored>): Slices<SortedDocuments> {
    const all: Stored[] = []
    const slice = new Slice()
    for (const document of documents) {
      all.push(document)
      if (slice.isOver()) yield* slice.pause()
    }
    return new SortedDocuments('id', yield* sorted(all, byId))
  }

  /** Sorts the documents by a field; the caller adds what is written between the slices, as above. */
  *by(field: string): Slices<SortedDocuments> {
    const all: Stored[] = []
    yield* walk(
      (visit, after) => this.each(visit, after),
      (document) => all.push(document) > 0,
    )
    return new SortedDocuments(field, yield* sorted(all, valuesOf(field)))
  }

  /**
   * Inserts a document; one with the same value and id is replaced. It gets its place when somebody reads, or with many others:
   * in their order they are found places for at a quarter of the cost, as each search ends where memory was just read.
   */
  put(document: Stored): void {
    if (this.#recent.push(document) >= mostRecent) this.#place()
  }

  #place(): void {
    if (this.#recent.length === 0) return
    const recent = this.#recent
    this.#recent = []
    if (recent.length > 1) recent.sort((a, b) => this.#compare(a, b))
    for (const document of recent) this.#insert(document)
  }

  #insert(document: Stored): void {
    const last = this.#chunks.at(-1)
    // Documents that arrive sorted, as from a snapshot, fill chunk after chunk.
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
    this.#place()
    const [at, index] = this.#firstAtLeast(document)
    const chunk = this.#chunks[at]
    if (chunk?.[index]?.id !== document.id) return
    chunk.splice(index, 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  /** Visits the documents in order, those after `after` when it is given, until `visit` returns false. */
  each(visit: Visit, after?: Stored): void {
    this.#place()
    const from = after ? this.#first((one) => this.#compare(one, after) > 0) : ([0, 0] as const)
    this.#between(from, [this.#chunks.length, 0], visit)
  }

  /** Does the same from the last value to the first; ties still come by ascending id. */
  eachDescending(visit: Visit, after?: Stored): void {
    this.#place()
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

  /** Returns the range of documents whose value is of the same kind as the given one and compares so with it. */
  compared(operator: '=' | '<' | '<=' | '>' | '>=', value: number | string): Range {
    this.#place()
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

  /** Returns the range of documents whose value is a list or an object. */
  lists(): Range {
    this.#place()
    const least = this.#first((one) => rank(fieldOf(one, this.field)) >= rank(list))
    return this.#range(least, [this.#chunks.length, 0])
  }

  /** Returns up to `count` documents whose ids come after `id`, in order of ids; the empty text comes before all. */
  after(id: string, count: number): Stored[] {
    const found: Stored[] = []
    if (count <= 0) return found
    this.each((document) => found.push(document) < count, { id })
    return found
  }

  #compare(a: Stored, b: Stored): number {
    return this.#values(a, b) || byId(a, b)
  }

  /** Finds the first place at or after a document. Written out for speed: every put and delete calls it, once per order. */
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

  /** Returns where the documents with the same value begin and end. */
  #group(document: Stored): readonly [Place, Place] {
    return [
      this.#first((one) => this.#values(one, document) >= 0),
      this.#first((one) => this.#values(one, document) > 0),
    ]
  }

  /** Finds the first document that is late enough; all after it are too. */
  #first(lateEnough: (document: Stored) => boolean): Place {
    const chunk = firstWhere(this.#chunks, (one) => lateEnough(one.at(-1)!))
    const documents = this.#chunks[chunk]
    return documents ? [chunk, firstWhere(documents, lateEnough)] : [chunk, 0]
  }

  #before([chunk, index]: Place): Place | undefined {
    if (index > 0) return [chunk, index - 1]
    return chunk > 0 ? [chunk - 1, this.#chunks[chunk - 1]!.length - 1] : undefined
  }

  #between([chunk, index]: Place, [lastChunk, end]: Place, visit: Visit): boolean {
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

/** Returns a comparison by a field, with a fast path for numbers such as times. */
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

/** Visits documents in order, a slice at a time; each slice continues after the last document of the one before. */
export function* walk(
  each: (visit: Visit, after: Stored | undefined) => void,
  visit: Visit,
  after?: Stored,
): Slices<void> {
  const slice = new Slice()
  let last = after
  for (;;) {
    let goesOn = false
    each((document) => {
      last = document
      if (!visit(document)) return false
      goesOn = slice.isOver()
      return !goesOn
    }, last)
    if (!goesOn) return
    yield
    slice.begin()
  }
}
