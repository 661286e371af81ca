import { setImmediate, setTimeout } from 'node:timers/promises'
import { AppError } from '../core/errors.ts'
import { diskFaultText } from '../core/files.ts'
import type { Log } from '../core/log.ts'
import type { AppendFile } from './append-file.ts'

const trialMilliseconds = 500
const mostAtOnce = 5_000
const mostWaiting = 100_000

/** Entries as lines, ready to be appended. */
export interface Lines {
  readonly bytes: Uint8Array
  /** Notes that they are on disk, before anybody who waits for them is told. */
  written(): void | Promise<void>
}

/** Appends lines, where there are any, and notes that they are on disk. */
export async function appendLines(file: AppendFile, lines: Lines | undefined): Promise<void> {
  if (!lines) return
  await file.append(lines.bytes)
  await lines.written()
}

/** What tells one log from another: how entries are written, and what follows when they cannot be. */
export interface LineLogOptions<Entry> {
  /** For people: `the state`. */
  readonly name: string
  readonly log: Log
  /** How far two writes are apart, so that many entries share a write and its sync; one that comes alone does not wait. */
  readonly gatherMilliseconds: number
  /**
   * Writes the entries, all of them or nothing; those of a write that failed come again, first. A `trial` finds out
   * whether writing is possible again: it must write, even without entries.
   */
  readonly write: (entries: readonly Entry[], trial: boolean) => Promise<void>
  /** Makes room after a failure; when it could, the same is written again at once. */
  readonly rescue?: (error: unknown) => Promise<boolean>
  /** Undoes what could not be written, the last first. Without it, entries wait until they can be written. */
  readonly undo?: (entries: readonly Entry[]) => void
}

interface Waiting<Entry> {
  /** Absent for one who only waits. */
  readonly entry?: Entry
  readonly resolve: () => void
  readonly reject: (error: AppError) => void
}

/**
 * Entries in the order in which they were added, written to what only grows. Who comes while the disk
 * is busy waits with the others for the next write and its one sync. When a write fails, nothing of it
 * stays on disk, and nothing new is accepted until a trial succeeds.
 */
export class LineLog<Entry> {
  readonly #options: LineLogOptions<Entry>
  #queue: Waiting<Entry>[] = []
  #running: Promise<void> | undefined
  #woken = false
  /** When the last write began. */
  #wrote = -Infinity
  #fault: string | undefined
  #closed = false

  constructor(options: LineLogOptions<Entry>) {
    this.#options = options
  }

  /** Why writing fails now. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** How many wait. */
  get waiting(): number {
    return this.#queue.length
  }

  /** Throws AppError `unavailable` when nothing can be added now. */
  requireWritable(): void {
    const { name } = this.#options
    if (this.#closed) throw new AppError('unavailable', `${name} is closed`)
    if (this.#fault !== undefined) throw this.#unavailable()
    if (this.#queue.length >= mostWaiting)
      throw new AppError('unavailable', `${name} cannot keep up; try again`)
  }

  /** Takes an entry; settles when it is on disk, rejects when it never will be. The caller has asked `requireWritable`, or must not lose it. */
  add(entry: Entry): Promise<void> {
    return this.#wait({ entry })
  }

  /** Settles when everything added so far is on disk; rejects when that cannot be said. */
  settled(): Promise<void> {
    return this.#queue.length === 0 && !this.#running ? Promise.resolve() : this.#wait({})
  }

  /** Asks for a round of its own: there may be something to write besides entries, or a file to end. */
  wake(): void {
    this.#woken = true
    this.#start()
  }

  /** Writes what waits; what cannot be written is rejected and answered. */
  async close(): Promise<readonly Entry[]> {
    this.#closed = true
    while (this.#running) await this.#running
    if (this.#queue.length > 0 || this.#woken) await this.#round(false)
    const lost = entriesOf(this.#queue)
    this.#giveUp(this.#queue)
    this.#queue = []
    return lost
  }

  #wait(who: { readonly entry?: Entry }): Promise<void> {
    if (this.#closed) return Promise.reject(this.#unavailable())
    return new Promise((resolve, reject) => {
      this.#queue.push({ entry: who.entry, resolve, reject })
      this.#start()
    })
  }

  #start(): void {
    // While writing fails, the trial comes first.
    if (this.#fault !== undefined) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      // Somebody may have come between the last look at the queue and now.
      if (this.#queue.length > 0 || this.#woken) this.#start()
    })
  }

  async #run(): Promise<void> {
    const { gatherMilliseconds } = this.#options
    do {
      const early = this.#wrote + gatherMilliseconds - performance.now()
      // Those who were just answered, and everyone else of this turn, may join the next write.
      await (early > 0 && !this.#closed ? setTimeout(early) : setImmediate())
      this.#wrote = performance.now()
      await this.#round(false)
    } while (this.#fault === undefined && (this.#queue.length > 0 || this.#woken))
  }

  async #round(trial: boolean): Promise<void> {
    this.#woken = false
    try {
      const batch = this.#queue.slice(0, mostAtOnce)
      await this.#options.write(entriesOf(batch), trial)
      this.#queue.splice(0, batch.length)
      if (this.#fault !== undefined) this.#options.log.info(`${this.#options.name} can be written again`)
      this.#fault = undefined
      for (const { resolve } of batch) resolve()
    } catch (error) {
      if (await this.#options.rescue?.(error)) return this.#round(trial)
      this.#failed(error)
    }
  }

  #failed(error: unknown): void {
    const { name, log, undo } = this.#options
    const known = this.#fault !== undefined
    this.#fault = diskFaultText(error)
    const all = this.#queue
    this.#queue = undo ? [] : all.filter(({ entry }) => entry !== undefined)
    const undone = undo ? entriesOf(all).reverse() : []
    if (undone.length > 0) undo?.(undone)
    this.#giveUp(undo ? all : all.filter(({ entry }) => entry === undefined), error)
    if (known) return
    log.error(`${name} cannot be written; what needs it is refused until it can`, { error })
    void this.#tryAgain()
  }

  /** The way back, after a full disk for one. */
  async #tryAgain(): Promise<void> {
    while (this.#fault !== undefined && !this.#closed) {
      await setTimeout(trialMilliseconds)
      if (this.#closed) return
      await this.#running
      this.#running = this.#round(true).finally(() => (this.#running = undefined))
      await this.#running
    }
    if (this.#queue.length > 0 || this.#woken) this.#start()
  }

  #giveUp(waiting: readonly Waiting<Entry>[], cause?: unknown): void {
    for (const { reject } of waiting) reject(this.#unavailable(cause))
  }

  #unavailable(cause?: unknown): AppError {
    const why = this.#fault ?? 'it is closed'
    return new AppError('unavailable', `${this.#options.name} cannot be written now: ${why}`, { cause })
  }
}

function entriesOf<Entry>(waiting: readonly Waiting<Entry>[]): Entry[] {
  return waiting.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
}
