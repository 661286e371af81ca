import { stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isoTime } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { syncFolder } from '../core/files.ts'
import { AppendFile } from '../line-log/append-file.ts'
import { appendLines, LineLog, type Lines } from '../line-log/line-log.ts'
import { Chain } from './chain.ts'
import { readHead, writeHead } from './checkpoint.ts'
import { type AuditWriter, closeLines, type LogParts, settle } from './kept-log.ts'
import { firstPrev, type ToldEvent } from './line.ts'
import { logEnd, putAside } from './log-end.ts'
import { listLogFiles, type LogFile, logFileName } from './log-files.ts'
import { Reserve } from './reserve.ts'

/** Events that come within this time share one write and one sync, which is what a write costs. */
export const gatherMilliseconds = 20
export const checkpointMilliseconds = 60_000
const reserveMilliseconds = 500

/**
 * Events as lines of which each names the hash of the one before, signed now and then, in files by size and
 * day. What was accepted waits until it is on disk.
 */
export class LogWriter implements AuditWriter {
  readonly lines: LineLog<ToldEvent>
  readonly chain: Chain
  readonly #parts: LogParts
  readonly #reserve: Reserve
  #reserveTimer: NodeJS.Timeout | undefined
  #file: AppendFile | undefined
  #day = ''
  #signTimer: NodeJS.Timeout | undefined
  #signDue = false

  constructor(parts: LogParts) {
    this.#parts = parts
    this.chain = new Chain(parts.clock, parts.key)
    this.#reserve = new Reserve(parts.folder, parts.reserveBytes ?? 0)
    this.lines = new LineLog({
      name: 'the audit log',
      log: parts.log,
      gatherMilliseconds,
      write: async (events, trial) => {
        const file = await this.#fileNow()
        await appendLines(file, this.#linesOf(events, this.#signDue || (trial && events.length === 0)))
      },
      rescue: (error) => this.#rescue(error),
    })
  }

  /** The name of the file that is being written. */
  get current(): string | undefined {
    return this.#file?.path
  }

  /** Finds the end of the log. What a crash left behind the last whole line is put aside, and that is told. */
  async open(): Promise<void> {
    const { folder, log } = this.#parts
    const files = await listLogFiles(folder)
    let repair: ToldEvent | undefined
    for (const [index, file] of files.toReversed().entries()) {
      const end = await logEnd(file)
      if (index === 0 && !file.compressed) {
        if (end.length < file.bytes) repair = await this.#repair(file, end.length)
        this.#file = await AppendFile.open(file.path, end.length)
        this.#day = file.day
      }
      if (end.last) {
        this.chain.goOn(end.last)
        break
      }
      // Just begun when the machine stopped: the line before is in the file before, or has been pruned.
      if (index === files.length - 1 && file.first > 1) {
        const head = await readHead(folder, undefined)
        const seq = file.first - 1
        const isKnown = head !== 'forged' && head?.seq === seq
        this.chain.goOn({ seq, hash: isKnown ? head.hash : firstPrev })
        if (!isKnown)
          log.error('the line before the first of the audit log is not known', { file: file.name })
      }
    }
    // A log that has no line yet: from now on, a missing head is a sign.
    if (this.chain.end.seq === 0 && (await readHead(folder, undefined)) === undefined)
      await writeHead(folder, this.chain.key, this.chain.end)
    if (repair) this.lines.add(repair).catch(() => undefined)
    await this.#keepReserve()
  }

  async #keepReserve(): Promise<boolean> {
    return this.#reserve.keep().catch((error: unknown) => {
      this.#parts.log.warn('no reserve could be kept for the audit log', { error })
      return false
    })
  }

  /** Lets those who read go on; the others wait until there is room for the reserve again. */
  async #rescue(error: unknown): Promise<boolean> {
    if (!(await this.#reserve.giveUp(error))) return false
    const { log } = this.#parts
    log.error('the disk is full: the audit log goes on in its reserve, and what changes data is refused', {
      error,
    })
    this.#reserveTimer = setInterval(() => {
      void this.#takeReserveBack()
    }, reserveMilliseconds).unref()
    return true
  }

  async #takeReserveBack(): Promise<void> {
    if (!(await this.#keepReserve())) return
    clearInterval(this.#reserveTimer)
    this.#parts.log.info('the audit log has its reserve again')
  }

  /** The disk is full: what is read is told from the reserve. */
  get isOnReserve(): boolean {
    return this.#reserve.isGivenUp
  }

  /** Throws AppError `unavailable` while the log cannot be written, or only for those who read. */
  requireWritable(reading = false): void {
    this.lines.requireWritable()
    if (!reading && this.isOnReserve)
      throw new AppError(
        'unavailable',
        'the audit log cannot be written now: the disk is full; reading goes on from a reserve',
      )
  }

  async close(): Promise<void> {
    clearTimeout(this.#signTimer)
    clearInterval(this.#reserveTimer)
    await settle(this)
    this.#sign()
    await closeLines(this, this.#parts.log)
    await this.#file?.close()
  }

  async #repair(file: LogFile, good: number): Promise<ToldEvent> {
    const { folder, log, tell } = this.#parts
    const data = await putAside(folder, file, good)
    log.warn('the last line of the audit log was not finished before a crash; it is put aside', data)
    return tell({ type: 'audit.repair', status: 'ok', user: 'system', data })
  }

  /** The lines of the events and, when it is due, of a checkpoint. */
  #linesOf(events: readonly ToldEvent[], sign: boolean): Lines | undefined {
    const links = this.chain.next(events, sign)
    if (!links) return undefined
    const written = async (): Promise<void> => {
      this.chain.took(links)
      this.#parts.written(links.lines)
      if (links.signed) await this.#signed()
      else
        this.#signTimer ??= setTimeout(() => {
          this.#signTimer = undefined
          this.#sign()
        }, checkpointMilliseconds).unref()
    }
    return { bytes: Buffer.from(`${links.lines.join('\n')}\n`), written }
  }

  #sign(): void {
    if (this.chain.unsigned === 0) return
    this.#signDue = true
    this.lines.wake()
  }

  async #signed(): Promise<void> {
    const { folder, log, signed } = this.#parts
    const { key, end } = this.chain
    this.#signDue = false
    // The line itself is signed and written; the head only says that it must be there.
    await writeHead(folder, key, end).catch((error: unknown) =>
      log.warn('how far the audit log has come could not be noted', { error }),
    )
    signed(key.id, end)
  }

  /** The file to go on in. One that is full, or of another day, ends with a checkpoint. */
  async #fileNow(): Promise<AppendFile> {
    const before = this.#file
    if (!before) return (this.#file = await this.#begin())
    if (!this.#isFull(before)) return before
    if (this.chain.unsigned > 0) await appendLines(before, this.#linesOf([], true))
    this.#file = await this.#begin()
    await before.close()
    this.#parts.rotated()
    return this.#file
  }

  #isFull({ length }: AppendFile): boolean {
    if (length === 0 || this.lines.waiting === 0) return false
    return this.#day !== this.#today() || length >= this.#parts.settings().max_file_bytes
  }

  async #begin(): Promise<AppendFile> {
    const { folder } = this.#parts
    const day = this.#today()
    const path = join(folder, logFileName(this.chain.end.seq + 1, day))
    // An attempt that failed half-way may have left an empty one.
    const left = await stat(path).catch(() => undefined)
    if (left?.size === 0) await unlink(path)
    const file = await AppendFile.create(path)
    await syncFolder(folder)
    this.#day = day
    return file
  }

  #today(): string {
    return isoTime(this.#parts.clock.now()).slice(0, 10)
  }
}
