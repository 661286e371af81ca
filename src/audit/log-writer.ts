import { stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.ts'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { AppendFile } from '../store/append-file.ts'
import { faultText, syncFolder } from '../store/files.ts'
import { checkpoint, type LogKey, readHead, writeHead } from './checkpoint.ts'
import { firstPrev, hashOf, lineText, tell, type Told } from './line.ts'
import { endOf, putAside } from './log-end.ts'
import { listLogFiles, type LogFile, logFileName } from './log-files.ts'

/** Events that come within this time share one write and one sync, which is what a write costs. */
const batchMilliseconds = 10
const retryMilliseconds = 500
const checkpointMilliseconds = 60_000
const checkpointLines = 1_000
const batchEvents = 5_000
const queueEvents = 100_000

interface Queued {
  readonly told: Told
  readonly written: () => void
  readonly refused: (error: AppError) => void
}

/** What a writer works with. Sizes are asked for anew at each write, since settings change while it runs. */
export interface LogWriterOptions {
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly key: LogKey
  readonly maximumFileBytes: () => number
  readonly maximumEventBytes: () => number
  /** Called with the lines of each write, after it. */
  readonly written: (lines: readonly string[]) => void
  /** Called when a file was closed and another begun. */
  readonly rotated: () => void
  /** Called when a checkpoint is on disk. */
  readonly signed: (seq: number, hash: string) => void
}

/**
 * Appends events to the log, each line naming the hash of the one before. What was accepted stays in the
 * queue until it is on disk; while the disk refuses, nothing new is accepted and writing is tried again.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  #file: AppendFile | undefined
  #day = ''
  #seq = 0
  #hash = firstPrev
  #unsigned = 0
  #queue: Queued[] = []
  #timer: NodeJS.Timeout | undefined
  #signTimer: NodeJS.Timeout | undefined
  #signDue = false
  #writing: Promise<void> | undefined
  #fault: string | undefined
  /** How many events were accepted, and how many of them have been written. */
  #accepted = 0
  #finished = 0
  #opened = false
  #closed = false

  constructor(options: LogWriterOptions) {
    this.#options = options
  }

  /** The number of the last line on disk. */
  get seq(): number {
    return this.#seq
  }

  get waiting(): number {
    return this.#queue.length
  }

  get fault(): string | undefined {
    return this.#fault
  }

  /** The name of the file that is being written. */
  get current(): string | undefined {
    return this.#file?.path
  }

  /** Finds the end of the log. What a crash left behind the last whole line is put aside, and that is told. */
  async open(): Promise<void> {
    const { folder, log } = this.#options
    const files = await listLogFiles(folder)
    for (const [index, file] of files.toReversed().entries()) {
      const end = await endOf(file)
      if (index === 0 && !file.compressed) {
        if (end.length < file.bytes) await this.#repair(file, end.length)
        this.#file = await AppendFile.open(file.path, end.length)
        this.#day = file.day
      }
      if (end.last) {
        this.#seq = end.last.seq
        this.#hash = end.last.hash
        break
      }
      // Just begun when the machine stopped: the line before is in the file before, or has been pruned.
      if (index === files.length - 1 && file.first > 1) {
        const head = await readHead(folder, undefined)
        this.#seq = file.first - 1
        if (head !== 'forged' && head?.seq === this.#seq) this.#hash = head.hash
        else log.error('the line before the first of the audit log is not known', { file: file.name })
      }
    }
    await this.#noteBeginning()
    this.#opened = true
    if (this.#queue.length > 0) this.#soon()
  }

  /** Notes a log that has no line yet: from now on, a missing head is a sign. */
  async #noteBeginning(): Promise<void> {
    const { folder, key } = this.#options
    if (this.#seq === 0 && (await readHead(folder, undefined)) === undefined) {
      await writeHead(folder, key, 0, firstPrev)
    }
  }

  /** Throws AppError `unavailable` while the log cannot be written. */
  requireWritable(): void {
    if (this.#closed) throw new AppError('unavailable', 'the audit log is closed')
    if (this.#fault !== undefined) throw this.#unavailable()
    if (this.#queue.length >= queueEvents) {
      throw new AppError('unavailable', 'the audit log cannot keep up; try again')
    }
  }

  /** Accepts an event; settles when it is on disk. The caller has asked `requireWritable`, or must not lose it. */
  add(told: Told): Promise<void> {
    if (this.#closed) return Promise.reject(this.#unavailable())
    this.#accepted++
    return new Promise((resolve, reject) => {
      this.#queue.push({ told, written: resolve, refused: reject })
      this.#soon()
    })
  }

  /** Settles when everything accepted so far is on disk or the log cannot be written; what comes meanwhile is not waited for. */
  async settled(): Promise<void> {
    const wanted = this.#accepted
    while (this.#finished < wanted && this.#fault === undefined) await this.#writeNow()
    await this.#writing
  }

  /** Writes what is queued, signs the end, and closes the file. What cannot be written is refused. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#signTimer)
    await this.#writing
    if (this.#unsigned > 0 || this.#queue.length > 0) {
      this.#signDue = true
      await this.#writeNow()
    }
    clearTimeout(this.#timer)
    for (const { refused } of this.#queue) refused(this.#unavailable())
    if (this.#queue.length > 0) {
      this.#options.log.error('audit events were lost: the log could not be written until the end', {
        events: this.#queue.map(({ told }) => told.event),
      })
    }
    this.#queue = []
    await this.#file?.close()
  }

  async #repair(file: LogFile, good: number): Promise<void> {
    const { folder, clock, log, maximumEventBytes } = this.#options
    const data = await putAside(folder, file, good)
    log.warn('the last line of the audit log was not finished before a crash; it is put aside', data)
    const event = { type: 'audit.repair', status: 'ok', user: 'system', data } as const
    this.add(tell(event, isoTime(clock.now()), maximumEventBytes())).catch(() => undefined)
  }

  #soon(): void {
    // Before the end of the log is known, nothing can be chained to it.
    if (!this.#opened || this.#timer || this.#fault !== undefined) return
    this.#timer = setTimeout(() => void this.#writeNow(), batchMilliseconds)
  }

  #writeNow(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
      if (this.#fault !== undefined) this.#retryLater()
      else if (this.#queue.length > 0 && !this.#closed) this.#soon()
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    const { log } = this.#options
    try {
      if (await this.#isFull()) await this.#rotate()
      const batch = this.#queue.slice(0, batchEvents)
      await this.#append(batch.map(({ told }) => told))
      this.#queue.splice(0, batch.length)
      this.#finished += batch.length
      for (const { written } of batch) written()
      if (this.#fault !== undefined) log.info('the audit log can be written again')
      this.#fault = undefined
    } catch (error) {
      if (this.#fault === undefined) {
        log.error('the audit log cannot be written; what must be audited is refused until it can', { error })
      }
      this.#fault = faultText(error)
    }
  }

  #retryLater(): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      // With nothing to write, the trial is a checkpoint: it proves that lines can be written.
      this.#signDue ||= this.#queue.length === 0
      void this.#writeNow()
    }, retryMilliseconds)
  }

  /** Appends events and, when it is due, a checkpoint; nothing has changed when it fails. */
  async #append(events: readonly Told[]): Promise<void> {
    const { folder, key, log, written, signed } = this.#options
    let seq = this.#seq
    let hash = this.#hash
    const lines: string[] = []
    const add = (told: Told): void => {
      const line = lineText(told, ++seq, hash)
      hash = hashOf(line)
      lines.push(line)
    }
    for (const told of events) add(told)
    const unsigned = this.#unsigned + events.length
    const sign = this.#signDue || unsigned >= checkpointLines
    if (sign) add(checkpoint(key, isoTime(this.#options.clock.now()), seq + 1, hash))
    if (lines.length === 0) return
    const file = (this.#file ??= await this.#begin(this.#seq + 1))
    await file.append(Buffer.from(`${lines.join('\n')}\n`))
    this.#seq = seq
    this.#hash = hash
    this.#unsigned = sign ? 0 : unsigned
    written(lines)
    if (sign) {
      this.#signDue = false
      // The line itself is signed and written; the head only says that it must be there.
      await writeHead(folder, key, seq, hash).catch((error: unknown) =>
        log.warn('how far the audit log has come could not be noted', { error }),
      )
      signed(seq, hash)
    } else if (!this.#closed) this.#signLater()
  }

  #signLater(): void {
    this.#signTimer ??= setTimeout(() => {
      this.#signTimer = undefined
      this.#signDue = this.#unsigned > 0
      if (this.#signDue) void this.#writeNow()
    }, checkpointMilliseconds).unref()
  }

  async #isFull(): Promise<boolean> {
    if (!this.#file || this.#file.length === 0 || this.#queue.length === 0) return false
    return this.#day !== this.#today() || this.#file.length >= this.#options.maximumFileBytes()
  }

  /** Ends the file with a checkpoint and begins the next. */
  async #rotate(): Promise<void> {
    if (this.#unsigned > 0) {
      this.#signDue = true
      await this.#append([])
    }
    const next = await this.#begin(this.#seq + 1)
    await this.#file?.close()
    this.#file = next
    this.#options.rotated()
  }

  async #begin(first: number): Promise<AppendFile> {
    const { folder } = this.#options
    const day = this.#today()
    const path = join(folder, logFileName(first, day))
    // An attempt that failed half-way may have left an empty one.
    const left = await stat(path).catch(() => undefined)
    if (left?.size === 0) await unlink(path)
    const file = await AppendFile.create(path)
    await syncFolder(folder)
    this.#day = day
    return file
  }

  #today(): string {
    return isoTime(this.#options.clock.now()).slice(0, 10)
  }

  #unavailable(): AppError {
    return new AppError(
      'unavailable',
      `the audit log cannot be written now: ${this.#fault ?? 'it is closed'}`,
    )
  }
}
