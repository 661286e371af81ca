/** A live site between two readings: the snapshot in use, and the queue of reloads. */
import type { Clock } from '#leaf/clock.ts'
import { messageOf } from '#leaf/errors.ts'
import type { Log } from '#leaf/log.ts'
import { restlessDigest } from './read-site.ts'
import { faultText, fileFault, type Fault } from './site-files.ts'

/** The result of `build`: a snapshot, with only tolerated faults, or faults alone. Warnings keep nothing from being used. */
export interface Built<S> {
  readonly snapshot?: S
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
}

/** True when a site may be used although it has this fault: only where the site in use has it as well. */
export type IsBorne = (fault: Fault) => boolean

/** Returns a test that is true for a fault that is not among these. */
export function isNotIn(faults: readonly Fault[]): (fault: Fault) => boolean {
  const known = new Set(faults.map(faultText))
  return (fault) => !known.has(faultText(fault))
}

/** The result of one reload. */
export interface ReloadResult {
  /** `unchanged`: the files are the same, byte for byte, as those of the current snapshot. */
  readonly outcome: 'swapped' | 'unchanged' | 'rejected'
  /** The cause of the reload: `files changed`, `SIGHUP`, … */
  readonly reason: string
  /** The digest of the files that were read. */
  readonly digest: string
  readonly faults: readonly Fault[]
  readonly warnings: readonly Fault[]
  /** The time of the end in milliseconds since the epoch, and the duration. */
  readonly at: number
  readonly milliseconds: number
}

/** The state of the site, for `status` and `/healthz`. */
export interface SiteState {
  /** The digest of the snapshot in use. */
  readonly digest: string
  /** The time when the snapshot in use was loaded, in milliseconds since the epoch. */
  readonly loadedAt: number
  /** The faults that keep the present files from being used, and the tolerated faults of those in use. */
  readonly faults: readonly Fault[]
  /** Warnings about the snapshot in use. */
  readonly warnings: readonly Fault[]
  readonly lastReload?: ReloadResult
}

/** The live site: one immutable snapshot, replaced whole. */
export interface Site<S> {
  /** Returns the snapshot in use. A request takes it once and keeps it to its end. */
  current(): S
  /** Rereads the files; with `anew`, even unchanged ones. Never fails: a bad site is `rejected`, and the snapshot stays. */
  reload(reason: string, anew?: boolean): Promise<ReloadResult>
  state(): SiteState
  /** Stops watching; a reload in progress ends first. */
  close(): Promise<void>
}

/** The callbacks of a live site. */
export interface Told<S> {
  readonly clock: Clock
  readonly log: Log
  /** Called after the swap. */
  readonly onSwap?: (snapshot: S, result: ReloadResult, previous: S) => void | Promise<void>
  readonly onRejected?: (result: ReloadResult) => void | Promise<void>
}

/** The result of reading the files. */
export interface FilesRead<S> {
  readonly digest: string
  readonly built: Built<S>
}

/** The snapshot in use, with its faults and warnings. */
export interface Loaded<S> extends Omit<SiteState, 'lastReload'> {
  readonly snapshot: S
  /** Faults with which it is used all the same. */
  readonly faults: readonly Fault[]
}

type Found = Omit<Built<unknown>, 'snapshot'>

const loggedFaults = 50
/** The reason of reloads that a change of files caused. */
export const watched = 'files changed'

/** A live site without the watching of files. */
export class KeptSite<S> implements Site<S> {
  readonly #options: Told<S>
  readonly #read: ReadFiles<S>
  readonly #retry: () => void
  #current: Loaded<S>
  /** The faults that keep the files read last from being used. */
  #faults: readonly Fault[] = []
  /** The digest that was rejected, while nothing else was read since. */
  #rejected: string | undefined
  #lastReload: ReloadResult | undefined
  #last: Promise<unknown> = Promise.resolve()
  #waiting: Promise<ReloadResult> | undefined
  #closed = false
  /** True when a waiting reload is to read even unchanged files. */
  #anew = false

  constructor(options: Told<S>, first: Loaded<S>, read: ReadFiles<S>, retry: () => void) {
    this.#options = options
    this.#current = first
    this.#read = read
    this.#retry = retry
  }

  current(): S {
    return this.#current.snapshot
  }

  state(): SiteState {
    const { digest, loadedAt, faults: borne, warnings } = this.#current
    const lastReload = this.#lastReload && { lastReload: this.#lastReload }
    const faults = [...this.#faults, ...borne.filter(isNotIn(this.#faults))]
    return { digest, loadedAt, faults, warnings, ...lastReload }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#last
  }

  // Reloads run one at a time, so that an older reading never replaces a newer one. A caller who asks while a
  // reload waits for its turn shares it, because it will see all that was written until now.
  reload(reason: string, anew = false): Promise<ReloadResult> {
    this.#anew ||= anew
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
    const { faults, warnings: warned } = this.state()
    const inUse = { faults, warnings: warned }
    if (this.#closed) return done('unchanged', this.#current.digest, inUse)
    const anew = this.#anew
    this.#anew = false
    const { digest, built } = await this.#readSafely(reason, anew)
    if (digest === this.#current.digest && !anew) return this.#isAsBefore(reason, done)
    // A writer who is still at work will be noticed again, and should not be told of a fault.
    if (digest === restlessDigest && reason === watched) {
      this.#options.log.info('site keeps changing; it is read when it rests')
      this.#retry()
      return done('unchanged', digest, inUse)
    }
    const { snapshot, ...found } = built
    return snapshot === undefined
      ? await this.#reject(digest, found, done)
      : await this.#swap({ snapshot, digest, loadedAt: this.#options.clock.now(), ...found }, done)
  }

  #isAsBefore(reason: string, done: Done): ReloadResult {
    if (this.#rejected !== undefined) this.#options.log.info('site is again as it is in use', { reason })
    this.#faults = []
    this.#rejected = undefined
    const { digest, faults, warnings } = this.#current
    return (this.#lastReload = done('unchanged', digest, { faults, warnings }))
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
    const { snapshot, digest, faults, warnings } = next
    this.#current = next
    this.#faults = []
    this.#rejected = undefined
    const result = (this.#lastReload = done('swapped', digest, { faults, warnings }))
    const { log, onSwap } = this.#options
    log.info('site reloaded', { reason: result.reason, digest, milliseconds: result.milliseconds })
    for (const told of [...faults, ...warnings]) log.warn(faultText(told))
    await this.#tell(() => onSwap?.(snapshot, result, previous))
    return result
  }

  /** Reads the site; not even a bug in reading ends the queue, or the daemon. */
  async #readSafely(reason: string, anew: boolean): Promise<FilesRead<S>> {
    try {
      const { digest, faults } = this.#current
      const isNew = isNotIn(faults)
      return await this.#read(anew ? undefined : digest, reason, (fault) => !isNew(fault))
    } catch (error) {
      this.#options.log.error('reading the site failed', { error })
      const fault = fileFault('.', `internal error while the site was read: ${messageOf(error)}`)
      return { digest: 'unread', built: { faults: [fault], warnings: [] } }
    }
  }

  /** Runs a callback, which may fail; the site has changed all the same, and the queue goes on. */
  async #tell(call: () => void | Promise<void>): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#options.log.error('telling of a changed site failed', { error })
    }
  }
}

type ReadFiles<S> = (known: string | undefined, reason: string, isBorne: IsBorne) => Promise<FilesRead<S>>
type Done = (outcome: ReloadResult['outcome'], digest: string, found: Found) => ReloadResult
