import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { AppendFile } from './append-file.ts'
import { faultText, syncFolder } from './files.ts'
import { goesOn, lineOf, opensBatch } from './lines.ts'
import type { Change } from './state.ts'

/** The version of how snapshot and journal are written; a newer one is refused. */
export const stateFormat = 1

const probeMilliseconds = 500

/** A change as it stands in a journal line: the collection and the document, or the collection and the id removed. */
type WrittenChange =
  readonly [collection: string, document: unknown] | readonly [collection: string, document: null, id: string]

/** A journal line: one transaction with its number, which counts without gaps over all segments. */
export interface JournalLine {
  readonly n: number
  readonly c: readonly WrittenChange[]
}

/** The first line of a segment. */
export interface SegmentHeader {
  readonly journal: 'assistant-core'
  readonly format: number
  readonly segment: number
}

interface Waiting {
  /** Empty for one who only waits. */
  readonly line: string
  readonly undo: () => void
  readonly resolve: () => void
  readonly reject: (error: AppError) => void
}

interface Rotation {
  readonly resolve: (segment: number) => void
  readonly reject: (error: unknown) => void
}

/** Where a segment lies. */
export function segmentName(segment: number): string {
  return `journal-${String(segment).padStart(8, '0')}.jsonl`
}

/** The number in a segment's name, if it is one. */
export function segmentNumber(name: string): number | undefined {
  const digits = /^journal-(\d{8,})\.jsonl$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

export interface JournalOptions {
  readonly folder: string
  readonly log: Log
  readonly segment: number
  /** The segment's file, cut to its good part. */
  readonly file: AppendFile
  /** The bytes of this segment and of those before it that are still needed. */
  readonly bytes: number
  /** The number of the last transaction on disk. */
  readonly last: number
  /** Called after transactions that had been applied were undone. */
  readonly undone: () => void
}

/**
 * Transactions in the order in which they were made, one line each. Writers that come while the disk is
 * busy wait together for the next write and one fdatasync. When a write fails, everything that was not
 * acknowledged is undone in reverse, and writes are refused until a trial write succeeds.
 */
export class Journal {
  readonly #folder: string
  readonly #log: Log
  readonly #undone: () => void
  #file: AppendFile
  #segment: number
  #last: number
  #durable: number
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  #rotation: Rotation | undefined
  #fault: string | undefined
  #closed = false
  #bytes: number

  constructor(options: JournalOptions) {
    this.#folder = options.folder
    this.#log = options.log
    this.#undone = options.undone
    this.#file = options.file
    this.#segment = options.segment
    this.#last = this.#durable = options.last
    this.#bytes = options.bytes
  }

  /** The number of the last transaction made, on disk or not. */
  get last(): number {
    return this.#last
  }

  /** Bytes in all segments that are still needed. */
  get bytes(): number {
    return this.#bytes
  }

  /** Bytes in the current segment. */
  get segmentBytes(): number {
    return this.#file.length
  }

  /** Notes that segments of so many bytes are not needed any more. */
  forget(bytes: number): void {
    this.#bytes -= bytes
  }

  /** Why writing fails now. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Throws AppError `unavailable` when writing fails now. */
  requireWritable(): void {
    if (this.#closed) throw new AppError('unavailable', 'the state is closed')
    if (this.#fault !== undefined) throw unwritable(this.#fault)
  }

  /** The line of the next transaction; making it changes nothing. */
  lineOf(changes: readonly Change[]): string {
    const written = changes.map<WrittenChange>(({ collection, id, document }) =>
      document ? [collection, document] : [collection, null, id],
    )
    return lineOf({ n: this.#last + 1, c: written } satisfies JournalLine)
  }

  /** Takes a transaction that has been applied; settles when it is on disk, rejects when it was undone. */
  append(line: string, undo: () => void): Promise<void> {
    this.#last++
    return this.#wait(line, undo)
  }

  /** Settles when everything appended so far is on disk; rejects when it was undone instead. */
  settled(): Promise<void> {
    if (this.#durable === this.#last && !this.#writing) return Promise.resolve()
    return this.#wait('', () => undefined)
  }

  /** Goes on in a new segment; answers its number. Everything in the segments before it is on disk then. */
  rotate(): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#rotation) reject(new Error('the journal is being rotated already'))
      else {
        this.#rotation = { resolve, reject }
        this.#start()
      }
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    while (this.#writing) await this.#writing
    await this.#file.close()
  }

  #wait(line: string, undo: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, undo, resolve, reject })
      this.#start()
    })
  }

  #start(): void {
    this.#writing ??= this.#write().finally(() => this.#written())
  }

  #written(): void {
    this.#writing = undefined
    // Somebody may have come between the last look at the queue and now.
    if (this.#waiting.length > 0 || this.#rotation) this.#start()
  }

  async #write(): Promise<void> {
    for (;;) {
      // Those who were just answered, and everyone else of this turn, may join the next write.
      await setImmediate()
      if (this.#rotation) await this.#rotateNow(this.#rotation)
      const batch = this.#waiting
      if (batch.length === 0) {
        if (this.#rotation) continue
        return
      }
      this.#waiting = []
      const lines = batch.filter(({ line }) => line !== '')
      try {
        await this.#appendLines(lines.map(({ line }) => line))
      } catch (error) {
        this.#fail(error, batch)
        continue
      }
      for (const { resolve } of batch) resolve()
    }
  }

  async #appendLines(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    const bytes = Buffer.from(lines.map((line, index) => (index === 0 ? opensBatch : goesOn) + line).join(''))
    await this.#file.append(bytes)
    this.#durable += lines.length
    this.#bytes += bytes.length
  }

  #fail(error: unknown, batch: readonly Waiting[]): void {
    const all = [...batch, ...this.#waiting]
    this.#waiting = []
    for (const { undo } of all.toReversed()) undo()
    this.#last = this.#durable
    this.#undone()
    this.#setFault(error)
    for (const { reject } of all) reject(unwritable(this.#fault ?? '', error))
  }

  #setFault(error: unknown): void {
    const known = this.#fault !== undefined
    this.#fault = faultText(error)
    if (known) return
    this.#log.error('the state cannot be written; writes are refused until it can', { error })
    void this.#probe()
  }

  /** Tries an empty transaction until it is written: the way back after a full disk. */
  async #probe(): Promise<void> {
    while (this.#fault !== undefined && !this.#closed) {
      await setTimeout(probeMilliseconds, undefined, { ref: false })
      if (this.#closed || this.#writing) continue
      this.#writing = this.#tryEmpty().finally(() => this.#written())
      await this.#writing
    }
  }

  async #tryEmpty(): Promise<void> {
    try {
      const line = this.lineOf([])
      await this.#appendLines([line])
      this.#last++
      this.#fault = undefined
      this.#log.info('the state can be written again')
    } catch (error) {
      this.#setFault(error)
    }
  }

  async #rotateNow(rotation: Rotation): Promise<void> {
    this.#rotation = undefined
    try {
      // An attempt that failed may have left it; nothing was ever written to it.
      await rm(join(this.#folder, segmentName(this.#segment + 1)), { force: true })
      const before = this.#file
      this.#file = await createSegment(this.#folder, this.#segment + 1)
      this.#segment++
      this.#bytes += this.#file.length
      await before.close().catch((error: unknown) => this.#log.warn('a journal was not closed', { error }))
      rotation.resolve(this.#segment)
    } catch (error) {
      rotation.reject(error)
    }
  }
}

/** Begins a segment; it is on disk, and nothing else is, when this is answered. */
export async function createSegment(folder: string, segment: number): Promise<AppendFile> {
  const file = await AppendFile.create(join(folder, segmentName(segment)))
  try {
    const header: SegmentHeader = { journal: 'assistant-core', format: stateFormat, segment }
    await file.append(Buffer.from(opensBatch + lineOf(header)))
    await syncFolder(folder)
    return file
  } catch (error) {
    await file.close()
    await file.remove().catch(() => undefined)
    throw error
  }
}

function unwritable(fault: string, cause?: unknown): AppError {
  return new AppError('unavailable', `the state cannot be written now: ${fault}`, { cause })
}
