/** Reads a state folder: the snapshot, then the journal segments that continue it. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '#leaf/errors.ts'
import { type JournalLine, type SegmentHeader, segmentName, segmentNumber } from './journal.ts'
import { journalHeadName, readJournalHead } from './journal-head.ts'
import { readChecked } from './checked-lines.ts'
import { RepeatedValues } from './repeated-values.ts'
import { readSnapshot, requireKnownFormat, type SnapshotHeader } from './snapshot.ts'
import { State, type StoredChange } from './state.ts'
import type { Stored } from '../store.ts'

/** The file names of the snapshot, and of one that is being written. */
export const snapshotName = 'snapshot.jsonl'
const unfinishedSnapshotName = 'snapshot.jsonl.new'

/** The file name of a snapshot that is being restored. */
export const unfinishedRestoreName = 'restore.unfinished'

const shownFaults = 10

/** A receiver of what is read. */
export interface Reader {
  /** `place` is `file:line`. */
  document(collection: string, document: Stored, place: string): void
  transaction(changes: readonly StoredChange[]): void
  fault(place: string, message: string): void
}

/** The last segment, and the length of its good part. */
export interface LastSegment {
  readonly segment: number
  /** Bytes to keep; 0 when not even its first line was finished. */
  readonly good: number
  /** The torn end that a crash left after the good part. */
  readonly torn?: { readonly line: number; readonly bytes: number }
}

/** The contents of a state folder. */
export interface RecoveredState {
  readonly header: SnapshotHeader
  /** The number of the last transaction. */
  readonly last: number
  /** The journal's own name. */
  readonly id: string | undefined
  /** The highest time recorded in it. */
  readonly seen: number
  readonly lastSegment: LastSegment | undefined
  /** Files that a finished compaction or an unfinished snapshot left. */
  readonly leftOver: readonly string[]
  readonly bytes: number
}

/** Reads the whole state; undefined when the folder holds none. AppError `invalid` when a newer version wrote it. */
export async function readState(folder: string, reader: Reader): Promise<RecoveredState | undefined> {
  // The head is read first: a running daemon only adds to it, and what is read afterwards includes all it counts.
  const head = await readJournalHead(folder)
  const names = await readdir(folder)
  const segments = names.map(segmentNumber).filter((number) => number !== undefined)
  segments.sort((a, b) => a - b)
  if (names.includes(unfinishedRestoreName)) {
    // Without its snapshot this would look like a state that was never used.
    reader.fault(
      `${unfinishedRestoreName}:1`,
      'a restore was not finished; empty the folder and restore again',
    )
    return undefined
  }
  if (!names.includes(snapshotName)) {
    if (segments.length > 0 && !(await isOnlyBegun(folder, segments))) {
      reader.fault(`${snapshotName}:1`, 'the file is missing, but there are journals that go on from it')
    }
    return undefined
  }
  const values = new RepeatedValues()
  const header = await readSnapshot(
    join(folder, snapshotName),
    (collection, document, line) =>
      reader.document(collection, values.freeze(collection, document), `${snapshotName}:${line}`),
    (line, message) => reader.fault(`${snapshotName}:${line}`, message),
  )
  if (!header) return undefined
  requireKnownFormat(header.format, snapshotName)
  const current = segments.filter((segment) => segment >= header.segment)
  const replay = new Replay(header, { folder, reader, values })
  for (const [index, segment] of current.entries()) {
    if (segment !== header.segment + index) {
      reader.fault(`${segmentName(header.segment + index)}:1`, 'the file is missing')
      break
    }
    await replay.read(segment, index === current.length - 1)
  }
  const known = replay.id !== undefined && head?.of === replay.id ? Number(head.n) : 0
  if (known > replay.last)
    reader.fault(
      segmentName(current.at(-1) ?? header.segment),
      `${replay.last + 1 === known ? `transaction ${known}` : `transactions ${replay.last + 1} to ${known}`} had been acknowledged and cannot be read any more; to go on without, remove ${journalHeadName}`,
    )
  if (current.length === 0) reader.fault(`${segmentName(header.segment)}:1`, 'the file is missing')
  return {
    header,
    last: replay.last,
    id: replay.id,
    seen: replay.seen,
    lastSegment: replay.lastSegment,
    leftOver: [
      ...segments.filter((segment) => segment < header.segment).map(segmentName),
      ...names.filter((name) => name === unfinishedSnapshotName),
    ],
    bytes: replay.bytes + (await stat(join(folder, snapshotName))).size,
  }
}

