/** A snapshot: a header, one line for each document, and a footer by which a cut one is known. */
import { setImmediate } from 'node:timers/promises'
import { type Clock, isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { stateFormat } from './journal.ts'
import { lineOf, goesOn, opensBatch, readChecked } from './lines.ts'
import type { Stored } from './store.ts'

const sliceDocuments = 256

/** The first line of a snapshot or backup. */
export interface SnapshotHeader {
  readonly state: 'assistant-core'
  readonly format: number
  /** The version of the documents' shapes. */
  readonly schema: number
  /** The number of the last transaction that is part of it. */
  readonly last: number
  /** The journal segment that goes on from here; 0 in a backup, which has none. */
  readonly segment: number
  /** ISO 8601, UTC. */
  readonly time: string
}

/** The first line of what is written now; without more, of a backup of documents alone. */
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

/** The documents of one moment, a portion after the other; an empty portion is the end. */
export interface Portions {
  next(count: number): Portion | Promise<Portion>
}

/** Documents, each with its collection. */
type Portion = readonly (readonly [collection: string, document: Stored])[]

/** The text of a snapshot in pieces of a few hundred documents; other work is let in between them. */
export async function* snapshotText(header: SnapshotHeader, documents: Portions): AsyncGenerator<string> {
  yield opensBatch + lineOf(header)
  let count = 0
  for (;;) {
    const slice = await documents.next(sliceDocuments)
    if (slice.length === 0) break
    count += slice.length
    yield slice.map((line) => goesOn + lineOf(line)).join('')
    await setImmediate()
  }
  yield goesOn + lineOf({ end: true, documents: count } satisfies SnapshotFooter)
}

/**
 * Reads a snapshot and hands over each document as it was parsed. Every fault is handed to `fault` with its line; the
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
