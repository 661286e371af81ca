import { stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Adapter } from 'lowdb'
import type { Clock } from '#leaf/clock.ts'
import type { Log } from '#leaf/log.ts'
import { AppendFile } from '../lines/append-file.ts'
import { replaceFile } from '#leaf/files.ts'
import { randomId } from '#leaf/secrets.ts'
import { inOwnTurns } from '#leaf/slices.ts'
import { createSegment, Journal, type JournalOptions, segmentName } from './journal.ts'
import { loadState, type RecoveredState, snapshotName } from './recovery.ts'
import type { Room } from './room.ts'
import { snapshotHeader, snapshotText } from './snapshot.ts'
import { Capture, type State } from './state.ts'

export interface StateFileOptions {
  readonly folder: string
  /** The memory check made while the state is read. */
  readonly room: Room
  readonly clock: Clock
  readonly log: Log
  /** The schema version of a new state. */
  readonly schema: number
  /** Called after applied transactions were undone. */
  readonly undone: () => void
}

/** Sorts what nobody has declared, or has asked for yet: at once it takes a second for a million documents. */
export async function inOrder(state: State): Promise<void> {
  for (const table of state.tables.values()) await inOwnTurns(table.prepare())
}

/** The lowdb adapter: `read` recovers the state from snapshot and journal, `write` makes a new snapshot of it. */
export class StateFile implements Adapter<State> {
  readonly #options: StateFileOptions
  #journal: Journal | undefined
  #snapshotBytes = 0
  #firstSegment = 1
  /** The highest time that the state had seen when it was read; undefined for a new one. */
  seen: number | undefined

  constructor(options: StateFileOptions) {
    this.#options = options
  }

  /** The journal, once the state has been read. */
  get journal(): Journal {
    if (!this.#journal) throw new Error('the state has not been read yet')
    return this.#journal
  }

  get bytes(): number {
    return this.#snapshotBytes + this.journal.bytes
  }

  /** True when the journal has outgrown the snapshot, so that a new snapshot pays. */
  isDue(minimum: number): boolean {
    return this.journal.bytes > Math.max(minimum, this.#snapshotBytes)
  }

  /** Recovers the state, dropping what a crash left unfinished. AppError `invalid` names every damaged place. */
  async read(): Promise<State> {
    const { folder, schema, room } = this.#options
    const { state, found } = await loadState(folder, schema, () => room.requireReadable())
    if (!found) return await this.#create(state)
    this.seen = found.seen
    for (const name of found.leftOver) await unlink(join(folder, name))
    const { segment, id, file } = await this.#openSegment(found)
    this.#firstSegment = found.header.segment
    this.#snapshotBytes = (await stat(join(folder, snapshotName))).size
    const bytes = found.bytes - this.#snapshotBytes
    this.#journal = new Journal({ ...this.#options, segment, id, file, bytes, last: found.last })
    return state
  }

  /**
   * Makes a new snapshot while writing goes on: a new segment, the state as it was at that moment written
   * in slices, and the old segments dropped once the snapshot is in place. AppError
   * `unavailable` where it would fill the disk.
   */
  async write(state: State): Promise<void> {
    this.#options.room.requireForSnapshot()
    await inOrder(state)
    const segment = await this.journal.rotate()
    const before = this.journal.bytes - this.journal.segmentBytes
    await this.#writeSnapshot(this.#withinRoom(this.picture(state, segment)))
    this.journal.forget(before)
    for (; this.#firstSegment < segment; this.#firstSegment++) {
      await unlink(join(this.#options.folder, segmentName(this.#firstSegment)))
    }
  }

  /** Yields the text of a snapshot of this moment; `segment` is where the journal continues, 0 for a backup. */
  async *picture(state: State, segment: number): AsyncGenerator<string> {
    const capture = new Capture(state)
    try {
      const last = this.#journal?.last ?? 0
      const header = snapshotHeader(state.schema, this.#options.clock, { last, segment })
      // The captured transactions may still be undone: nothing is written before they are on disk.
      await this.#journal?.lines.settled()
      yield* snapshotText(header, capture)
    } finally {
      capture.end()
    }
  }

  async *#withinRoom(pieces: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const piece of pieces) {
      this.#options.room.requireForSnapshot()
      yield piece
    }
  }

  async #writeSnapshot(text: AsyncIterable<string>): Promise<void> {
    const path = join(this.#options.folder, snapshotName)
    await replaceFile(path, text)
    this.#snapshotBytes = (await stat(path)).size
  }

  async #create(state: State): Promise<State> {
    const { folder } = this.#options
    // An earlier crash at this point may have left the segment.
    await unlink(join(folder, segmentName(1))).catch(() => undefined)
    const id = randomId()
    const file = await createSegment(folder, 1, id)
    await this.#writeSnapshot(this.picture(state, 1))
    this.#journal = new Journal({ ...this.#options, segment: 1, id, file, bytes: file.length, last: 0 })
    return state
  }

  async #openSegment(found: RecoveredState): Promise<Pick<JournalOptions, 'segment' | 'id' | 'file'>> {
    const { folder, log } = this.#options
    const { segment, good, torn } = found.lastSegment!
    const path = join(folder, segmentName(segment))
    if (torn) {
      log.warn('the last write before a crash was not finished; it is dropped', {
        file: segmentName(segment),
        line: torn.line,
        bytes: torn.bytes,
      })
    }
    if (good > 0) return { segment, id: found.id, file: await AppendFile.open(path, good) }
    await unlink(path)
    const id = found.id ?? randomId()
    return { segment, id, file: await createSegment(folder, segment, id) }
  }
}
