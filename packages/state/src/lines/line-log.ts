import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { AppError } from '#leaf/errors.ts'
import { diskFaultText } from '#leaf/files.ts'
import type { Log } from '#leaf/log.ts'
import type { AppendFile } from './append-file.ts'
import { type Patience, SharedEnd } from './shared-end.ts'

const trialMilliseconds = 500
/** The turns of the event loop that a write waits for others, and at most, when more come all the time. */
const leastTurns = 2
const mostTurns = 4
const mostAtOnce = 5_000
const mostWaiting = 100_000
const mostWaitingBytes = 64 << 20

/** Lines of entries, ready to be appended. */
export interface Lines {
  readonly bytes: Uint8Array
  /** Called when they are on disk, before anyone who waits for them is told. */
  written(): void | Promise<void>
}

/** Appends lines, where there are any, and then calls `written`. */
export async function appendLines(file: AppendFile, lines: Lines | undefined): Promise<void> {
  if (!lines) return
  await file.append(lines.bytes)
  await lines.written()
}

/** The options of a log: how entries are written, and what happens when they cannot be. */
export interface LineLogOptions<Entry> {
  /** A name for people to read, such as `the state`. */
  readonly name: string
  readonly log: Log
  /** Milliseconds between two writes, so that many entries share a write and its sync; an entry alone does not wait. */
  readonly gatherMilliseconds: number
  /** Returns the size of an entry, where it may be large. */
  readonly sizeOf?: (entry: Entry) => number
  /**
   * Writes the entries, all of them or nothing; those of a failed write come again, first. A `trial` tests whether
   * writing is possible again: it must write, even without entries.
   */
  readonly write: (entries: readonly Entry[], trial: boolean) => Promise<void>
  /** Makes room after a failure; when it succeeds, the write is retried at once. */
  readonly rescue?: (error: unknown) => Promise<boolean>
  /** Undoes entries that could not be written, the last first. Without it, entries wait until they can be written. */
  readonly undo?: (entries: readonly Entry[]) => void
}

interface Waiting<Entry> {
  /** The entry; absent for a caller that only waits. */
  readonly entry: Entry | undefined
  readonly since: number
  readonly end: SharedEnd
}

/**
 * A queue of entries, written in the order added to an append-only file. Entries that come while the disk
 * is busy share the next write and its one sync. When a write fails, nothing of it stays on disk, and
 * nothing new is accepted until a trial succeeds.
 */
export class LineLog<Entry> {
  readonly #options: LineLogOptions<Entry>
  #queue: Waiting<Entry>[] = []
  /** The end of the entries that join the next write. */
  #next: SharedEnd | undefined
  #running: Promise<void> | undefined
  #bytes = 0
  #woken = false
  /** The time the last write began. */
  #wrote = -Infinity
  /** The number of queued entries that a caller awaits, and that number at the last write. */
  #awaited = 0
  #awaitedBefore = 1
  #hurry: (() => void) | undefined
  #fault: string | undefined
  #closed = false

  constructor(options: LineLogOptions<Entry>) {
    this.#options = options
  }

  /** The reason why writing fails now. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** The length of the queue. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Milliseconds that the first in the queue has waited. */
  get waitsFor(): number {
    const [first] = this.#queue
    return first ? performance.now() - first.since : 0
  }

