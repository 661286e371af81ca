/**
 * Watches whether memory and disk have room. An embedded state lies in memory: without this, a user who fills it ends the
 * program, and it does not start again. So new data is refused while there is room for reading, removing and revoking.
 */
import { statfsSync } from 'node:fs'
import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { AppError } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'

/** The share of memory up to which people's documents may grow; beyond `forAnything` nothing may grow. */
const forDocuments = 0.75
/** The share below which there is room again: the gap is more than one document takes. */
const forDocumentsAgain = 0.7
const forAnything = 0.9
/** The most characters of a small write: a revocation or a session is no larger. */
const small = 4096
const megabyte = 1 << 20
/** The bytes of the heap limit that only hold young objects. */
const youngBytes = 48 * megabyte
/** The free bytes of disk kept for journals and logs. */
const leastFree = 64 * megabyte
const lookMilliseconds = 100

/** The room left for a state. */
export class Room {
  readonly #folder: string
  readonly #log: Log
  readonly #limit = getHeapStatistics().heap_size_limit - youngBytes
  readonly #observer: PerformanceObserver
  /**
   * The heap's size at the last major garbage collection, with the gaps that long texts leave in its pages (up to
   * half of them), plus what was written since.
   */
  #taken = 0
  #free = Infinity
  #least = 0
  #looked = -Infinity
  #isTold = false

  constructor(folder: string, log: Log) {
    this.#folder = folder
    this.#log = log
    this.#observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isMajor)) this.#taken = getHeapStatistics().total_heap_size
    })
    this.#observer.observe({ entryTypes: ['gc'] })
  }

  close(): void {
    this.#observer.disconnect()
  }

  /** Records that documents grew by so many characters, or shrank. */
  grew(characters: number): void {
    this.#taken += characters
  }

  /** The reason why nothing new should be stored; undefined while there is room. Logs when room runs out and when it returns. */
  get shortage(): string | undefined {
    const found = this.#memoryBeyond(this.#isTold ? forDocumentsAgain : forDocuments) ?? this.#diskShortage()
    if ((found !== undefined) !== this.#isTold) {
      this.#isTold = found !== undefined
      if (found === undefined) this.#log.info('there is room again for what is new')
      else
        this.#log.error('there is no room for what is new; it is refused until there is', { reason: found })
    }
    return found
  }

  /** Throws for a write that grows the state by so many characters where only small writes are still accepted. */
  requireFor(characters: number): void {
    const found = characters > small ? this.#memoryBeyond(forAnything) : undefined
    if (found !== undefined) throw noRoom(found)
  }

  /** Throws when the state being read does not fit, so that the process ends with a message and not without one. */
  requireReadable(): void {
    const found = this.#memoryBeyond(forAnything)
    if (found !== undefined)
      throw new AppError(
        'unavailable',
        `the state needs more memory than this process may take: ${found}; start it with more, such as NODE_OPTIONS=--max-old-space-size=${2 * Math.ceil(this.#limit / megabyte)}`,
      )
  }

  /** Throws where a new snapshot would leave journals and logs no room, though one that fits gives back more than it takes. */
  requireForSnapshot(): void {
    this.#looked = -Infinity
    const found = this.#diskShortage(1 / 4)
    if (found !== undefined) throw noRoom(found)
  }

  #memoryBeyond(share: number): string | undefined {
    const most = share * this.#limit
    if (this.#taken < most) return undefined
    // The heap's size now, garbage included, is an upper bound.
    const taken = Math.min(this.#taken, getHeapStatistics().total_heap_size)
    return taken < most
      ? undefined
      : `${Math.round(taken / megabyte)} of ${Math.round(this.#limit / megabyte)} MB of memory are used`
  }

  #diskShortage(share = 1): string | undefined {
    const now = performance.now()
    if (now > this.#looked + lookMilliseconds) {
      const { bavail, blocks, bsize } = statfsSync(this.#folder)
      this.#looked = now
      this.#free = bavail * bsize
      this.#least = Math.min(leastFree, (blocks * bsize) / 10)
    }
    const kept = share * this.#least
    return this.#free >= kept
      ? undefined
      : `${Math.floor(this.#free / megabyte)} MB of the disk are free, of which ${Math.ceil(kept / megabyte)} are kept`
  }
}

function isMajor(entry: PerformanceEntry): boolean {
  const { kind } = (entry as PerformanceEntry & { readonly detail: { readonly kind: number } }).detail
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

/** Makes the error that refuses new data; what is there can be read and removed. */
export function noRoom(shortage: string): AppError {
  return new AppError(
    'unavailable',
    `there is no room for anything new (${shortage}); what is there can be read and deleted, and the operator can give the service more`,
  )
}

/** Estimates the memory a value takes: its texts, and something for each member. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 8
  let weight = 16
  for (const member of Object.values(value)) weight += 16 + weightOf(member)
  return weight
}
