/** A snapshot: a header, one line for each document, and a footer whose absence reveals a truncated file. */
import { setImmediate } from 'node:timers/promises'
import { type Clock, isoTime } from '#leaf/clock.ts'
import { AppError } from '#leaf/errors.ts'
import { stateFormat } from './journal.ts'
import { lineOf, goesOn, opensBatch, readChecked } from './checked-lines.ts'
import type { Stored } from '../store.ts'

const sliceDocuments = 256
// A document may be large, and all of a piece is in memory at once.
const pieceCharacters = 1 << 20

/** The first line of a snapshot or backup. */
export interface SnapshotHeader {
  readonly state: 'assistant-core'
  readonly format: number
  /** The schema version of the documents. */
  readonly schema: number
  /** The number of the last transaction in it. */
  readonly last: number
  /** The journal segment that continues it; 0 in a backup, which has none. */
  readonly segment: number
  /** The time it was made, ISO 8601, UTC. */
  readonly time: string
}

/** Makes the header of a snapshot written now; by default that of a backup of documents alone. */
export function snapshotHeader(
  schema: number,
  clock: Clock,
  { last, segment } = { last: 0, segment: 0 },
): SnapshotHeader {
  const time = isoTime(clock.now())
  return { state: 'assistant-core', format: stateFormat, schema, last, segment, time }
}

/** The last line. */
interface SnapshotFooter {
  readonly end: true
  readonly documents: number
}

/** A source of the documents of one moment, portion by portion; an empty portion is the end. */
export interface Portions {
  next(count: number): Portion | Promise<Portion>
}

/** Documents, each with its collection. */
type Portion = readonly (readonly [collection: string, document: Stored])[]

/** Yields the text of a snapshot in pieces of about a megabyte, or a few hundred documents; other work runs in between. */
export async function* snapshotText(header: SnapshotHeader, documents: Portions): AsyncGenerator<string> {
  yield opensBatch + lineOf(header)
  let count = 0
  for (;;) {
    const slice = await documents.next(sliceDocuments)
    if (slice.length === 0) break
    count += slice.length
    let piece = ''
    for (const [index, line] of slice.entries()) {
      piece += goesOn + lineOf(line)
      if (piece.length < pieceCharacters && index < slice.length - 1) continue
      yield piece
      piece = ''
      await setImmediate()
    }
  }
  yield goesOn + lineOf({ end: true, documents: count } satisfies SnapshotFooter)
}

/**
 * Reads a snapshot and passes each document to `visit` as it was parsed, and every fault to `fault` with its line. The
 * header is undefined when the first line is not one.
 */
export async function readSnapshot(
  path: string,
  visit: (collection: string, document: Stored, line: number) => void,
  fault: (line: number, message: string) => void,
): Promise<SnapshotHeader | undefined> {
  let header: SnapshotHeader | undefined
  let footer: SnapshotFooter | undefined
  let documents = 0
  let lines = 0
  await readChecked(path, (line) => {
    lines = line.number
    if (line.fault !== undefined) return fault(line.number, line.fault)
    if (footer) return fault(line.number, 'there is something after the end')
    if (line.number === 1) {
      if (isHeader(line.value)) header = line.value
      else fault(1, 'this is not the beginning of a state of assistant-core')
    } else if (Array.isArray(line.value)) {
      const [collection, document] = line.value as [string, Stored]
      documents++
      visit(collection, document, line.number)
    } else if (isFooter(line.value)) footer = line.value
    else fault(line.number, 'this is neither a document nor the end')
  })
  if (!footer) fault(lines, 'the end is missing')
  else if (footer.documents !== documents) {
    fault(lines, `there should be ${footer.documents} documents, but there are ${documents}`)
  }
  return header
}

/** Refuses a state that a newer version of the program wrote, before anything of it is touched. */
export function requireKnownFormat(format: number, name: string): void {
  if (format > stateFormat) {
    throw new AppError(
      'invalid',
      `${name} has format ${format}, but this version of assistant-core knows formats up to ${stateFormat}; use a newer version`,
    )
  }
}

function isHeader(value: unknown): value is SnapshotHeader {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Partial<SnapshotHeader>).state === 'assistant-core' &&
    typeof (value as Partial<SnapshotHeader>).format === 'number'
  )
}

function isFooter(value: unknown): value is SnapshotFooter {
  return typeof value === 'object' && value !== null && (value as Partial<SnapshotFooter>).end === true
}