  /** Throws AppError `unavailable` when nothing can be added now. */
  requireWritable(): void {
    const { name } = this.#options
    if (this.#closed) throw new AppError('unavailable', `${name} is closed`)
    if (this.#fault !== undefined) throw this.#unavailable()
    if (this.#queue.length >= mostWaiting || this.#bytes >= mostWaitingBytes)
      throw new AppError('unavailable', `${name} cannot keep up; try again`)
  }

  /**
   * Queues an entry; settles when it is on disk, rejects when it never will be, and need not be awaited. The caller has called
   * `requireWritable`, or must not lose the entry. Entries for which somebody waits with `patience` are written as soon as there are
   * as many as at the last write: callers on their way share the write and its clock, and a caller alone does not wait.
   */
  add(entry: Entry, patience?: Patience): Promise<void> {
    const end = this.#wait(entry)
    if (!patience) return end.promise
    if (++this.#awaited >= this.#awaitedBefore) this.#hurry?.()
    return end.inTime(patience)
  }

  /** Settles when everything added so far is on disk; rejects when that is uncertain. */
  settled(): Promise<void> {
    return this.#queue.length === 0 && !this.#running ? Promise.resolve() : this.#wait().promise
  }

  /** Requests a round without an entry: there may be something else to write, or a file to end. */
  wake(): void {
    this.#woken = true
    this.#start()
  }

  /** Writes the queue; entries that cannot be written are rejected and returned. */
  async close(): Promise<readonly Entry[]> {
    this.#closed = true
    while (this.#running) await this.#running
    if (this.#queue.length > 0 || this.#woken)
      do await this.#round(false)
      while (this.#fault === undefined && this.#queue.length > 0)
    const lost = entriesOf(this.#queue)
    this.#giveUp(this.#queue)
    this.#queue = []
    return lost
  }

  #wait(entry?: Entry): SharedEnd {
    if (this.#closed) return new SharedEnd().failed(this.#unavailable())
    if (entry !== undefined) this.#bytes += this.#sizeOf(entry)
    // Who only waits is told of a fault at once; those who share an end stand together, so that one write takes them all.
    if (entry === undefined || this.#next?.count === mostAtOnce) this.#next = undefined
    const end = entry === undefined ? new SharedEnd() : (this.#next ??= new SharedEnd())
    this.#queue.push({ entry, since: performance.now(), end: end.joined() })
    this.#start()
    return end
  }

  #start(): void {
    // While writing fails, the trial comes first.
    if (this.#fault !== undefined) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // An entry may have come between the last look at the queue and now.
      if (this.#queue.length > 0 || this.#woken) this.#start()
    })
  }

  async #run(): Promise<void> {
    do {
      await this.#gather()
      this.#awaitedBefore = Math.max(1, this.#awaited)
      this.#awaited = 0
      this.#wrote = performance.now()
      await this.#round(false)
    } while (this.#fault === undefined && (this.#queue.length > 0 || this.#woken))
  }

  async #gather(): Promise<void> {
    const early = this.#wrote + this.#options.gatherMilliseconds - performance.now()
    if (early > 0 && !this.#closed && this.#awaited < this.#awaitedBefore)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, early)
        this.#hurry = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    // Callers that were just answered, and all others of these turns of the event loop, may join the next write; those of
    // further turns as well, while each brings more: a write costs the processor as much as many a request.
    let count = -1
    for (let turns = 0; turns < leastTurns || (turns < mostTurns && count < this.#queue.length); turns++) {
      count = this.#queue.length
      await setImmediate()
    }
  }

  async #round(trial: boolean): Promise<void> {
    this.#woken = false
    this.#next = undefined
    try {
      const batch = this.#batch()
      await this.#options.write(entriesOf(batch), trial)
      this.#queue.splice(0, batch.length)
      for (const entry of entriesOf(batch)) this.#bytes -= this.#sizeOf(entry)
      if (this.#fault !== undefined) this.#options.log.info(`${this.#options.name} can be written again`)
      this.#fault = undefined
      for (const { end } of batch) end.written()
    } catch (error) {
      if (await this.#options.rescue?.(error).catch(() => false)) return this.#round(trial)
      this.#failed(error)
    }
  }

  /** Returns the first of the queue, as many as one write takes, and none of those whose end is not among them whole. */
  #batch(): readonly Waiting<Entry>[] {
    const queue = this.#queue
    let count = Math.min(queue.length, mostAtOnce)
    while (count < queue.length && queue[count]!.end === queue[count - 1]!.end) count--
    return queue.slice(0, count)
  }

  #sizeOf(entry: Entry): number {
    return this.#options.sizeOf?.(entry) ?? 0
  }

  #failed(error: unknown): void {
    const { name, log, undo } = this.#options
    const known = this.#fault !== undefined
    this.#fault = diskFaultText(error)
    const all = this.#queue
    this.#queue = undo ? [] : all.filter(({ entry }) => entry !== undefined)
    // Who comes next joins nothing that has ended.
    if (undo) this.#next = undefined
    const undone = undo ? entriesOf(all).reverse() : []
    if (undone.length > 0) undo?.(undone)
    this.#giveUp(undo ? all : all.filter(({ entry }) => entry === undefined), error)
    if (known) return
    log.error(`${name} cannot be written; what needs it is refused until it can`, { error })
    void this.#tryAgain()
  }

  /** Retries with trials until writing works again, for example after a full disk. */
  async #tryAgain(): Promise<void> {
    while (this.#fault !== undefined && !this.#closed) {
      await delay(trialMilliseconds)
      if (this.#closed) return
      await this.#running
      this.#running = this.#round(true).finally(() => (this.#running = undefined))
      await this.#running
    }
    if (this.#queue.length > 0 || this.#woken) this.#start()
  }

  #giveUp(waiting: readonly Waiting<Entry>[], cause?: unknown): void {
    for (const { end } of waiting) end.failed(this.#unavailable(cause))
  }

  #unavailable(cause?: unknown): AppError {
    const why = this.#fault ?? 'it is closed'
    return new AppError('unavailable', `${this.#options.name} cannot be written now: ${why}`, { cause })
  }
}

function entriesOf<Entry>(waiting: readonly Waiting<Entry>[]): Entry[] {
  const entries: Entry[] = []
  for (const { entry } of waiting) if (entry !== undefined) entries.push(entry)
  return entries
}