/** Reads the state into memory, calling `read` for each document and transaction. AppError `invalid` names damaged places. */
export async function loadState(
  folder: string,
  schema: number,
  read: () => void = () => undefined,
): Promise<{ readonly state: State; readonly found: RecoveredState | undefined }> {
  const state = new State(schema)
  const faults: string[] = []
  const found = await readState(folder, {
    document: (collection, document) => {
      read()
      state.table(collection).set(document.id, document)
    },
    transaction: (changes) => {
      read()
      for (const { collection, id, document } of changes)
        state.table(collection).set(id, document ?? undefined)
    },
    fault: (place, message) => void faults.push(`${place}: ${message}`),
  })
  if (faults.length > 0) throw damaged(faults)
  if (found) state.schema = found.header.schema
  return { state, found }
}

function damaged(faults: readonly string[]): AppError {
  const more = faults.length > shownFaults ? `; and ${faults.length - shownFaults} more` : ''
  return new AppError(
    'invalid',
    `the state is damaged; restore a backup: ${faults.slice(0, shownFaults).join('; ')}${more}`,
    { data: faults },
  )
}

/** True when a crash came while the very first files were being made. */
async function isOnlyBegun(folder: string, segments: readonly number[]): Promise<boolean> {
  if (segments.length !== 1 || segments[0] !== 1) return false
  let lines = 0
  await readChecked(join(folder, segmentName(1)), () => lines++)
  return lines <= 1
}

class Replay {
  readonly given: { readonly folder: string; readonly reader: Reader; readonly values: RepeatedValues }
  readonly #snapshotLast: number
  #previous: number | undefined
  /** The name of the journal that the segments belong to. */
  id: string | undefined
  seen: number
  bytes = 0
  lastSegment: LastSegment | undefined

  constructor(header: SnapshotHeader, given: Replay['given']) {
    this.given = given
    this.#snapshotLast = header.last
    this.seen = Date.parse(header.time)
  }

  get last(): number {
    return Math.max(this.#previous ?? 0, this.#snapshotLast)
  }

  async read(segment: number, isLast: boolean): Promise<void> {
    const name = segmentName(segment)
    let bad: { line: number; offset: number; fault: string } | undefined
    let good = 0
    let proven = false
    const length = await readChecked(join(this.given.folder, name), (line) => {
      if (bad) {
        // A batch opens only when all before it is on disk: the bad line had been acknowledged.
        proven ||= line.opensBatch
        return
      }
      if (line.fault !== undefined) bad = { line: line.number, offset: line.offset, fault: line.fault }
      else {
        if (line.number === 1) this.#header(line.value, segment)
        else this.#transaction(line.value, `${name}:${line.number}`)
        good = line.end
      }
    })
    this.bytes += length
    if (bad && (proven || !isLast)) this.given.reader.fault(`${name}:${bad.line}`, bad.fault)
    this.lastSegment = {
      segment,
      good,
      ...(bad && { torn: { line: bad.line, bytes: length - bad.offset } }),
    }
  }

  #header(value: unknown, segment: number): void {
    const header = value as Partial<SegmentHeader> | null
    const place = `${segmentName(segment)}:1`
    if (header?.journal !== 'assistant-core' || typeof header.format !== 'number') {
      return this.given.reader.fault(place, 'this is not the beginning of a journal of assistant-core')
    }
    requireKnownFormat(header.format, segmentName(segment))
    this.id = header.id ?? this.id
    if (header.segment !== segment) {
      this.given.reader.fault(place, `this is segment ${String(header.segment)} under another name`)
    }
  }

  #transaction(value: unknown, place: string): void {
    const { n, c, t = 0 } = value as JournalLine
    if (!Number.isSafeInteger(n) || !Array.isArray(c))
      return this.given.reader.fault(place, 'this is not a transaction')
    const expected = this.#previous === undefined ? Math.min(n, this.#snapshotLast + 1) : this.#previous + 1
    if (n !== expected) this.given.reader.fault(place, `transaction ${expected} should stand here, not ${n}`)
    this.#previous = n
    this.seen = Math.max(this.seen, t)
    if (n <= this.#snapshotLast) return
    this.given.reader.transaction(
      c.map(([collection, document, id]) =>
        document === null
          ? { collection, id: id ?? '', document: null }
          : {
              collection,
              id: (document as Stored).id,
              document: this.given.values.freeze(collection, document as Stored),
            },
      ),
    )
  }
}
