import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '#leaf/files.ts'
import type { Log } from '#leaf/log.ts'
import { AppendFile } from '../lines/append-file.ts'
import { appendLines, LineLog, type Lines } from '../lines/line-log.ts'
import { randomId } from '#leaf/secrets.ts'
import { JournalHead } from './journal-head.ts'
import { goesOn, lineOf, opensBatch } from './checked-lines.ts'
import type { StoredChange } from './state.ts'

/** The format version of snapshot and journal; a newer one is refused. */
export const stateFormat = 1

/** A change as a journal line has it: the collection and the document, or the collection and the removed id. */
type WrittenChange =
  readonly [collection: string, document: unknown] | readonly [collection: string, document: null, id: string]

/** A journal line: one transaction with its number, which counts without gaps over all segments. */
export interface JournalLine {
  readonly n: number
  readonly c: readonly WrittenChange[]
  /** The highest time that the state had seen; only a line now and then has it. */
  readonly t?: number
}

/** The first line of a segment. */
export interface SegmentHeader {
  readonly journal: 'assistant-core'
  readonly format: number
  readonly segment: number
  /** The journal's own name, in all of its segments; absent before 2.8. */
  readonly id?: string
}

interface Applied {
  readonly line: string
  readonly undo: () => void
}

interface Rotation {
  readonly resolve: (segment: number) => void
  readonly reject: (error: unknown) => void
}

/** Returns the file name of a segment. */
export function segmentName(segment: number): string {
  return `journal-${String(segment).padStart(8, '0')}.jsonl`
}

/** Returns the number in a segment's file name; undefined for any other name. */
export function segmentNumber(name: string): number | undefined {
  const digits = /^journal-(\d{8,})\.jsonl$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

export interface JournalOptions {
  readonly folder: string
  readonly log: Log
  readonly segment: number
  /** The journal's own name; a journal without one gets it with its next segment. */
  readonly id?: string | undefined
  /** The segment's file, truncated to its good part. */
  readonly file: AppendFile
  /** The bytes of this segment and of those before it that are still needed. */
  readonly bytes: number
  /** The number of the last transaction on disk. */
  readonly last: number
  /** Called after applied transactions were undone. */
  readonly undone: () => void
}

/** The journal: transactions in the order in which they were made, one line each; what cannot be written is undone. */
export class Journal {
  readonly #options: JournalOptions
  /** Applied transactions on their way to the disk; what cannot be written is undone. */
  readonly lines: LineLog<Applied>
  #id: string | undefined
  #head: JournalHead | undefined
  #file: AppendFile
  #segment: number
  #last: number
  #durable: number
  #rotation: Rotation | undefined
  #bytes: number

  constructor(options: JournalOptions) {
    this.#options = options
    this.#file = options.file
    this.#segment = options.segment
    this.#name(options.id)
    this.#last = this.#durable = options.last
    this.#bytes = options.bytes
    this.lines = new LineLog({
      name: 'the state',
      log: options.log,
      gatherMilliseconds: 0,
      write: async (transactions, trial) =>
        appendLines(await this.#fileNow(), this.#linesOf(transactions, trial)),
      undo: (transactions) => this.#undo(transactions),
    })
  }

  /** The number of the last transaction, on disk or not. */
  get last(): number {
    return this.#last
  }

  /** The bytes in all segments that are still needed. */
  get bytes(): number {
    return this.#bytes
  }

  /** The bytes in the current segment. */
  get segmentBytes(): number {
    return this.#file.length
  }

  /** Subtracts the bytes of segments that are no longer needed. */
  forget(bytes: number): void {
    this.#bytes -= bytes
  }

  /** Returns the line of the next transaction, without side effects. */
  lineOf(changes: readonly StoredChange[], t?: number): string {
    const written = changes.map<WrittenChange>(({ collection, id, document }) =>
      document ? [collection, document] : [collection, null, id],
    )
    return lineOf({ n: this.#last + 1, c: written, ...(t !== undefined && { t }) } satisfies JournalLine)
  }

  /** Appends a transaction that has been applied; settles when it is on disk, rejects when it was undone. */
  append(line: string, undo: () => void): Promise<void> {
    this.#last++
    return this.lines.add({ line, undo })
  }

  /** Rotates to a new segment and returns its number. Everything in the segments before it is then on disk. */
  rotate(): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#rotation) return reject(new Error('the journal is being rotated already'))
      this.#rotation = { resolve, reject }
      this.lines.wake()
    })
  }

  async close(): Promise<void> {
    await this.lines.close()
    this.#head?.close()
    await this.#file.close()
  }

  #linesOf(transactions: readonly Applied[], trial: boolean): Lines | undefined {
    const lines = transactions.map(({ line }) => line)
    if (lines.length === 0 && !trial) return undefined
    if (lines.length === 0) lines.push(this.lineOf([]))
    const bytes = Buffer.from(lines.map((line, index) => (index === 0 ? opensBatch : goesOn) + line).join(''))
    const written = (): void => {
      this.#durable += lines.length
      // A trial uses up a number that no transaction has.
      this.#last = Math.max(this.#last, this.#durable)
      this.#bytes += bytes.length
      this.#head?.note(this.#durable)
    }
    return { bytes, written }
  }

  #undo(transactions: readonly Applied[]): void {
    for (const { undo } of transactions) undo()
    this.#last = this.#durable
    this.#options.undone()
  }

  #name(id: string | undefined): void {
    this.#id = id
    if (id !== undefined) this.#head = new JournalHead(this.#options.folder, id)
  }

  async #fileNow(): Promise<AppendFile> {
    const rotation = this.#rotation
    this.#rotation = undefined
    try {
      if (rotation) rotation.resolve(await this.#beginSegment())
    } catch (error) {
      rotation?.reject(error)
    }
    return this.#file
  }

  async #beginSegment(): Promise<number> {
    const { folder, log } = this.#options
    const next = this.#segment + 1
    // A failed attempt may have left this file; no transaction was ever written to it.
    await rm(join(folder, segmentName(next)), { force: true })
    const before = this.#file
    const id = this.#id ?? randomId()
    this.#file = await createSegment(folder, next, id)
    if (this.#id === undefined) this.#name(id)
    this.#segment = next
    this.#bytes += this.#file.length
    await before.close().catch((error: unknown) => log.warn('a journal was not closed', { error }))
    return next
  }
}

/** Creates a segment with its header; both are on disk when this returns. */
export async function createSegment(folder: string, segment: number, id: string): Promise<AppendFile> {
  const file = await AppendFile.create(join(folder, segmentName(segment)))
  try {
    const header: SegmentHeader = { journal: 'assistant-core', format: stateFormat, segment, id }
    await file.append(Buffer.from(opensBatch + lineOf(header)))
    await syncFolder(folder)
    return file
  } catch (error) {
    await file.close()
    await file.remove().catch(() => undefined)
    throw error
  }
}
