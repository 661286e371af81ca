/** The snapshot that is in use, and the queue of those who want another: what a live site is between two readings. */
import type { Clock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { restlessDigest } from './read-site.ts'
import { faultText, fileFault, type Fault } from './site-files.ts'

/** What `build` makes of the files: a snapshot, or faults. Warnings keep nothing from being used. */
export interface Built<S> {
  readonly snapshot?: S
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

/** What one reload came to. */
export interface ReloadResult {
  /** `unchanged`: the files are, byte for byte, those of the current snapshot. */
  readonly outcome: 'swapped' | 'unchanged' | 'rejected'
  /** Who asked: `files changed`, `SIGHUP`, … */
  readonly reason: string
  /** Of the files that were read. */
  readonly digest: string
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
  /** When it was done, in milliseconds since the epoch, and how long it took. */
  readonly at: number
  readonly milliseconds: number
}

/** How the site stands, for `status` and `/healthz`. */
export interface SiteState {
  /** Of the snapshot in use. */
  readonly digest: string
  /** When the snapshot in use was loaded, in milliseconds since the epoch. */
  readonly loadedAt: number
  /** Why the files as they are now are not in use; empty when they are. */
  readonly faults: readonly Fault[]
  /** About the snapshot in use. */
  readonly warnings: readonly Fault[]
  readonly lastReload?: ReloadResult
}

/** The live site: one immutable snapshot, replaced whole. */
export interface Site<S> {
  /** The snapshot in use. Take it once per request and keep it to the request's end. */
  current(): S
  /** Reads the files as they are from now on. Never fails: a bad site is `rejected`, and the snapshot stays. */
  reload(reason: string): Promise<ReloadResult>
  state(): SiteState
  /** Stops watching; a reload in progress ends first. */
  close(): Promise<void>
}

/** Whom a live site tells. */
export interface Told<S> {
  readonly clock: Clock
  readonly log: Log
  /** After the swap. */
  readonly onSwap?: (snapshot: S, result: ReloadResult, previous: S) => void | Promise<void>
  readonly onRejected?: (result: ReloadResult) => void | Promise<void>
}

/** What reading came to. */
export interface FilesRead<S> {
  readonly digest: string
  readonly built: Built<S>
}

/** What is in use. */
export interface Loaded<S> {
  readonly snapshot: S
  readonly digest: string
  readonly loadedAt: number
  readonly warnings: readonly Fault[]
}

type Found = Omit<Built<unknown>, 'snapshot'>

const loggedFaults = 50
/** The reason of reloads that nobody asked for. */
export const watched = 'files changed'

/** A live site, but for the watching. */
export class KeptSite<S> implements Site<S> {
  readonly #options: Told<S>
  readonly #read: (known: string, reason: string) => Promise<FilesRead<S>>
  readonly #retry: () => void
  #current: Loaded<S>
  #faults: readonly Fault[] = []
  /** The digest of what was rejected, while nothing else was read since. */
  #rejected: string | undefined
  #lastReload: ReloadResult | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting: Promise<ReloadResult> | undefined
  #closed = false

  constructor(
    options: Told<S>,
    first: Loaded<S>,
    read: (known: string, reason: string) => Promise<FilesRead<S>>,
    retry: () => void,
  ) {
    this.#options = options
    this.#current = first
    this.#read = read
    this.#retry = retry
  }

  current(): S {
    return this.#current.snapshot
  }

  state(): SiteState {
    const { digest, loadedAt, warnings } = this.#current
    const lastReload = this.#lastReload && { lastReload: this.#lastReload }
    return { digest, loadedAt, faults: this.#faults, warnings, ...lastReload }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#last
  }

  // One at a time, so that an older reading never replaces a newer one; whoever asks while a reload
  // waits for its turn shares it, because it will see all that was written until now.
  reload(reason: string): Promise<ReloadResult> {
    if (this.#waiting) return this.#waiting
    const turn = this.#last.then(() => {
      this.#waiting = undefined
      return this.#reloadNow(reason)
    })
    this.#waiting = turn
    this.#last = turn.catch(() => undefined)
    return turn
  }

  async #reloadNow(reason: string): Promise<ReloadResult> {
    const begun = this.#options.clock.now()
    const done: Done = (outcome, digest, found) => {
      const at = this.#options.clock.now()
      return { outcome, reason, digest, ...found, at, milliseconds: at - begun }
    }
    const inUse = { faults: this.#faults, warnings: this.#current.warnings }
    if (this.#closed) return done('unchanged', this.#current.digest, inUse)
    const { digest, built } = await this.#readSafely(reason)
    if (digest === this.#current.digest) return this.#isAsBefore(reason, done)
    // Whoever is still writing will be noticed again, and should not be told of a fault.
    if (digest === restlessDigest && reason === watched) {
      this.#options.log.info('site keeps changing; it is read when it rests')
      this.#retry()
      return done('unchanged', digest, inUse)
    }
    const { snapshot, warnings } = built
    return snapshot === undefined
      ? await this.#reject(digest, built, done)
      : await this.#swap({ snapshot, digest, loadedAt: this.#options.clock.now(), warnings }, done)
  }

  #isAsBefore(reason: string, done: Done): ReloadResult {
    if (this.#rejected !== undefined) this.#options.log.info('site is again as it is in use', { reason })
    this.#faults = []
    this.#rejected = undefined
    const { digest, warnings } = this.#current
    return (this.#lastReload = done('unchanged', digest, { faults: [], warnings }))
  }

  async #reject(digest: string, { faults, warnings }: Found, done: Done): Promise<ReloadResult> {
    const known = this.#rejected === digest
    this.#faults = faults
    this.#rejected = digest
    const result = (this.#lastReload = done('rejected', digest, { faults, warnings }))
    // A file that is merely touched does not make the same faults news.
    if (known && result.reason === watched) return result
    const told = { count: faults.length, faults: faults.slice(0, loggedFaults).map(faultText) }
    const { log, onRejected } = this.#options
    log.error('site rejected; the last good one stays in use', { reason: result.reason, ...told })
    await this.#tell(() => onRejected?.(result))
    return result
  }

  async #swap(next: Loaded<S>, done: Done): Promise<ReloadResult> {
    const previous = this.#current.snapshot
    const { snapshot, digest, warnings } = next
    this.#current = next
    this.#faults = []
    this.#rejected = undefined
    const result = (this.#lastReload = done('swapped', digest, { faults: [], warnings }))
    const { log, onSwap } = this.#options
    log.info('site reloaded', { reason: result.reason, digest, milliseconds: result.milliseconds })
    for (const warning of warnings) log.warn(faultText(warning))
    await this.#tell(() => onSwap?.(snapshot, result, previous))
    return result
  }

  /** Not even a bug in reading ends the queue, or the daemon. */
  async #readSafely(reason: string): Promise<FilesRead<S>> {
    try {
      return await this.#read(this.#current.digest, reason)
    } catch (error) {
      this.#options.log.error('reading the site failed', { error })
      const fault = fileFault('.', `internal error while the site was read: ${messageOf(error)}`)
      return { digest: 'unread', built: { faults: [fault], warnings: [] } }
    }
  }

  /** Whoever is told may fail; the site has changed all the same, and the queue goes on. */
  async #tell(call: () => void | Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#options.log.error('telling of a changed site failed', { error })
    }
  }
}

type Done = (outcome: ReloadResult['outcome'], digest: string, found: Found) => ReloadResult
